// The addresses that all memory pools of the process take their blocks from.
//
// Memory that was never used, or was given back to the system, costs some microseconds for each page when it is used
// first; and to give it back may mean to wait until all other processors have heard of it: on virtual ones 100 ms were
// seen. While there is a keeper, it does both: some blocks are always ready, and what is given back goes to the system
// later.
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

  // For a keeper, on a thread of its own: does what there is to be done, and waits for more of it, until `stop` and
  // Wake(). When the last one returns, the system has everything back that nobody uses.
  void Keep(const std::atomic<bool>& stop);
  void Wake();

 private:
  // Of a row that the system has back.
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
  static constexpr std::size_t kReady = 64;     // blocks
  static constexpr std::size_t kReturned = 64;  // blocks: fewer are not worth a call
  static constexpr std::size_t kOpenedAtOnce = 4 * 1024 * 1024;
  static constexpr std::size_t kOpenedAhead = 4 * 1024 * 1024;

  void* TakeFree(std::size_t blocks);
  void KeepFree(void* at, std::size_t blocks);
  void KeepReady(void* block);
  // One thing that a keeper has to do; false: there is nothing.
  bool KeepOne(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  [[maybe_unused]] bool tried_ = false;
  std::atomic<std::uintptr_t> begin_{0};
  std::atomic<std::size_t> size_{0};
  std::uintptr_t next_ = 0, opened_ = 0, end_ = 0;
  Free* rows_[kRows] = {};  // by length
  Free* long_ = nullptr;    // longer ones

  std::size_t keepers_ = 0;
  std::atomic<std::uint32_t> calls_{0};  // for a keeper
  Row* ready_ = nullptr;                 // single blocks
  std::size_t ready_count_ = 0;
  bool filling_ = false;
  Row* returned_ = nullptr;         // what the system is to have back
  std::size_t returned_count_ = 0;  // blocks of these
};

extern constinit MemoryRange g_memory_range;

}  // namespace allot
