// SPDX-License-Identifier: Apache-2.0
// The indices of all orders: the one in force for each strategy in use, and the one that is being built for it; those
// that nobody uses any more; and the table of values that all of them share.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/memory_pool.h"
#include "strategy/index/index.h"
#include "strategy/index/value_log.h"
#include "strategy/index/value_table.h"
#include "strategy/pick_job.h"
#include "strategy/strategy.h"

namespace allot {

class OrderIndices {
 public:
  using Id = std::uint32_t;
  struct Entry {
    std::unique_ptr<StrategyIndex> index;  // null until it is built
    std::unique_ptr<StrategyIndex> next;   // being built
    std::uint64_t version = 0;             // of the index
    bool stale = false;                    // the index is of another policy, or of too narrow masks
    bool given_up = false;
  };

  OrderIndices(const JobKeys& keys, const ClassTable& verdicts);
  ~OrderIndices();
  OrderIndices(const OrderIndices&) = delete;
  OrderIndices& operator=(const OrderIndices&) = delete;

  // Numbers of orders are below this.
  Id ids() const { return static_cast<Id>(entries_.size()); }
  bool Ready(Id id) const { return entries_[id].index != nullptr; }
  // What that order goes by, for those who keep some of its jobs apart; valid as long as the version stays the same. 0:
  // it is not ready. No two orders ever have the same version.
  std::uint64_t version(Id id) const { return id < entries_.size() && entries_[id].index ? entries_[id].version : 0; }
  // Is another whenever an order became ready or was dropped.
  std::uint64_t changes() const { return changes_; }
  const StrategyPtr& policy() const { return policy_; }
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
  friend class OrderBuilder;
  friend class OrderGroups;
  friend class Orders;

  // Calls `f` with each index in force.
  template <typename F>
  void ForEach(F f) const {
    for (const Entry& entry : entries_) {
      if (entry.index) f(*entry.index);
    }
  }
  // Calls `f` with those that are being built, too.
  template <typename F>
  void ForAll(F f) const {
    for (const Entry& entry : entries_) {
      if (entry.index) f(*entry.index);
      if (entry.next) f(*entry.next);
    }
  }
  // Nobody uses it any more: it is taken apart in steps.
  void Leave(std::unique_ptr<StrategyIndex> index) {
    if (index) left_.push_back(std::move(index));
  }

  MemorySum memory_;
  MemoryPool pool_{&memory_};  // of all that is not in an index
  const ClassTable& verdicts_;
  ValueTable values_;
  ValueLog log_;
  StrategyPtr policy_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<StrategyIndex>> left_;  // that nobody uses any more
  std::uint64_t changes_ = 1;
  std::uint64_t open_jobs_ = 0;
};

}  // namespace allot
