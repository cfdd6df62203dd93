// A set of task indices that stays small at any density.
//
// Chunks of 32,768 indices, each stored as whichever is smaller: a sorted array of 16-bit offsets (at most 2 bytes an
// index), a bitmap of 4 KiB, or nothing at all when every index of the chunk is in (a full chunk). Chunks without members
// are not there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"

namespace allot {

inline constexpr std::uint32_t kPageTasks = 32'768;  // of a set's chunk and of a job's page alike
inline std::uint32_t PageOf(TaskIndex index) { return index / kPageTasks; }

class TaskSet {
 public:
  // True if it was not there before.
  bool Add(TaskIndex index);
  // True if it was there.
  bool Remove(TaskIndex index);
  bool Contains(TaskIndex index) const;
  std::uint64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The lowest member at or after `from`.
  std::optional<TaskIndex> FirstFrom(TaskIndex from) const;
  // In increasing order.
  void ForEach(const std::function<void(TaskIndex)>& visit) const;
  void ForEachInPage(std::uint32_t page, const std::function<void(TaskIndex)>& visit) const;
  std::uint32_t SizeOfPage(std::uint32_t page) const;
  // The pages that have members, in increasing order.
  std::vector<std::uint32_t> Pages() const;
  // Takes the members of one page out of the set, into `out` (a set of its own). Costs the page, not the set.
  void TakePage(std::uint32_t page, TaskSet& out);
  // Adds all members of `other`.
  void Merge(const TaskSet& other);
  void Clear();
  // Heap bytes in use, allocator's overhead not counted.
  std::size_t MemoryBytes() const;

  // One page's members as bytes, and back; for records. ParsePage fails on bytes that SavePage did not write.
  void SavePage(std::uint32_t page, ByteWriter& out) const;
  bool LoadPage(std::uint32_t page, ByteReader& in);

 private:
  // TO BE DESIGNED by the implementation.
  std::uint64_t size_ = 0;
};

}  // namespace allot
