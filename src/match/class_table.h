// SPDX-License-Identifier: Apache-2.0
// Which workers may run which jobs. Jobs alike for matching share a class, workers with the same verdicts on all
// classes a kind; a verdict is computed once for each pair and kept until either side changes.
//
// Between a worker and its kind stands its profile: all that matching can see of it. A profile is the worker's tags and
// constraint tags, its own expressions with its own attributes folded in, and the values of those attributes that some
// class reads. Verdicts are computed per profile; profiles whose verdicts are equal on every class are one kind.
//
// A class keeps, of the jobs' attributes, those that some worker reads. When a worker comes that reads more, a new
// epoch begins: classes of earlier epochs do not match that worker, until their jobs have been put into new ones.
//
// Threading:  confined to the queue's engine thread.
// Invariants: classes without jobs, kinds and profiles without workers disappear, and ids are reused after that; no two
//             kinds have the same verdicts.
//
// Verdicts are many where a new class meets many profiles, and expressions may be costly: a command judges for a few
// milliseconds, and what is left over waits for Settle(). Until then a new class or profile matches nothing.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/job.h"
#include "base/sharded_map.h"
#include "expr/expr.h"
#include "match/kind_table.h"
#include "match/traits.h"

namespace allot {

class ClassTable {
 public:
  // Who wants to know of verdicts that changed. Called with the table in order, at the end of each change.
  class Listener {
   public:
    virtual ~Listener() = default;
    // Masks are wider than before: those of all classes are to be looked at anew.
    virtual void OnWidth() = 0;
    virtual void OnClass(ClassId cls) = 0;  // Mask(cls) or its ranks; also for one that is gone
    virtual void OnKind(KindId kind) = 0;   // whether any class has this bit, of a kind or a tier; also when it is gone
    virtual void OnMoved(KindId from) = 0;  // workers of that kind may be of another now
  };
  explicit ClassTable(Listener& listener) : listener_(listener) {}
  ClassTable(const ClassTable&) = delete;
  ClassTable& operator=(const ClassTable&) = delete;

  // A command begins: what time() gives from now on, and fresh time for judging.
  void BeginCommand(std::int64_t seconds, std::int64_t nanoseconds = kCommandNanoseconds);
  static constexpr std::int64_t kCommandNanoseconds = 2'000'000;

  // Which kinds of workers there are, and what each may run.
  const KindTable& kinds() const { return kinds_; }

  // --- Jobs.

  // What decides on a job's class, ready to be looked up.
  class Terms {
   public:
    const std::string& key() const { return key_; }

   private:
    friend class ClassTable;
    std::string key_;
    TagList tags_, constraint_tags_;
    ExprPtr requirements_, rank_;  // with the job's own attributes folded in
    std::shared_ptr<const expr::Ad> ad_;
  };
  Terms TermsOf(const JobTraits& job) const;
  bool Knows(const Terms& terms) const { return class_ids_.Find(terms.key_) != nullptr; }
  // The class of such jobs, with one more member. New classes are matched against all workers.
  ClassId AddJob(Terms terms);
  void DropJob(ClassId cls);
  // Was this class made before workers read something that it does not keep? Then its jobs are to be added anew.
  bool Outdated(ClassId cls) const { return classes_[cls].epoch != epoch_; }
  // Increases when all classes become outdated.
  std::uint64_t epoch() const { return epoch_; }
  // Tells classes of one id, one after the other, apart.
  std::uint64_t SerialOf(ClassId cls) const { return classes_[cls].serial; }
  std::size_t classes() const { return class_ids_.size(); }
  // Upper bound of all ids.
  std::size_t class_slots() const { return classes_.size(); }
  bool HasJobRank(ClassId cls) const { return classes_[cls].terms.rank_ != nullptr; }

  // --- Workers, by a handle.
  using Handle = std::uint32_t;
  Handle AddWorker(WorkerTraits traits);
  void ChangeWorker(Handle worker, WorkerTraits traits);
  void DropWorker(Handle worker);
  const std::shared_ptr<const WorkerTraits>& TraitsOf(Handle worker) const { return workers_[worker].traits; }
  KindId KindOf(Handle worker) const { return kinds_.KindOf(workers_[worker].profile); }
  std::size_t profiles() const { return profile_ids_.size(); }

  // --- Time.

  // Is there a verdict that reads time()?
  bool Timed() const { return timed_classes_ > 0 || timed_profiles_ > 0; }
  // All of those are to be looked at again.
  void Renew();
  // Judges what waits for it, for about `budget` microseconds (what was used is taken off). False: not through yet.
  bool Settle(std::size_t& budget);
  bool Settled() const { return pending_.empty() && unprofiled_.empty() && unmerged_.empty(); }
  // Does this class wait to be judged, or is it without what some worker reads?
  bool Unsettled(ClassId cls) const { return classes_[cls].pending || Outdated(cls); }

  // Names that workers with such expressions would read of jobs, and that none reads now: they would begin a new epoch.
  std::vector<std::string> FreshReads(const WorkerTraits& traits) const;

  // Heap bytes of classes, profiles, kinds and verdicts.
  std::size_t MemoryBytes() const;

 private:
  using ProfileId = KindTable::ProfileId;
  using Signature = std::uint64_t;  // a bit or more for each tag: a quick no

  struct Class {
    Terms terms;
    std::uint32_t members = 0;  // 0: free
    std::uint64_t epoch = 0;
    Signature tags = 0;
    bool timed = false;
    bool pending = false;      // waits to be judged for the first time
    std::uint64_t serial = 0;  // tells those of one id apart
  };
  struct Profile {
    std::string key;
    TagList tags, constraint_tags;
    ExprPtr requirements, rank;  // with the worker's own attributes folded in
    std::shared_ptr<const expr::Ad> ad;
    std::uint32_t members = 0;  // 0: free
    std::uint64_t epoch = 0;    // reads what classes keep since then
    Signature tags_seen = 0;
    bool timed = false;
    std::uint64_t serial = 0;
  };
  // Verdicts of one class on all profiles, or of one profile on all classes, as far as they have got.
  struct Pending {
    bool of_class = true;
    std::uint32_t id = 0;
    std::uint64_t serial = 0;  // of the class or profile
    std::uint32_t next = 0;
    std::vector<std::pair<Verdict, std::uint64_t>> found;  // with the serial of the other side
  };
  struct Worker {
    std::shared_ptr<const WorkerTraits> traits;
    ExprPtr requirements, rank;  // with its own attributes folded in
    ProfileId profile = 0;
    bool live = false;
  };
  // An attribute that expressions of the other side read. Kept for a while when nobody reads it any more: whoever comes
  // and goes must not make everything be grouped anew each time.
  struct Read {
    std::string name;
    std::uint32_t readers = 0;
    std::uint64_t since = 0;      // the epoch
    std::int64_t idle_since = 0;  // while there are no readers
  };
  using Reads = std::unordered_map<std::string, Read>;  // by name, in lower case

  static Signature SignatureOf(const TagList& tags);
  // Gives what the other side reads of `all`, and what these expressions themselves still read of it.
  static std::shared_ptr<const expr::Ad> PartRead(const expr::Ad& all, const Reads& reads, const ExprPtr& requirements,
                                                  const ExprPtr& rank, expr::Side side);
  // True if one is gone.
  static bool Retire(Reads& reads, std::int64_t time);

  Verdict Judge(const Class& cls, const Profile& profile);
  // The class against all profiles, as was found or has to be; splits and merges kinds.
  // False: there are so many kinds to be split that it goes on when it is called again.
  bool JudgeClass(ClassId cls, const Pending& known, std::int64_t& budget);
  // The profile against all classes: one verdict for each slot of `classes_`.
  std::vector<Verdict> JudgeAll(const Profile& profile, const Pending& known);
  // Goes on judging as long as there is budget, in nanoseconds. True: through.
  bool Advance(Pending& pending, std::int64_t& budget);
  bool Apply(const Pending& pending, std::int64_t& budget);
  // Workers get the profiles that they have since classes read more of them. True: all have.
  bool Reprofile(std::int64_t& budget);
  // Kinds that have become alike become one. True: no two are.
  bool Merge(std::int64_t& budget);

  // `kind`: what it had before, where no verdict can have changed.
  void Attach(Handle worker, std::optional<KindId> kind = {});
  void Detach(Handle worker);
  void Leave(ProfileId id);
  void Fold(Worker& worker) const;
  Profile ProfileOf(const Worker& worker) const;
  void CountNames(const expr::Ad& ad, bool more);
  // Those that classes read from now on are to be told apart: before any new class is judged, in steps.
  void ReadWorkers(const Class& cls);

  void NotifyListener();

  Listener& listener_;
  expr::Evaluator evaluator_;
  std::int64_t time_ = 0;
  std::uint64_t epoch_ = 1;

  ShardedMap<std::string, ClassId> class_ids_;
  std::deque<Class> classes_;  // it never moves all that it has
  std::vector<ClassId> free_classes_;
  KindTable kinds_;
  Reads job_reads_;     // of jobs, by workers
  Reads worker_reads_;  // of workers, by classes

  std::vector<Worker> workers_;
  std::vector<Handle> free_workers_;
  std::unordered_map<expr::NameHash, std::uint32_t> worker_names_;  // how many workers show it
  std::unordered_map<std::string, ProfileId> profile_ids_;
  std::vector<Profile> profiles_;
  std::vector<ProfileId> free_profiles_;

  std::size_t timed_classes_ = 0, timed_profiles_ = 0;
  std::deque<Pending> pending_;
  // Names that some class reads since lately, and the worker from which on profiles are still without them.
  struct Unprofiled {
    std::vector<std::string> names;
    Handle next = 0;
  };
  std::deque<Unprofiled> unprofiled_;
  std::vector<KindId> unmerged_;                       // kinds whose verdicts changed
  std::int64_t command_budget_ = kCommandNanoseconds;  // nanoseconds left for judging in this command
  std::uint64_t next_serial_ = 1;

  std::vector<ClassId> changed_classes_;
  // of which the listener is to be notified
};

}  // namespace allot
