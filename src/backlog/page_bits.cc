// SPDX-License-Identifier: Apache-2.0
#include "backlog/page_bits.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.h"

namespace allot {

void SetPrefix(std::uint64_t* words, std::uint32_t n) {
  std::fill_n(words, n / 64, ~std::uint64_t{0});
  if (n % 64 != 0) words[n / 64] |= (std::uint64_t{1} << (n % 64)) - 1;
}

std::uint32_t CountBits(const std::uint64_t* words, std::uint32_t n_words) {
  std::uint32_t n = 0;
  for (std::uint32_t w = 0; w < n_words; ++w) n += static_cast<std::uint32_t>(std::popcount(words[w]));
  return n;
}

namespace {

// FirstSet of every word combined with `flip` by exclusive or.
std::uint32_t FirstAfterFlip(const std::uint64_t* words, std::uint32_t n_words, std::uint32_t from,
                             std::uint64_t flip) {
  std::uint32_t w = from / 64;
  if (w >= n_words) return n_words * 64;
  std::uint64_t word = (words[w] ^ flip) & (~std::uint64_t{0} << (from % 64));
  while (word == 0) {
    if (++w == n_words) return n_words * 64;
    word = words[w] ^ flip;
  }
  return w * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
}

}  // namespace

std::uint32_t CountBitsIn(const std::uint64_t* words, std::uint32_t from, std::uint32_t to) {
  if (from >= to) return 0;
  const std::uint32_t first = from / 64, last = (to - 1) / 64;
  const std::uint64_t head = ~std::uint64_t{0} << (from % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (to - 1) % 64);
  if (first == last) return static_cast<std::uint32_t>(std::popcount(words[first] & head & tail));
  return static_cast<std::uint32_t>(std::popcount(words[first] & head) + std::popcount(words[last] & tail)) +
         CountBits(words + first + 1, last - first - 1);
}

std::uint32_t FirstSet(const std::uint64_t* words, std::uint32_t n_words, std::uint32_t from) {
  return FirstAfterFlip(words, n_words, from, 0);
}

std::uint32_t FirstClear(const std::uint64_t* words, std::uint32_t n_words, std::uint32_t from) {
  return FirstAfterFlip(words, n_words, from, ~std::uint64_t{0});
}

namespace {

enum class SetForm : std::uint8_t { kNone = 0, kRuns = 1, kGaps = 2, kBitmap = 3 };

// Each run as the gap before it and its length - 1, of the first `words`: all behind are empty. False once longer than
// `max_bytes`.
bool WriteRuns(const PageBits& bits, std::uint32_t words, std::size_t max_bytes, std::string& bytes) {
  std::string body;
  ByteWriter out(body);
  std::uint32_t runs = 0;
  std::uint32_t end = 0;
  for (std::uint32_t start = FirstSet(bits.data(), words, 0); start < words * 64;
       start = FirstSet(bits.data(), words, end)) {
    out.Varint(start - end);
    end = FirstClear(bits.data(), words, start);
    out.Varint(end - start - 1);
    ++runs;
    if (body.size() > max_bytes) return false;
  }
  ByteWriter(bytes).Varint(runs);
  bytes += body;
  return bytes.size() <= max_bytes;
}

// Each member as the number of others before it, since the last member.
bool WriteGaps(const PageBits& bits, std::uint32_t words, std::size_t max_bytes, std::string& bytes) {
  const std::uint32_t members = CountBits(bits.data(), words);
  if (members > max_bytes) return false;
  ByteWriter out(bytes);
  out.Varint(members);
  std::uint32_t next = 0;
  ForEachSet(bits.data(), words, [&](std::uint32_t i) {
    out.Varint(i - next);
    next = i + 1;
  });
  return bytes.size() <= max_bytes;
}

}  // namespace

void WriteBits(const PageBits& bits, ByteWriter& out) {
  std::uint32_t words = kPageWords;
  while (words > 0 && bits[words - 1] == 0) --words;
  if (words == 0) {
    out.U8(static_cast<std::uint8_t>(SetForm::kNone));
    return;
  }
  const auto* bytes = reinterpret_cast<const char*>(bits.data());
  static_assert(std::endian::native == std::endian::little);
  std::size_t n_bytes = words * 8;
  while (bytes[n_bytes - 1] == 0) --n_bytes;

  std::string runs;
  std::string gaps;
  std::size_t best = n_bytes + 1;  // the bitmap and its length
  SetForm form = SetForm::kBitmap;
  if (WriteRuns(bits, words, best, runs)) {
    form = SetForm::kRuns;
    best = runs.size();
  }
  if (WriteGaps(bits, words, best, gaps) && (form == SetForm::kBitmap || gaps.size() < best)) form = SetForm::kGaps;
  out.U8(static_cast<std::uint8_t>(form));
  switch (form) {
    case SetForm::kRuns:
      out.Raw(runs);
      break;
    case SetForm::kGaps:
      out.Raw(gaps);
      break;
    default:
      out.Text(std::string_view(bytes, n_bytes));
  }
}

std::optional<PageBits> ReadBits(std::uint32_t limit, ByteReader& in) {
  PageBits bits{};
  switch (static_cast<SetForm>(in.U8())) {
    case SetForm::kNone:
      if (!in.ok()) return std::nullopt;
      return bits;
    case SetForm::kRuns: {
      const std::uint64_t runs = in.Varint();
      if (!in.ok() || runs == 0 || runs > kPageTasks) return std::nullopt;
      std::uint32_t next = 0;
      for (std::uint64_t r = 0; r < runs; ++r) {
        const std::uint64_t gap = in.Varint();
        const std::uint64_t more = in.Varint();
        if (!in.ok() || (r > 0 && gap == 0)) return std::nullopt;
        if (gap >= limit - next || more >= limit - next - gap) return std::nullopt;
        const auto start = next + static_cast<std::uint32_t>(gap);
        next = start + static_cast<std::uint32_t>(more) + 1;
        for (std::uint32_t i = start; i < next;) {
          if (i % 64 == 0 && next - i >= 64) {
            bits[i / 64] = ~std::uint64_t{0};
            i += 64;
          } else {
            SetBit(bits.data(), i++);
          }
        }
      }
      return bits;
    }
    case SetForm::kGaps: {
      const std::uint64_t members = in.Varint();
      if (!in.ok() || members == 0 || members > kPageTasks) return std::nullopt;
      std::uint32_t next = 0;
      for (std::uint64_t m = 0; m < members; ++m) {
        const std::uint64_t gap = in.Varint();
        if (!in.ok() || gap >= limit - next) return std::nullopt;
        const auto i = next + static_cast<std::uint32_t>(gap);
        SetBit(bits.data(), i);
        next = i + 1;
      }
      return bits;
    }
    case SetForm::kBitmap: {
      const std::string_view bytes = in.Text();
      if (!in.ok() || bytes.empty() || bytes.size() > sizeof(bits) || bytes.back() == 0) return std::nullopt;
      std::memcpy(bits.data(), bytes.data(), bytes.size());
      if (limit < kPageTasks && FirstSet(bits.data(), kPageWords, limit) < kPageTasks) return std::nullopt;
      return bits;
    }
  }
  return std::nullopt;
}

BitTree::BitTree(std::uint32_t size) : size_(size) {
  std::array<std::uint32_t, kMaxLevels> bits_of{};
  for (std::uint32_t bits = size;; bits = (bits + 63) / 64) {
    CHECK(levels_ < kMaxLevels);
    start_[static_cast<std::size_t>(levels_)] = words_;
    bits_of[static_cast<std::size_t>(levels_)] = bits;
    ++levels_;
    words_ += (bits + 63) / 64;
    if (bits <= 64) break;
  }
  bits_ = std::make_unique<std::uint64_t[]>(words_);
  for (int level = 0; level < levels_; ++level) SetPrefix(Level(level), bits_of[static_cast<std::size_t>(level)]);
}

void BitTree::Set(std::uint32_t i) {
  for (int level = 0; level < levels_; ++level, i /= 64) {
    std::uint64_t* bits = Level(level);
    const bool had = bits[i / 64] != 0;
    SetBit(bits, i);
    if (had) return;  // those above know
  }
}

void BitTree::Clear(std::uint32_t i) {
  for (int level = 0; level < levels_; ++level, i /= 64) {
    std::uint64_t* bits = Level(level);
    ClearBit(bits, i);
    if (bits[i / 64] != 0) return;
  }
}

std::optional<std::uint32_t> BitTree::FirstFrom(std::uint32_t from) const {
  if (from >= size_) return std::nullopt;
  // Up until a word has a bit at or after the place; then down along the first bits.
  std::uint32_t i = from;
  for (int level = 0; level < levels_; ++level) {
    const std::uint32_t w = i / 64;
    const std::uint64_t word = Level(level)[w] & (~std::uint64_t{0} << (i % 64));
    if (word != 0) {
      i = w * 64 + static_cast<std::uint32_t>(std::countr_zero(word));
      while (level > 0) {
        --level;
        i = i * 64 + static_cast<std::uint32_t>(std::countr_zero(Level(level)[i]));
      }
      return i;
    }
    i = w + 1;
    // After the last word of a level there is nothing, and the level above may have no such bit.
    const auto next = static_cast<std::size_t>(level) + 1;
    if (level + 1 < levels_ && i >= start_[next] - start_[next - 1]) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace allot
