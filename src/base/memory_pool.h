// SPDX-License-Identifier: Apache-2.0
// Memory that is counted by what it is for, and goes back to the system when that is gone.
//
// While a Scope is open on a thread, everything that the thread makes with `new` comes from the scope's pool:
// containers, strings and objects alike, without knowing of it. Whatever is deleted goes back to the pool that it came
// from, by its address, whoever deletes it, and wherever. So what a pool counts cannot drift, and code that is new is
// counted too.
//
// A pool has blocks of 64 KiB, each for pieces of one size. A block without a piece in use goes back to the system,
// but for one of each size (memory_range.h). What is to leave as a whole (the order of one strategy) has a pool of its
// own, so that no block is kept by a neighbour that stays.
//
// Without a Scope `new` is the C library's. So it is everywhere in builds with sanitizers, which look after memory
// themselves, and where no range of addresses can be had: pools are then not Available(), and count nothing.
//
// Threading:  scopes on one pool are open on one thread at a time; pieces may be deleted on any thread.
// Ownership:  a pool may go before its pieces; these are then not given back any more.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace allot {

// The sum of several pools.
struct MemorySum {
  std::int64_t bytes = 0;
};

class MemoryPool {
 public:
  // `sum`, which lives at least as long, has the bytes of all pools that name it.
  explicit MemoryPool(MemorySum* sum = nullptr);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  static bool Available();

  // Of all pieces in use, as they lie. On the thread of its scopes. What other threads delete is put back some pieces
  // at a time, here and with each that is made: of very many it counts those that are still to be put back.
  std::size_t bytes() const;

  // Null: the C library's allocator. Scopes nest.
  class Scope {
   public:
    explicit Scope(MemoryPool* pool) : before_(current_) {
      if (pool != before_) Open(pool);
    }
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    static void Open(MemoryPool* pool);
    MemoryPool* const before_;
  };

  // What a piece of so many bytes takes in a pool.
  static std::size_t Taken(std::size_t bytes);

 private:
  friend struct MemoryHooks;
  struct Block;
  struct State;

  static constinit thread_local MemoryPool* current_;

  State* const state_;  // outlives the pool while there are pieces
};

}  // namespace allot
