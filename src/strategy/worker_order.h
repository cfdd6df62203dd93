// SPDX-License-Identifier: Apache-2.0
// The order that one strategy gives among the jobs that one worker was promised.
//
// It goes by the rules of the strategy's index, which is over all jobs of the queue, and looks at what those say when
// it is asked: it is not updated when tasks start elsewhere, or values are served. So there may be one for
// each of ten thousand workers. Jobs alike in their group and in the values of all keys that the strategy names share a
// cell; by most strategies there is one. A pick looks at every cell, if they are few. Many are kept in order, and
// before a pick those change places whose values have changed since the last one: so it costs what has happened
// meanwhile, or a look at every cell if that is less. (It is that with `random`, and where the worker ranks jobs.)
//
// Threading:  confined to the queue's engine thread.
// Invariants: what Pick() gives is what an index over the same jobs, with so many queued tasks each, would give.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include "base/rng.h"
#include "strategy/index/cell.h"
#include "strategy/index/index.h"
#include "strategy/index/value_log.h"
#include "strategy/index/views.h"
#include "strategy/pick_job.h"
#include "strategy/trees/small_order.h"
#include "strategy/trees/weighted_set.h"

namespace allot {

class WorkerOrder {
 private:
  struct Cell;

 public:
  // A job, and how many of its queued tasks. Kept by the owner, in place.
  struct Entry {
    PickJob* job = nullptr;
    std::uint32_t count = 0;  // at least 1 while it is in an order

   private:
    friend class WorkerOrder;
    Cell* cell = nullptr;
    order::Key recent;  // where it stands by `least_recent`: which may be where it stood before it was picked
    WeightedSet<Entry*>::Place place;
  };

  // `rules` outlive all calls but the destructor. `by_class`: the worker ranks jobs, which its classes tell.
  WorkerOrder(const order::Rules& rules, const ValueLog& log, bool by_class);
  WorkerOrder(const WorkerOrder&) = delete;
  WorkerOrder& operator=(const WorkerOrder&) = delete;
  ~WorkerOrder();

  // The job's key, class, group and values stay as they are meanwhile.
  void Add(Entry& entry);
  void Remove(Entry& entry);
  // Its count is not `before` any more.
  void OnCount(Entry& entry, std::uint32_t before);

  // What comes first for a worker of that kind, of those whose groups the gate does not block (null: it blocks none);
  // null if there is none.
  // Takes from `looks` what it looked at beyond one cell.
  Entry* Pick(KindId kind, StartGate* gate, Rng& rng, std::size_t& looks);
  // Does the strategy want a random task of the job that the last Pick() gave?
  bool random_task() const { return random_task_; }
  // As StrategyIndex says.
  const order::Plan* leaf() const { return leaf_; }
  std::uint64_t candidates() const { return candidates_; }

  // Nobody needs it any more: throws some of it away, taking from the budget, and is true when nothing is left. Nothing
  // else may be called then but this.
  bool Shrink(std::size_t& budget);

  std::size_t cells() const { return cells_.size(); }
  bool sorted() const { return sorted_; }  // are they kept in order now?
  std::size_t MemoryBytes() const;

 private:
  struct Sought {
    std::uint32_t group;
    ClassId cls;  // kNoClass, unless cells are by class
    const std::vector<ValueId>& values;
    std::uint64_t hash;
  };
  struct Cell : boost::intrusive::set_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>> {
    ~Cell();
    order::Cell::Owned core;  // class, group and values; as whoever compares knows it
    ClassId by_class = kNoClass;
    std::vector<SmallOrder<order::Key, Entry*>> orders;
    std::unique_ptr<WeightedSet<Entry*>> lottery;
    std::uint64_t tasks = 0;
    std::uint32_t jobs = 0;
    std::uint32_t at = 0;  // its place in cells_
    // While they are sorted:
    const order::Plan* leaf = nullptr;  // by which it stands among them
    bool stands = false;                // else it is to find its place, or the strategy does not give its jobs now
    bool loose = false;                 // it is to find its place:
    std::uint32_t loose_at = 0;         // as this one of those
  };
  struct Before {
    const WorkerOrder* of;
    bool operator()(const Cell& a, const Cell& b) const;
  };
  using Tree =
      boost::intrusive::set<Cell, boost::intrusive::compare<Before>, boost::intrusive::constant_time_size<false>>;
  struct HashOf {
    using is_transparent = void;
    using is_avalanching = void;
    std::size_t operator()(const Cell* cell) const { return cell->core->hash; }
    std::size_t operator()(const Sought& sought) const { return sought.hash; }
  };
  struct Same {
    using is_transparent = void;
    bool operator()(const Cell* a, const Cell* b) const { return a == b; }
    bool operator()(const Sought& sought, const Cell* cell) const;
    bool operator()(const Cell* cell, const Sought& sought) const { return (*this)(sought, cell); }
  };

  static constexpr std::size_t kFew = 4;       // cells that are found by looking at all
  static constexpr std::size_t kFewAsked = 8;  // the groups of more are asked closely
  static constexpr std::size_t kSorted = 32;   // so many are kept in order

  Cell& CellFor(const PickJob& job);
  void FindLeaves(const order::Plan& plan);
  // The first of the cell in one of its orders is another one: notes it, for comparing.
  void Note(Cell& cell, std::size_t list);
  // In the order of `least_recent`: what was picked from meanwhile stands too far ahead.
  void Freshen(Cell& cell, const order::Plan& leaf);
  Entry* Draw(Cell& cell, Rng& rng) const;
  void Undraw(Cell& cell, Entry& entry);
  bool Blocked(const order::Cell& core, StartGate* gate) const;
  Entry* Scan(KindId kind, StartGate* gate, Rng& rng);

  // All cells in order.
  void Sort(KindId kind);
  void Unsort();
  // How many cells have lost their places since then.
  std::size_t Changed() const;
  // They find new ones.
  void CatchUp();
  // Out of its place, until CatchUp().
  void Loosen(Cell& cell);
  void Enter(Cell& cell);
  void Leave(Cell& cell);
  static std::uint64_t ValueKey(KeyId key, ValueId value) { return std::uint64_t{key} << 32 | value; }

  order::Rules rules_;
  const bool by_class_;
  std::vector<const order::Plan*> leaves_;  // but `random`
  std::vector<std::unique_ptr<Cell>> cells_;
  std::vector<order::Cell*> cores_;                        // of those: a look at all of them goes along here
  boost::unordered_flat_set<Cell*, HashOf, Same> by_key_;  // only where there are several
  std::vector<ValueId> sought_;
  bool random_task_ = false;
  const order::Plan* leaf_ = nullptr;
  std::uint64_t candidates_ = 0;

  const ValueLog& log_;
  std::uint64_t picked_at_ = 0;  // where the log ended at the last pick
  const bool percent_;           // what the number of slots changes
  std::uint32_t calm_ = 0;       // picks since when little changes between them
  bool sorted_ = false;
  KindId sorted_for_ = 0;
  std::uint64_t sorted_at_ = 0;     // where the log ended then
  std::uint64_t sorted_slots_ = 0;  // of which percentages are
  Tree tree_{Before{this}};
  std::vector<Cell*> loose_;
  boost::unordered_flat_map<std::uint64_t, boost::container::small_vector<Cell*, 1>> by_value_;
};

}  // namespace allot
