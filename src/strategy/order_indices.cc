// SPDX-License-Identifier: Apache-2.0
#include "strategy/order_indices.h"

#include <algorithm>

#include "strategy/index/cell.h"

namespace allot {

OrderIndices::OrderIndices(const JobKeys& keys, const ClassTable& verdicts)
    : verdicts_(verdicts), values_(keys), policy_(DefaultPolicy()) {}

OrderIndices::~OrderIndices() = default;

std::size_t OrderIndices::JobBytes() const {
  std::size_t bytes = 0;
  ForAll([&](const StrategyIndex& index) { bytes += index.JobBytes(); });
  return bytes;
}

std::size_t OrderIndices::IndexBytes(const Strategy& strategy) const {
  constexpr std::size_t kEntry =
      sizeof(order::Key) + sizeof(void*) + 4;  // of a job in an order; nodes are not all full
  std::size_t cells = 0;
  for (const Entry& entry : entries_) cells = std::max(cells, entry.index ? entry.index->cells() : 0);
  const std::size_t blocks = CountBlocks(*policy_) + CountBlocks(strategy);
  return open_jobs_ * kEntry + std::min<std::size_t>(cells, open_jobs_) * (sizeof(order::Cell) + 48 * blocks);
}

std::uint64_t OrderIndices::cells_moved() const {
  std::uint64_t moved = 0;
  ForAll([&](const StrategyIndex& index) { moved += index.cells_moved(); });
  return moved;
}

std::size_t OrderIndices::MemoryBytes() const {
  std::size_t bytes = values_.MemoryBytes();
  ForAll([&](const StrategyIndex& index) { bytes += index.MemoryBytes(); });
  for (const auto& index : left_) bytes += index->MemoryBytes();
  return bytes;
}

}  // namespace allot
