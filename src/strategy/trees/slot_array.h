// SPDX-License-Identifier: Apache-2.0
// An array that grows page by page: nothing that it holds ever moves, and no single step is long.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace allot {

template <typename T>
class SlotArray {
 public:
  // Makes it, with all before it, where it is not there.
  T& Make(std::size_t at) {
    while (pages_.size() <= at / kPage) pages_.push_back(std::make_unique<T[]>(kPage));
    return (*this)[at];
  }
  // REQUIRES: was made.
  T& operator[](std::size_t at) { return pages_[at / kPage][at % kPage]; }
  const T& operator[](std::size_t at) const { return pages_[at / kPage][at % kPage]; }
  // Null where it was not made.
  const T* Find(std::size_t at) const { return at / kPage < pages_.size() ? &(*this)[at] : nullptr; }
  T* Find(std::size_t at) { return at / kPage < pages_.size() ? &(*this)[at] : nullptr; }

  // Throws the last page away; false if there was none.
  bool DropPage() {
    if (pages_.empty()) return false;
    pages_.pop_back();
    return true;
  }
  static constexpr std::size_t kPageBytes = 512 * sizeof(T);
  std::size_t MemoryBytes() const { return pages_.size() * kPage * sizeof(T) + pages_.capacity() * sizeof(pages_[0]); }

 private:
  static constexpr std::size_t kPage = kPageBytes / sizeof(T);
  std::vector<std::unique_ptr<T[]>> pages_;
};

}  // namespace allot
