// SPDX-License-Identifier: Apache-2.0
// The memory of the server, as its queues share it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace allot {

// What the machine has, or the control group that the process is in, if that is less.
std::uint64_t MachineMemory();

// Threading: any.
class MemoryQuota {
 public:
  explicit MemoryQuota(std::uint64_t budget) : budget_(budget) {}
  std::uint64_t budget() const { return budget_; }

  // A queue uses `now` where it used `before`: what it may use in all, with `own` as its own budget (0: none).
  std::uint64_t Renew(std::uint64_t before, std::uint64_t now, std::uint64_t own) {
    const std::uint64_t all = used_.fetch_add(now - before, std::memory_order_relaxed) + (now - before);
    const std::uint64_t others = all - std::min(all, now);
    const std::uint64_t left = budget_ - std::min(budget_, others);
    return std::max<std::uint64_t>(1, own == 0 ? left : std::min(own, left));
  }

 private:
  const std::uint64_t budget_;
  std::atomic<std::uint64_t> used_{0};
};

}  // namespace allot
