// SPDX-License-Identifier: Apache-2.0
// The tasks of one page as bits, and how a set of them is written into records.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"

namespace allot {

inline constexpr std::uint32_t kPageTasks = 32'768;  // of a set's chunk and of a job's page alike
constexpr std::uint32_t PageOf(TaskIndex index) { return index / kPageTasks; }

inline constexpr std::uint32_t kPageWords = kPageTasks / 64;
// Bit i of word w is the page's task 64 w + i.
using PageBits = std::array<std::uint64_t, kPageWords>;

inline bool TestBit(const std::uint64_t* words, std::uint32_t i) { return (words[i / 64] >> (i % 64)) & 1; }
inline void SetBit(std::uint64_t* words, std::uint32_t i) { words[i / 64] |= std::uint64_t{1} << (i % 64); }
inline void ClearBit(std::uint64_t* words, std::uint32_t i) { words[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
// Sets the first n bits.
void SetPrefix(std::uint64_t* words, std::uint32_t n);
std::uint32_t CountBits(const std::uint64_t* words, std::uint32_t n_words);
// Of the bits from `from` to before `to`.
std::uint32_t CountBitsIn(const std::uint64_t* words, std::uint32_t from, std::uint32_t to);
// The lowest bit at or after `from` that is set, or clear. Nothing found: 64 n_words.
std::uint32_t FirstSet(const std::uint64_t* words, std::uint32_t n_words, std::uint32_t from);
std::uint32_t FirstClear(const std::uint64_t* words, std::uint32_t n_words, std::uint32_t from);
// Calls visit(bit) for every set bit, in increasing order.
template <typename Visit>
void ForEachSet(const std::uint64_t* words, std::uint32_t n_words, Visit&& visit) {
  for (std::uint32_t w = 0; w < n_words; ++w) {
    for (std::uint64_t rest = words[w]; rest != 0; rest &= rest - 1) {
      visit(w * 64 + static_cast<std::uint32_t>(std::countr_zero(rest)));
    }
  }
}

// Writes the set as runs, as gaps between members or as a bitmap, whichever is shortest; at most 4 KiB and a few bytes.
// Changing it: the bytes are persisted. Any form that ReadBits knows may be written, so the choice among them is free;
// a new form needs a new number.
void WriteBits(const PageBits& bits, ByteWriter& out);
// Nothing on bytes that are no such set, or that have a member at or beyond `limit`.
std::optional<PageBits> ReadBits(std::uint32_t limit, ByteReader& in);

// Bits, with a bit over each word that says whether it has any, and so on up to one word: the next set bit is found in
// as many steps as there are levels (three for the 131,072 pages of the largest job).
class BitTree {
 public:
  // All `size` bits set.
  explicit BitTree(std::uint32_t size);
  void Set(std::uint32_t i);
  void Clear(std::uint32_t i);
  std::optional<std::uint32_t> FirstFrom(std::uint32_t from) const;
  std::size_t MemoryBytes() const { return words_ * sizeof(std::uint64_t); }

 private:
  static constexpr int kMaxLevels = 4;  // 64^4 bits, 128 times what the largest job needs
  std::uint64_t* Level(int level) const { return bits_.get() + start_[static_cast<std::size_t>(level)]; }

  int levels_ = 0;
  std::uint32_t size_;
  std::uint32_t words_ = 0;
  std::array<std::uint32_t, kMaxLevels> start_{};
  std::unique_ptr<std::uint64_t[]> bits_;
};

}  // namespace allot
