// SPDX-License-Identifier: Apache-2.0
// Which queued tasks a limit or a ceiling stops, counted in tasks: what the reason of a class
// (engine/tallies/class_reasons.h) cannot know.
//
// Open jobs alike in class, in limit group, and in the values of all keys by which a strategy in use selects jobs or
// has a ceiling, are one cell. A look at a cell asks, for each sort of worker that may run the class, whether its order
// gives out such jobs and whether limits let them start. A cell is looked at when it is new, and again at most once a
// second, in steps; where there are many cells, less often, so that this takes a twentieth of the time at most.
//
// Jobs are in cells only while there are limits, or strategies with such blocks. Beyond kMostCells cells a job is in
// none, and the reason of its class stands for it.
//
// Threading:  confined to the queue's engine thread.
// Invariants: tasks and jobs of each cell are exact, and so are sums by code and class; an empty cell is gone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/looks/views.h"
#include "engine/tallies/class_reasons.h"
#include "limits/limit_table.h"
#include "strategy/offer.h"
#include "strategy/orders.h"

namespace allot {

class BlockedReasons {
 public:
  using CellId = std::uint32_t;
  static constexpr CellId kNoCell = 0;
  static constexpr std::size_t kMostCells = 200'000;

  BlockedReasons(const ClassTable& classes, const ClassReasons& reasons, const Orders& orders, LimitTable& limits)
      : classes_(classes), reasons_(reasons), orders_(orders), limits_(limits) {}
  BlockedReasons(const BlockedReasons&) = delete;
  BlockedReasons& operator=(const BlockedReasons&) = delete;

  // --- Jobs. The owner keeps the cell of each open job.

  // An open job, of so many queued tasks, comes in; gives its cell. One that is new is to be looked at.
  CellId Put(const PickJob& job, std::uint32_t tasks);
  bool New(CellId cell) const { return cell != kNoCell && cells_[cell].fresh; }
  void LookAtNew(CellId cell, const Now& now) { Look(cells_[cell], now); }
  void Take(CellId cell, JobId job, std::uint32_t tasks);
  void CountTasks(CellId cell, std::uint64_t more) {
    Cell& in = cells_[cell];
    in.tasks += more;
    if (in.blocked) Add(in, more, 0, 0);
    changed_ = true;
  }
  // A lease has ended, or anything else happened that may open a ceiling.
  void OnLease() { changed_ = true; }

  // --- What cells are made by. After limits or orders have changed, all jobs may be in cells of another making: then
  // Outdated() says for a cell (or none) whether its job has to be put anew.
  bool active() const { return active_; }
  // Looks whether that is so now. To be called before keys that nobody uses any more are cleaned up (Orders::Clean).
  void Renew() {
    if (orders_seen_ != orders_.indices().changes() || active_ != (limits_.size() > 0 || !keys_.empty())) RenewNow();
  }
  // Jobs are to be put anew; says so once.
  bool stale() const { return stale_; }
  bool TakeStale() { return std::exchange(stale_, false); }
  bool Outdated(CellId cell) const { return cell == kNoCell ? active_ : cells_[cell].epoch != epoch_; }
  std::uint32_t epoch() const { return epoch_; }

  // --- Workers. Those alike in kind, order, what limits read of them, and whether they have a free slot.
  struct Sort {
    KindId kind = 0;
    Orders::Id order = 0;
    LimitProfileId profile = 0;
    bool free = false;
    LimitTable::WorkerHandle one = 0;
    friend bool operator==(const Sort& a, const Sort& b) {
      return a.kind == b.kind && a.order == b.order && a.profile == b.profile && a.free == b.free;
    }
  };
  // Workers have come, gone or changed: those of sorts may be others.
  void OnWorkers() { ++workers_version_; }
  LimitProfileId ProfileOf(LimitTable::WorkerHandle worker, const Now& now) {
    return limits_.size() > 0 ? limits_.waits().ProfileOf(worker, now) : 0;
  }
  // Are the sorts as of now? And are they but for who has a free slot?
  bool SortsFresh() const { return SortsUsable() && sorts_moves_ == reasons_.moves(); }
  bool SortsUsable() const { return sorts_workers_ == workers_version_ && sorts_reads_ == limits_.worker_reads(); }
  void SetSorts(std::vector<Sort> sorts);

  // --- Time.
  bool Due() const {
    return active_ && cells_in_use_ > 0 && (changed_ || limits_.size() > 0 || moved_ != reasons_.moves());
  }
  bool Walking() const { return walking_; }
  void BeginWalk();
  // Goes on, taking about a microsecond for each unit off the budget. True: through.
  bool Step(std::size_t& budget, const Now& now);
  // What the last walk took, in units.
  std::size_t walk_cost() const { return walk_cost_; }

  // --- Looking.
  // At sorts, blocks and limits, so far: what it costs.
  std::size_t looks() const { return looks_; }
  struct Found {
    bool blocked = false;  // false: what its class says stands
    ReasonCode code = ReasonCode::kCanStart;
    std::optional<LimitMatcher::Slot> limit;  // that blocks it longest
    bool several = false;                     // on some workers it is another limit
    std::optional<Ceiling> ceiling;           // one of them
  };
  Found Look(const PickJob& job, const Now& now);
  // Since when the cell is blocked as it is; 0: it is not.
  WallTime SinceOf(CellId cell, ReasonCode code) const {
    return cell != kNoCell && cells_[cell].blocked && cells_[cell].code == code ? cells_[cell].since : WallTime{};
  }
  struct Sum {
    std::uint64_t tasks = 0, jobs = 0, cells = 0;
    WallTime since{};  // of the longest
    JobId job;         // one of them, or it was
    std::uint64_t most = 0;
  };
  static constexpr std::size_t kCodes = static_cast<std::size_t>(ReasonCode::kNoMatch) + 1;
  const Sum& sum(std::size_t code) const { return sums_[code]; }
  struct OfClass {
    std::uint64_t tasks = 0;
    std::uint32_t jobs = 0;
  };
  // Of a class: those in cells that are blocked.
  OfClass of_class(ClassId cls) const { return cls < of_class_.size() ? of_class_[cls] : OfClass{}; }
  // As of the last walk, those first that block the most.
  const std::vector<BlockedByLimit>& limits() const { return shown_limits_; }
  const std::vector<BlockedByCeiling>& ceilings() const { return shown_ceilings_; }

  std::size_t MemoryBytes() const;

 private:
  void RenewNow();
  using Values = boost::container::small_vector<ValueId, 2>;  // in the order of keys_
  struct Cell {
    std::uint64_t hash = 0;
    std::uint64_t tasks = 0;
    WallTime since{};
    JobId job;
    ClassId cls = kNoClass;
    GroupId group = kFreeGroup;
    std::uint32_t jobs = 0;  // 0: it is free
    std::uint32_t epoch = 0;
    ReasonCode code = ReasonCode::kCanStart;
    bool blocked = false;
    bool fresh = true;  // was never looked at
    Values values;
  };
  // Of one class, what tells workers apart.
  using Sorts = boost::container::small_vector<Sort, 2>;

  void Add(const Cell& cell, std::uint64_t tasks, std::int64_t jobs, std::int64_t cells);
  void ValuesOf(const PickJob& job, Values& values) const;
  Found LookAt(ClassId cls, GroupId group, const Values* values, const Now& now);
  void Look(Cell& cell, const Now& now);
  void Note(const Cell& cell, const Found& found);
  void EndWalk();
  const Sorts& SortsOf(ClassId cls);
  // Does workers' order give it? Adds to `offer` what stops it.
  bool Gives(Orders::Id order, const Values* values, Offer& offer) const;

  const ClassTable& classes_;
  const ClassReasons& reasons_;
  const Orders& orders_;
  LimitTable& limits_;

  bool active_ = false, stale_ = false;
  std::uint32_t epoch_ = 1;
  std::uint64_t orders_seen_ = 0;  // their changes, by which keys_ were found
  std::vector<KeyId> keys_;

  std::vector<Cell> cells_{1};
  std::vector<CellId> free_cells_;
  std::size_t cells_in_use_ = 0;
  boost::unordered_flat_map<std::uint64_t, CellId> by_hash_;
  std::array<Sum, kCodes> sums_{};
  std::vector<OfClass> of_class_;

  std::vector<Sort> sorts_;
  std::uint64_t workers_version_ = 1, sorts_workers_ = 0, sorts_moves_ = 0, sorts_reads_ = 0;
  boost::unordered_flat_map<ClassId, Sorts> sorts_of_;
  std::size_t looks_ = 0;

  bool changed_ = false, walking_ = false;
  std::uint64_t moved_ = 0;
  CellId next_ = 1;
  std::size_t walk_cost_ = 0, walk_spent_ = 0;
  std::array<Sum, kCodes> seen_{};  // by this walk: since and job
  struct CeilingSeen {
    Ceiling ceiling;
    std::uint64_t tasks = 0;
  };
  struct LimitSeen {
    LimitName name;
    std::uint64_t tasks = 0;
  };
  std::map<LimitMatcher::Slot, LimitSeen> limits_seen_;
  std::map<std::string, CeilingSeen> ceilings_seen_;
  std::vector<BlockedByLimit> shown_limits_;
  std::vector<BlockedByCeiling> shown_ceilings_;
};

}  // namespace allot
