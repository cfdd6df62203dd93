// SPDX-License-Identifier: Apache-2.0
// All orders of a queue: one index for each strategy that workers use, below the queue's policy, and the table of
// values that they share. Indices are built for those who want them, shared, kept up to date and dropped.
//
// It has parts, each with data of its own: who uses which strategy (uses()), the indices (indices()), how these come
// and go (builder()), groups that are blocked in them (groups()), and how much a command may do (updates()).
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "strategy/index/index.h"
#include "strategy/index/value_log.h"
#include "strategy/index/value_table.h"
#include "strategy/open_classes.h"
#include "strategy/order_builder.h"
#include "strategy/order_groups.h"
#include "strategy/order_indices.h"
#include "strategy/pick_job.h"
#include "strategy/strategy.h"
#include "strategy/strategy_uses.h"
#include "strategy/update_budget.h"

namespace allot {

class Orders {
 public:
  using Id = OrderIndices::Id;

  Orders(const JobKeys& keys, const ClassTable& verdicts);
  ~Orders();
  Orders(const Orders&) = delete;
  Orders& operator=(const Orders&) = delete;

  const StrategyUses& uses() const { return uses_; }
  const OrderIndices& indices() const { return indices_; }
  OrderBuilder& builder() { return builder_; }
  OrderGroups& groups() { return groups_; }
  const OrderGroups& groups() const { return groups_; }
  UpdateBudget& updates() { return updates_; }
  const UpdateBudget& updates() const { return updates_; }

  // --- Strategies.

  // The order of workers with that strategy, with one more user.
  Id Use(const StrategyPtr& strategy);
  void Unuse(Id id);
  void SetPolicy(const StrategyPtr& policy);
  // By `key.value`, as `user.acme`.
  void SetWeights(std::unordered_map<std::string, std::uint32_t> weights);
  // Of all registered workers.
  void SetSlots(std::uint64_t slots) { builder_.SetSlots(slots); }

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

  // --- Picking. REQUIRES: indices().Ready().
  StrategyIndex& index(Id id) { return *indices_.entries_[id].index; }
  const StrategyIndex& index(Id id) const { return *indices_.entries_[id].index; }
  ValueLog& log() { return indices_.log_; }
  OpenClasses& open_classes() { return open_; }
  // Classes that opened since the last call, other than by Open().
  std::vector<ClassId> TakeOpened();

  // Cells that are put into wider trees at once; tests lower it.
  static inline std::size_t width_at_once = 8192;

  // As ClassTable's listener.
  void OnWidth();
  void OnClass(ClassId cls);
  void OnKind(KindId kind);

 private:
  using Changed = boost::container::small_vector<std::pair<KeyId, ValueId>, 6>;
  template <typename F>
  void ForEachIndex(const PickJob& job, F f);
  template <typename F>
  void ForEachKey(const PickJob& job, F f);
  void Apply(const Changed& changed, std::uint32_t fewer);
  // To, or from, all indices.
  void PutIn(PickJob& job);
  void TakeOut(PickJob& job);

  OrderIndices indices_;
  StrategyUses uses_;
  UpdateBudget updates_;
  OrderBuilder builder_{indices_, uses_, updates_};
  OrderGroups groups_{indices_};
  std::uint32_t slot_end_ = 0;  // of jobs that are known
  std::vector<std::uint32_t> free_slots_;
  OpenClasses open_;
};

}  // namespace allot
