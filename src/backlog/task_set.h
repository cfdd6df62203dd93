// SPDX-License-Identifier: Apache-2.0
// A set of task indices that stays small at any density.
//
// Chunks of 32,768 indices, each stored in whichever form is smallest (task_chunk.h): at most 2 bytes an index, a
// little over one from some hundreds in a chunk, 4 KiB for a chunk at most, nothing at all when every index of the
// chunk is in. Chunks without members are not there.
//
// The chunks hang in groups of 256 that are sorted by number, so that to add or drop one moves a few KiB at most
// even in the set of 131,072 chunks that the largest job can have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "backlog/page_bits.h"
#include "backlog/task_chunk.h"
#include "base/bytes.h"
#include "base/ids.h"

namespace allot {

class TaskSet {
 public:
  TaskSet() = default;
  TaskSet(TaskSet&& other) noexcept;
  TaskSet& operator=(TaskSet&& other) noexcept;

  // True if it was not there before.
  bool Add(TaskIndex index);
  // True if it was there.
  bool Remove(TaskIndex index);
  bool Contains(TaskIndex index) const;
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The lowest member at or after `from`.
  std::optional<TaskIndex> FirstFrom(TaskIndex from) const;
  // In increasing order. `visit` must not change the set.
  void ForEach(const std::function<void(TaskIndex)>& visit) const;
  void ForEachInPage(std::uint32_t page, const std::function<void(TaskIndex)>& visit) const;
  std::uint32_t SizeOfPage(std::uint32_t page) const;
  // The pages that have members, in increasing order.
  std::vector<std::uint32_t> Pages() const;
  // The lowest of them.
  std::optional<std::uint32_t> FirstPage() const;
  // Adds the page's members to `bits`. Returns how many they are.
  std::uint32_t OrPageInto(std::uint32_t page, PageBits& bits) const;
  // Adds members to a page.
  void AddPage(std::uint32_t page, const PageBits& bits);
  // Takes the members of one page out of the set, into `out` (a set of its own). Costs the page, not the set.
  void TakePage(std::uint32_t page, TaskSet& out);
  // Drops the members of one page. Returns how many there were.
  std::uint32_t ErasePage(std::uint32_t page);
  // Adds all members of `other`.
  void Merge(const TaskSet& other);
  void Clear();
  // Heap bytes in use, allocator's overhead not counted.
  std::size_t MemoryBytes() const;

  // One page's members as bytes, and back; for records. LoadPage fails, changing nothing, on bytes that are no such
  // page, and if the set has members in the page already.
  void SavePage(std::uint32_t page, ByteWriter& out) const;
  bool LoadPage(std::uint32_t page, ByteReader& in);

 private:
  static constexpr std::uint32_t kGroupPages = 256;
  struct Group {
    std::uint32_t number;           // page / kGroupPages
    std::vector<TaskChunk> chunks;  // sorted by slot(), which is page % kGroupPages; never empty
  };

  const TaskChunk* Find(std::uint32_t page) const;
  // Made if it is not there; the caller gives it a member.
  TaskChunk& FindOrMake(std::uint32_t page);
  // REQUIRES: the page has a chunk. Takes it out as it is.
  TaskChunk Detach(std::uint32_t page);

  std::vector<Group> groups_;  // sorted by number
  std::uint64_t size_ = 0;
};

}  // namespace allot
