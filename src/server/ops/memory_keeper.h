// SPDX-License-Identifier: Apache-2.0
// The thread that keeps memory ready for all queues, and gives back what they let go of (base/memory_range.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace allot {

class MemoryKeeper {
 public:
  MemoryKeeper();
  ~MemoryKeeper();
  MemoryKeeper(const MemoryKeeper&) = delete;
  MemoryKeeper& operator=(const MemoryKeeper&) = delete;

  // So many bytes are in use when it returns, and stay so as long as there is a keeper.
  void Prepare(std::uint64_t bytes);

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace allot
