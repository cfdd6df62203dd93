// All orders of a queue: one index for each strategy that workers use, below the queue's policy, and the table of
// values that they share. Indices are built for those who want them, shared, kept up to date and dropped.
//
// Building is a walk over all jobs in the order of their ids, in steps: the owner gives them to Build() one after the
// other while Building(), and calls Built() behind the last. One index is built at a time, so that no more than that is
// there twice; pulls that need the index wait until then, and for them a policy before stays in force.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "base/memory_pool.h"
#include "base/rng.h"
#include "strategy/index/index.h"
#include "strategy/index/value_log.h"
#include "strategy/index/value_table.h"
#include "strategy/open_classes.h"
#include "strategy/pick_job.h"
#include "strategy/strategy.h"

namespace allot {

class Orders {
 public:
  using Id = std::uint32_t;

  Orders(const JobKeys& keys, const ClassTable& verdicts);
  ~Orders();
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

  // --- Strategies.

  // The order of workers with that strategy, with one more user.
  Id Use(const StrategyPtr& strategy);
  void Unuse(Id id);
  bool Knows(const StrategyPtr& strategy) const;
  std::uint32_t users(Id id) const { return entries_[id].users; }
  const StrategyPtr& strategy(Id id) const { return entries_[id].worker; }
  std::size_t strategies() const { return by_text_.size(); }
  // Words and blocks of all of them: each is a structure over all jobs.
  std::size_t blocks() const { return blocks_; }
  void SetPolicy(const StrategyPtr& policy);
  const StrategyPtr& policy() const { return policy_; }
  // By `key.value`, as `user.acme`.
  void SetWeights(std::unordered_map<std::string, std::uint32_t> weights);
  // Of all registered workers.
  void SetSlots(std::uint64_t slots);

  // --- Building.
  bool Building() const { return building_ || wanted_; }
  // What a job costs in all that is being built, in about a microsecond.
  std::size_t build_cost() const { return build_cost_; }
  // The job to go on with: the first whose id is above this.
  JobId built_to() const { return built_to_; }
  // Begins the walk, if it is to be begun.
  void BeginBuild();
  void Build(PickJob& job);
  // There is no such job any more: the walk is past it.
  void BuildPast(JobId gone) { built_to_ = gone; }
  void Built();
  // There is no memory for what is being built: it is dropped, and not wanted again before Resume(). The walk goes on
  // to its end all the same, for the values that it has collected so far.
  void GiveUp();
  // What was given up is tried again.
  void Resume();
  // Bytes that the largest of what was given up had by then; 0: nothing was.
  std::size_t given_up() const { return given_up_; }
  // Orders that became ready since the last call.
  std::vector<Id> TakeReady() { return std::exchange(became_ready_, {}); }

  // --- Dropping: what nobody uses any more goes in steps.
  bool Cleaning() const { return !left_.empty() || !cleaned_; }
  // Takes what it did from the budget; true if all is gone.
  bool Clean(std::size_t& budget);

  // --- Jobs. Each is known from its beginning to its end, ended ones that are kept included.
  void Know(PickJob& job);
  // REQUIRES: not open.
  void Forget(PickJob& job);
  // Has queued tasks that may be granted, or has no more. Key, class and what it has under keys change only while it is
  // not open; what it has under keys also only between Forget() and Know().
  void Open(PickJob& job);
  void Close(PickJob& job);
  // REQUIRES: at least 1 while it is open.
  void SetQueued(PickJob& job, std::uint32_t queued);
  void SetGroup(PickJob& job, std::uint32_t group);
  void Started(PickJob& job, const Stamp& now);
  void Returned(PickJob& job);
  // The same in two: values that are full stay so until they are applied.
  void ReturnLater(PickJob& job);
  void ApplyReturns(PickJob& job);

  // Numbers of orders are below this.
  Id ids() const { return static_cast<Id>(entries_.size()); }
  // Is another whenever an order became ready or was dropped.
  std::uint64_t changes() const { return changes_; }

  // --- Picking.
  bool Ready(Id id) const { return entries_[id].index != nullptr; }
  // REQUIRES: Ready().
  PickJob* Pick(Id id, KindId kind, StartGate* gate, Rng* rng) { return entries_[id].index->Pick(kind, gate, rng); }
  // Did the last Pick() of that order give up among blocked jobs? Asked again, it goes on.
  bool unfinished(Id id) const { return entries_[id].index->unfinished(); }
  // Cells that it moved aside, because they are blocked.
  std::size_t moved(Id id) const { return entries_[id].index->moved(); }
  // Groups that it asked about, each by itself.
  std::size_t asked(Id id) const { return entries_[id].index->asked(); }
  bool random_task(Id id) const { return entries_[id].index->random_task(); }
  // What that order goes by, for those who keep some of its jobs apart; valid as long as the version stays the same. 0:
  // it is not ready. No two orders ever have the same version.
  std::uint64_t version(Id id) const { return id < entries_.size() && entries_[id].index ? entries_[id].version : 0; }
  const StrategyIndex& index(Id id) const { return *entries_[id].index; }
  ValueLog& log() { return log_; }
  // Is a job of that class open?
  bool HasOpen(ClassId cls) const { return open_.Has(cls); }
  OpenClasses& open_classes() { return open_; }
  // --- Groups whose starts are blocked (StrategyIndex says what these are).
  // The bits of all orders are added to `kinds`, where it is not null.
  void OpenGroup(std::uint32_t group, std::vector<std::uint64_t>* kinds);
  void JoinGroup(std::uint32_t group);
  // How many groups stand apart and are open, as far as picks have found, in the order that has most of them; and all
  // of these join.
  std::size_t opened_groups() const;
  void JoinOpened();
  // REQUIRES: Ready().
  std::vector<std::uint32_t> Aside(Id id, KindId kind, std::size_t most) {
    return entries_[id].index->Aside(kind, most);
  }
  bool Joining() const;
  bool StepJoining(std::size_t& budget);

  // Classes that opened since the last call, other than by Open().
  std::vector<ClassId> TakeOpened();

  // A command begins: so many cells may be looked at when verdicts of kinds change; those of larger indices are then
  // looked at in steps (StepJoining).
  void BeginCommand() {
    looks_ = looks_at_once;
    updates_left_ = updates_at_once;
  }
  // Whatever concerns a job is applied to all orders. So where there are many, a command does little: half of what it
  // may apply is for jobs that open and tasks that return, which may be applied later, and all of it for starts.
  bool MayUpdate() const { return cost_ == 0 || 2 * updates_left_ >= updates_at_once; }
  bool MayStart() const { return cost_ == 0 || updates_left_ > 0; }
  // What a change of a job costs in them, in about a microsecond; 0: there is one order alone.
  std::size_t cost() const { return cost_; }
  static inline std::size_t updates_at_once = 2000;  // tests lower it
  static inline std::size_t looks_at_once = 65'536;  // tests lower it
  // Cells that are put into wider trees at once; tests lower it.
  static inline std::size_t width_at_once = 8192;

  // As ClassTable's listener.
  void OnWidth();
  void OnClass(ClassId cls);
  void OnKind(KindId kind);

  const ValueTable& values() const { return values_; }
  // Cells that changes have moved so far, in all that is there; what a command costs is told by how this grows.
  std::uint64_t cells_moved() const;
  std::size_t MemoryBytes() const;
  // Of all indices and values, as they lie; at once.
  std::size_t counted_bytes() const { return static_cast<std::size_t>(memory_.bytes); }
  // What one more job takes at most, in all of them.
  std::size_t JobBytes() const;
  // What an index for that strategy takes at least, by what is open now.
  std::size_t IndexBytes(const Strategy& strategy) const;

 private:
  struct Entry {
    StrategyPtr worker;
    std::uint32_t users = 0;               // 0: free
    std::unique_ptr<StrategyIndex> index;  // null until it is built
    std::unique_ptr<StrategyIndex> next;   // being built
    std::uint64_t version = 0;             // of the index
    bool stale = false;                    // the index is of another policy
    bool given_up = false;
    bool Wanted() const { return users > 0 && !given_up && !next && (!index || stale); }
  };
  using Changed = boost::container::small_vector<std::pair<KeyId, ValueId>, 6>;
  template <typename F>
  void ForEachIndex(const PickJob& job, F f);
  void Apply(const Changed& changed, std::uint32_t fewer);
  void Rewant();
  void Recost();
  // To, or from, all indices.
  void PutIn(PickJob& job);
  void TakeOut(PickJob& job);
  void Charge(std::size_t cost) { updates_left_ -= std::min(updates_left_, cost); }
  void Leave(std::unique_ptr<StrategyIndex> index);
  template <typename F>
  void ForEachKey(const PickJob& job, F f);
  bool Covered(const PickJob& job) const { return job.id() <= built_to_; }

  MemorySum memory_;
  MemoryPool pool_{&memory_};  // of all that is not in an index
  const ClassTable& verdicts_;
  ValueTable values_;
  ValueLog log_;
  StrategyPtr policy_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, Id> by_text_;
  std::size_t blocks_ = 0;
  std::uint64_t slots_ = 0;
  bool wanted_ = false;    // an entry is
  bool building_ = false;  // a walk is under way
  Id next_entry_ = 0;      // of the entry that is built next, or the first that wants to be after it
  std::size_t given_up_ = 0;
  std::uint64_t open_jobs_ = 0;
  JobId built_to_;
  std::size_t build_cost_ = 1;
  std::vector<std::unique_ptr<StrategyIndex>> left_;  // that nobody uses any more
  bool cleaned_ = true;                               // nothing is left of keys that nobody uses
  std::uint32_t slot_end_ = 0;                        // of jobs that are known
  std::vector<std::uint32_t> free_slots_;
  std::vector<Id> became_ready_;
  std::uint64_t next_version_ = 1;
  std::uint64_t changes_ = 1;
  OpenClasses open_;
  std::size_t looks_ = looks_at_once;
  std::size_t updates_left_ = updates_at_once;
  std::size_t cost_ = 0;
};

}  // namespace allot
