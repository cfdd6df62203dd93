// SPDX-License-Identifier: Apache-2.0
// The members of a set that are in one page of 32,768 tasks, by their offsets in it.
//
// Stored in whichever form is smallest: a sorted array of 16-bit offsets, a split array (how many members each of 128
// blocks has, and an 8-bit offset each: 128 bytes and a byte a member), a bitmap up to the highest member, or nothing
// when all are in. Spare room is at most a quarter, and at most 32 bytes (an eighth in a bitmap).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backlog/page_bits.h"

namespace allot {

class TaskChunk {
 public:
  explicit TaskChunk(std::uint8_t slot = 0) : slot_(slot) {}
  TaskChunk(TaskChunk&& other) noexcept;
  TaskChunk& operator=(TaskChunk&& other) noexcept;
  ~TaskChunk();

  // Its place among its neighbours in a TaskSet. Kept here because here it is free.
  std::uint8_t slot() const { return slot_; }
  std::uint32_t size() const { return size_; }

  // REQUIRES, here and below: offset < kPageTasks. True if it was not there before.
  bool Add(std::uint32_t offset);
  // True if it was there.
  bool Remove(std::uint32_t offset);
  bool Contains(std::uint32_t offset) const;
  // The lowest member at or after `offset`; kPageTasks if there is none.
  std::uint32_t FirstFrom(std::uint32_t offset) const;
  // Adds all members to `bits`.
  void OrInto(PageBits& bits) const;
  // Replaces all members.
  void Assign(const PageBits& bits);
  void Merge(const TaskChunk& other);

  std::size_t MemoryBytes() const { return capacity_; }

 private:
  enum class Form : std::uint8_t { kArray, kSplit, kBitmap, kFull };
  static constexpr std::uint32_t kBlocks = 128;      // of a split array
  static constexpr std::uint32_t kBlockTasks = 256;  // so that an offset in it is a byte
  static constexpr std::uint32_t kMaxInBlock = 255;  // so that their number is: a set with a full block is not split
  struct Place {
    std::uint32_t position;
    bool found;
  };

  // The bytes that `size` members need, the highest of them at `last`.
  static std::uint32_t Need(Form form, std::uint32_t size, std::uint32_t last);
  static Form Smallest(std::uint32_t size, std::uint32_t last, bool may_split);
  static bool HasFullBlock(const PageBits& bits);

  std::uint16_t* offsets() const { return static_cast<std::uint16_t*>(data_); }  // kArray
  std::uint8_t* counts() const { return static_cast<std::uint8_t*>(data_); }     // kSplit: of each block
  std::uint8_t* lows() const { return counts() + kBlocks; }
  std::uint64_t* words() const { return static_cast<std::uint64_t*>(data_); }  // kBitmap
  std::uint32_t n_words() const { return capacity_ / 8; }
  std::uint32_t Last() const;
  // Where `offset` is in an array or split array, or would be.
  Place Locate(std::uint32_t offset) const;
  // Puts a new one at its position. REQUIRES: there is room.
  void Insert(std::uint32_t position, std::uint32_t offset);
  // Adds a new one for which there is no room, in whichever form is best then.
  void GrowWith(std::uint32_t position, std::uint32_t offset);
  void AssignAs(Form form, const PageBits& bits, std::uint32_t size, std::uint32_t capacity);
  void Reallocate(std::uint32_t capacity);
  void Free();

  void* data_ = nullptr;
  std::uint16_t size_ = 0;
  std::uint16_t capacity_ = 0;  // bytes
  std::uint8_t slot_;
  Form form_ = Form::kArray;
};
static_assert(sizeof(TaskChunk) == 16);

}  // namespace allot
