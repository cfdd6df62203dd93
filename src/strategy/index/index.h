// SPDX-License-Identifier: Apache-2.0
// The order that one strategy gives, kept up to date: the next job for a worker of any kind, without looking at those
// that are saturated, blocked or not for it.
//
// Jobs alike in class, in group and in the values of all keys that the strategy names share a cell. The strategy
// becomes a tree of views over cells; a view of a grouping block has one view below it for each group. A value that
// flips (opens, closes, changes its level) moves its cells, never its jobs: upwards only when a pick meets them,
// downwards at once, or where they are many in steps, before the next pick.
//
// Threading:  confined to the queue's engine thread.
// Invariants: a cell's level is never above its value's true one; a view's mask has a bit for every kind that it has a
//             cell for (and, until a pick has looked, for some whose cells are blocked or gone).
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/memory_pool.h"
#include "base/rng.h"
#include "match/class_table.h"
#include "strategy/index/value_table.h"
#include "strategy/pick_job.h"
#include "strategy/strategy.h"

namespace allot {

namespace order {
struct Plan;
struct Rules;
}  // namespace order

class StrategyIndex {
 public:
  // `policy` has `worker` in it, which stands for the worker's own.
  // All that it needs is in a pool of its own, counted in `sum`.
  StrategyIndex(const StrategyPtr& policy, const StrategyPtr& worker, ValueTable& values, const ClassTable& verdicts,
                MemorySum* sum = nullptr);
  ~StrategyIndex();
  StrategyIndex(const StrategyIndex&) = delete;
  StrategyIndex& operator=(const StrategyIndex&) = delete;

  // A job opens or closes. REQUIRES: known to the value table.
  void Add(PickJob& job);
  void Remove(PickJob& job);
  // Must an open job be removed and added when it is picked?
  bool CaresWhenPicked() const;
  // The queued tasks of an open job are not `before` any more.
  void OnQueued(PickJob& job, std::uint32_t before);

  // Leases or service of a value changed; `fewer`: by how many it has fewer leases.
  void OnValue(KeyId key, ValueId value, std::uint32_t fewer);
  // The number of all slots changed: percentages do.
  void SetSlots(std::uint64_t slots);

  // The job that comes first for workers of this kind, of those whose groups the gate does not block (null: it blocks
  // none); null if there is none, or it met too many that are blocked. With `rng` null a job of `random` is any.
  PickJob* Pick(KindId kind, StartGate* gate, Rng* rng);
  const PickReport& last_pick() const { return last_pick_; }
  // The job is about to be taken out: where `random` has it is on its way from memory.
  void Prefetch(const PickJob& job) const;

  // Where the cells concerned are many, what these change is done in steps (Joining, StepJoining), and picks that
  // depend on it give up until it is. OnKind looks at no more cells than `looks`, from which it takes
  // them.
  void OnClass(ClassId cls);
  void OnKind(KindId kind, std::size_t& looks);
  // All at once. An index that is not told of it goes on with the kinds that it knows.
  void OnWidth();
  // Classes of which a cell opened since the last call, other than by Add().
  std::vector<ClassId> TakeOpened() { return std::exchange(opened_, {}); }

  // The group is not blocked everywhere any more: adds the bits that it may have something for, where `kinds` is not
  // null. To be called by whoever has the gate; until then a group that was found blocked is not asked for again.
  void OpenGroup(std::uint32_t group, std::vector<std::uint64_t>* kinds);
  // Groups that stand apart and have something for that kind: of so many, and of others the next time.
  std::vector<std::uint32_t> Aside(KindId kind, std::size_t most);
  // It has not been blocked for long, and need not stand apart any more. Happens in steps, which take what they did
  // from the budget and are true at the end.
  void JoinGroup(std::uint32_t group);
  // Groups that stand apart and are open, as far as picks have found; all of these may be joined.
  std::size_t opened_groups() const;
  void JoinOpened();
  bool Joining() const;
  bool StepJoining(std::size_t& budget);

  // Nobody needs it any more: throws some of it away, taking from the budget, and is true when nothing is left. Nothing
  // else may be called then but this.
  bool Shrink(std::size_t& budget);

  // Cells that one change moves at once; tests lower it.
  static inline std::size_t moved_at_once = 1024;

  const std::vector<KeyId>& keys() const;
  const std::shared_ptr<const StrategyPair>& strategies() const { return strategies_; }
  // Valid as long as the index is.
  const order::Rules& rules() const { return *rules_; }
  std::size_t cells() const;
  // So far, other than because of a job of theirs.
  std::uint64_t cells_moved() const;
  // What one job more costs, in units of about one order.
  std::size_t cost() const;
  std::size_t MemoryBytes() const;
  // As it lies; at once.
  std::size_t counted_bytes() const { return pool_.bytes(); }
  // What one more job takes at most.
  std::size_t JobBytes() const;

 private:
  struct Parts;
  MemoryPool pool_;
  std::unique_ptr<Parts> parts_;
  const std::shared_ptr<const StrategyPair> strategies_;
  std::unique_ptr<const order::Rules> rules_;
  // Of what is done in steps.
  bool Stepping() const;
  bool Step(std::size_t& budget);

  std::vector<ClassId> opened_;
  PickReport last_pick_;
};

}  // namespace allot
