// SPDX-License-Identifier: Apache-2.0
#include "strategy/order_groups.h"

#include <algorithm>

namespace allot {

void OrderGroups::Open(std::uint32_t group, std::vector<std::uint64_t>* kinds) {
  indices_.ForEach([&](StrategyIndex& index) { index.OpenGroup(group, kinds); });
}

void OrderGroups::Join(std::uint32_t group) {
  indices_.ForEach([&](StrategyIndex& index) { index.JoinGroup(group); });
}

std::size_t OrderGroups::opened() const {
  std::size_t most = 0;
  indices_.ForEach([&](const StrategyIndex& index) { most = std::max(most, index.opened_groups()); });
  return most;
}

void OrderGroups::JoinOpened() {
  indices_.ForEach([](StrategyIndex& index) { index.JoinOpened(); });
}

bool OrderGroups::Joining() const {
  return std::any_of(indices_.entries_.begin(), indices_.entries_.end(),
                     [](const OrderIndices::Entry& entry) { return entry.index && entry.index->Joining(); });
}

bool OrderGroups::Step(std::size_t& budget) {
  return std::all_of(indices_.entries_.begin(), indices_.entries_.end(), [&](const OrderIndices::Entry& entry) {
    return !entry.index || entry.index->StepJoining(budget);
  });
}

}  // namespace allot
