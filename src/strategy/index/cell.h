// SPDX-License-Identifier: Apache-2.0
// The jobs that are alike for one strategy: of one class and group, with the same values under all keys that it names.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "strategy/index/plan.h"
#include "strategy/index/value_table.h"
#include "strategy/pick_job.h"
#include "strategy/trees/slot_array.h"
#include "strategy/trees/small_order.h"
#include "strategy/trees/weighted_set.h"

namespace allot::order {

// Jobs in one order, which is the same in every call.
class JobList {
 public:
  void Insert(Order order, PickJob* job);
  void Erase(Order order, PickJob* job);
  // REQUIRES: not empty.
  PickJob* Front() const { return more_ ? more_->Front().second : one_; }
  Key FrontKey(Order order) const { return more_ ? more_->Front().first : KeyOf(order, *one_); }
  // Throws about that many away; true if none are left.
  bool Shrink(std::size_t jobs);
  std::size_t MemoryBytes() const { return more_ ? sizeof(*more_) + more_->MemoryBytes() : 0; }

 private:
  PickJob* one_ = nullptr;  // while it is alone from the beginning
  std::unique_ptr<SmallOrder<Key, PickJob*>> more_;
};

// Jobs by the number of their queued tasks. Where each stands is kept beside, by its slot.
using JobPlaces = SlotArray<std::uint32_t>;
class JobLottery {
 public:
  void Add(PickJob& job, JobPlaces& places) { Put(job, places), tasks_ += job.queued; }
  void Remove(PickJob& job, JobPlaces& places) { Take(job, job.queued, places), tasks_ -= job.queued; }
  // Its queued tasks are not `before` any more.
  void Change(PickJob& job, std::uint32_t before, JobPlaces& places);
  PickJob* Draw(Rng& rng) const;
  PickJob* Any() const;
  std::uint64_t tasks() const { return tasks_; }
  std::size_t MemoryBytes() const { return sizeof(*this) + jobs_.MemoryBytes(); }

 private:
  void Put(PickJob& job, JobPlaces& places);
  void Take(PickJob& job, std::uint32_t weight, JobPlaces& places);
  WeightedSet<PickJob*> jobs_;
  std::uint64_t tasks_ = 0;
};

// Where a cell stands in a leaf of the strategy.
union LeafPlace {
  LeafPlace() : key() {}
  Key key;  // in an order
  struct {
    void* group;
    WeightedSet<struct Cell*>::Place place;
    std::uint64_t tasks;
  } drawn;  // in `random`
};

struct FairGroup;  // of a value, in a block `fair`

// How much of each a cell has.
struct CellShape {
  std::size_t values = 0, bins = 0, leaves = 0, orders = 0, links = 0, fair_groups = 0;
};

struct Cell {
  struct Links {
    Cell *before = nullptr, *next = nullptr;
    bool raised = false;  // CellLists: it stands among those above the lowest level
  };
  struct Free {
    void operator()(Cell* cell) const;
  };
  using Owned = std::unique_ptr<Cell, Free>;
  static Owned Make(const CellShape& shape);

  ClassId cls = kNoClass;
  std::uint32_t group = 0;  // of its jobs
  std::uint32_t jobs = 0;
  std::uint32_t side = 0, side_place = 0;  // CellTrees: 0 is the main one
  std::uint64_t hash = 0;                  // of class, group and values
  bool placed = false;
  bool known = false;  // was placed before
  std::uint8_t order_count = 0;
  Links in_class;
  // All of these follow in the same piece of memory.
  ValueId* values = nullptr;      // one for each key of the index
  std::uint32_t* bins = nullptr;  // one for each block with levels or a gate
  LeafPlace* leaves = nullptr;
  JobList* orders = nullptr;
  Links* links = nullptr;               // among the cells of a value, for each key that a block with bins has
  FairGroup** fair_groups = nullptr;    // one for each block `fair`
  std::unique_ptr<JobLottery> lottery;  // where the strategy has `random`
};

}  // namespace allot::order
