// SPDX-License-Identifier: Apache-2.0
// Threads that take turns with memory pools (memory_pool.h), never two at a time.
//
// A pool belongs to the thread whose scope was the last: what that thread deletes goes back at once, what others delete
// is sent back. Where threads take turns that is not enough: one whose turn is over may still delete, while the next
// one is at it. So during a turn the pool belongs to the turn, and to no thread outside of it.
//
// Threading: turns of the same `whose` are not open on two threads at a time, and what ends one happens before the
// next.
#pragma once

namespace allot {

class MemoryOwner {
 public:
  explicit MemoryOwner(const void* whose);
  ~MemoryOwner();
  MemoryOwner(const MemoryOwner&) = delete;
  MemoryOwner& operator=(const MemoryOwner&) = delete;

 private:
  const void* const before_;
};

}  // namespace allot
