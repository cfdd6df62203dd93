// SPDX-License-Identifier: Apache-2.0
// Groups whose starts are blocked, in all orders (StrategyIndex says what these are), and what goes on in steps there.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "strategy/order_indices.h"

namespace allot {

class OrderGroups {
 public:
  explicit OrderGroups(OrderIndices& indices) : indices_(indices) {}
  OrderGroups(const OrderGroups&) = delete;
  OrderGroups& operator=(const OrderGroups&) = delete;

  // The bits of all orders are added to `kinds`, where it is not null.
  void Open(std::uint32_t group, std::vector<std::uint64_t>* kinds);
  void Join(std::uint32_t group);
  // How many groups stand apart and are open, as far as picks have found, in the order that has most of them; and all
  // of these join.
  std::size_t opened() const;
  void JoinOpened();

  bool Joining() const;
  bool Step(std::size_t& budget);

 private:
  OrderIndices& indices_;
};

}  // namespace allot
