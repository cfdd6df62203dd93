// SPDX-License-Identifier: Apache-2.0
// How indices come and go: built for those who want them, one at a time, and taken apart.
//
// Building is a walk over all jobs in the order of their ids, in steps: the owner gives them to Add() one after the
// other while Building(), and calls Finish() behind the last. One index is built at a time, so that no more than that
// is there twice; pulls that need the index wait until then, and for them a policy before stays in force.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "strategy/order_indices.h"
#include "strategy/strategy_uses.h"
#include "strategy/update_budget.h"

namespace allot {

class OrderBuilder {
 public:
  using Id = OrderIndices::Id;

  OrderBuilder(OrderIndices& indices, const StrategyUses& uses, UpdateBudget& updates)
      : indices_(indices), uses_(uses), updates_(updates) {}
  OrderBuilder(const OrderBuilder&) = delete;
  OrderBuilder& operator=(const OrderBuilder&) = delete;

  bool Building() const { return building_ || wanted_; }
  // What a job costs in all that is being built, in about a microsecond.
  std::size_t cost() const { return cost_; }
  // The job to go on with: the first whose id is above this.
  JobId built_to() const { return built_to_; }
  // Has the walk passed that job?
  bool Covers(const PickJob& job) const { return job.id() <= built_to_; }
  // Is the walk to come to it still?
  bool Awaits(const PickJob& job) const { return building_ && !Covers(job); }
  // Begins the walk, if it is to be begun.
  void Begin();
  void Add(PickJob& job);
  // There is no such job any more: the walk is past it.
  void Skip(JobId gone) { built_to_ = gone; }
  void Finish();
  // There is no memory for what is being built: it is dropped, and not wanted again before Resume(). The walk goes on
  // to its end all the same, for the values that it has collected so far.
  void GiveUp();
  // What was given up is tried again.
  void Resume();
  // Bytes that the largest of what was given up had by then; 0: nothing was.
  std::size_t given_up() const { return given_up_; }
  // Orders that became ready since the last call.
  std::vector<Id> TakeReady() { return std::exchange(became_ready_, {}); }

  // What nobody uses any more goes in steps.
  bool Cleaning() const { return !indices_.left_.empty() || !cleaned_; }
  // Takes what it did from the budget; true if all is gone.
  bool Clean(std::size_t& budget);

  // --- For Orders.

  // What is wanted, or in the way, has changed.
  void Rewant();
  // An order is of no use any more, or is to be built anew.
  void Drop(Id id);
  void Outdate(OrderIndices::Entry& entry);
  void SetSlots(std::uint64_t slots);

 private:
  bool Wanted(Id id) const;
  void Recost();

  OrderIndices& indices_;
  const StrategyUses& uses_;
  UpdateBudget& updates_;
  bool wanted_ = false;    // an entry is
  bool building_ = false;  // a walk is under way
  bool cleaned_ = true;    // nothing is left of keys that nobody uses
  Id next_entry_ = 0;      // of the entry that is built next, or the first that
                           // wants to be after it
  std::uint64_t slots_ = 0;
  std::size_t given_up_ = 0;
  JobId built_to_;
  std::size_t cost_ = 1;
  std::vector<Id> became_ready_;
  std::uint64_t next_version_ = 1;
};

}  // namespace allot
