// SPDX-License-Identifier: Apache-2.0
// The addresses that all memory pools of the process take their blocks from.
//
// Memory that was never used, or was given back to the system, costs some microseconds for each page when it is used
// first; and to give it back may mean to wait until all other processors have heard of it: on virtual ones 100 ms were
// seen. While there is a keeper, it does both: some blocks are always ready, and what is given back goes to the system
// later. Where a first use is dearer still (on a virtual machine whose host has to find the page: 50 to 100 µs),
// Prepare() has so much used before anybody waits for it, and the keeper keeps as much of what is given back.
//
// Threading:  all calls are safe on any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace allot {

class MemoryRange {
 public:
  static constexpr std::size_t kBlock = 64 * 1024;
  static constexpr std::size_t kPage = 4096;

  // Tried once, before the first scope is opened. False: there are no addresses to be had.
  bool Reserve();

  bool Has(const void* piece) const {
    const std::size_t size = size_.load(std::memory_order_acquire);
    return reinterpret_cast<std::uintptr_t>(piece) - begin_.load(std::memory_order_relaxed) < size;
  }

  // So many blocks in a row, with anything in them; null if there are no more.
  void* Take(std::size_t blocks);
  void Give(void* at, std::size_t blocks);

  // Uses so many bytes once; from now on, while there is a keeper, as many of what is given back are kept. Takes a
  // second for a gigabyte, or ten.
  void Prepare(std::size_t bytes);

  // For a keeper, on a thread of its own: does what there is to be done, and waits for more of it, until `stop` and
  // Wake(). When the last one returns, the system has everything back that nobody uses.
  void Keep(const std::atomic<bool>& stop);
  void Wake();
  // Blocks that were given back, and that it has not looked after yet. It may leave kReturned of them for later.
  std::size_t Returned();
  static constexpr std::size_t kReturned = 64;

 private:
  // Of a row that nobody uses.
  struct Free {
    void* at;
    std::size_t blocks;
    Free* next;
  };
  // At the beginning of a row that is still in memory.
  struct Row {
    std::size_t blocks;
    Row* next;
  };
  static constexpr std::size_t kRows = 1024;
  // All of one kind.
  struct Rows {
    Free* of[kRows] = {};    // by length
    Free* longer = nullptr;  // longer ones
    std::size_t blocks = 0;  // in all
  };
  static constexpr std::size_t kReady = 64;  // blocks
  static constexpr std::size_t kOpenedAtOnce = 4 * 1024 * 1024;
  static constexpr std::size_t kOpenedAhead = 4 * 1024 * 1024;

  // Not one of those that are ready.
  void* TakeFree(std::size_t blocks);
  // Null: there is none. `split`: also a part of a longer one, which is looked for.
  static void* TakeFrom(Rows& rows, std::size_t blocks, bool split);
  // That was never taken before.
  void* TakeFresh(std::size_t blocks);
  static void Put(Rows& rows, void* at, std::size_t blocks);
  void KeepReady(void* block);
  // One thing that a keeper has to do; false: there is nothing.
  bool KeepOne(std::unique_lock<std::mutex>& lock);
  // The system has everything back that nobody uses.
  void Discard();

  std::mutex mutex_;
  [[maybe_unused]] bool tried_ = false;
  std::atomic<std::uintptr_t> begin_{0};
  std::atomic<std::size_t> size_{0};
  std::uintptr_t next_ = 0, opened_ = 0, end_ = 0;
  std::uintptr_t prepared_ = 0;  // all before this was used once
  Rows kept_;                    // in memory
  std::size_t most_kept_ = 0;    // blocks of these
  Rows discarded_;               // the system has them back

  std::size_t keepers_ = 0;
  std::atomic<std::uint32_t> calls_{0};  // for a keeper
  Row* ready_ = nullptr;                 // single blocks
  std::size_t ready_count_ = 0;
  bool filling_ = false;
  Row* returned_ = nullptr;         // still to be kept, or given back to the system
  std::size_t returned_count_ = 0;  // blocks of these
};

extern constinit MemoryRange g_memory_range;

}  // namespace allot
