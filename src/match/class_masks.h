// SPDX-License-Identifier: Apache-2.0
// A row of bits for each class. Rows are as long as the longest needs to be, and they become longer before the bits are
// wanted, some with each bit that is new: so not all at once, however many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace allot {

class ClassMasks {
 public:
  std::size_t size() const { return size_; }
  std::size_t words() const { return words_; }

  // One more, without bits.
  void Add() {
    if (size_++ % kRows == 0) parts_.push_back(Part(words_));
  }
  std::span<const std::uint64_t> operator[](std::size_t row) const {
    const Part& part = parts_[row / kRows];
    return {&part.words[row % kRows * part.stride], words_};
  }
  bool Has(std::size_t row, std::size_t bit) const {
    const Part& part = parts_[row / kRows];
    return (part.words[row % kRows * part.stride + bit / 64] >> (bit % 64) & 1) != 0;
  }
  void Set(std::size_t row, std::size_t bit, bool on) {
    Part& part = parts_[row / kRows];
    std::uint64_t& word = part.words[row % kRows * part.stride + bit / 64];
    const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
    word = on ? word | flag : word & ~flag;
  }

  // Makes room for so many bits: called with each that is new. True if words() is another one now.
  bool Widen(std::size_t bits) {
    const std::size_t room = 64 * words_;
    if (2 * bits > room && bits < room) {
      // As many as are left for each bit that is: those that come meanwhile are as narrow as words() says.
      const std::size_t bits_left = room - bits, parts_left = parts_.size() - wide_;
      for (std::size_t some = (parts_left + bits_left - 1) / bits_left; some > 0; --some) {
        parts_[wide_++].Widen(2 * words_);
      }
    }
    if (bits <= room) return false;
    words_ *= 2;
    for (; wide_ < parts_.size(); ++wide_) parts_[wide_].Widen(words_);
    wide_ = 0;
    return true;
  }

  std::size_t MemoryBytes() const {
    std::size_t bytes = parts_.capacity() * sizeof(Part);
    for (const Part& part : parts_) bytes += kRows * part.stride * sizeof(std::uint64_t);
    return bytes;
  }

 private:
  static constexpr std::size_t kRows = 256;

  struct Part {
    explicit Part(std::size_t width) : stride(width), words(new std::uint64_t[kRows * width]()) {}
    void Widen(std::size_t width) {
      if (width <= stride) return;
      Part wider(width);
      for (std::size_t row = 0; row < kRows; ++row) {
        std::copy_n(&words[row * stride], stride, &wider.words[row * width]);
      }
      *this = std::move(wider);
    }
    std::size_t stride;
    std::unique_ptr<std::uint64_t[]> words;
  };

  std::size_t size_ = 0, words_ = 1;
  std::vector<Part> parts_;
  std::size_t wide_ = 0;  // so many parts have room for twice as many bits
};

}  // namespace allot
