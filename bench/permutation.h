// SPDX-License-Identifier: Apache-2.0
// A random order of 0 … n-1 that needs no memory: a Feistel network over the next power of four, walked until it lands
// below n.
#pragma once

#include <cstdint>

#include "base/rng.h"

namespace allot::bench {

class Permutation {
 public:
  // REQUIRES: 0 < n < 2^62.
  Permutation(std::uint64_t n, std::uint64_t seed) : n_(n), seed_(seed) {
    while ((std::uint64_t{1} << (2 * half_)) < n) ++half_;
  }
  std::uint64_t operator()(std::uint64_t i) const {
    do {
      i = Once(i);
    } while (i >= n_);
    return i;
  }

 private:
  std::uint64_t Once(std::uint64_t i) const {
    const std::uint64_t mask = (std::uint64_t{1} << half_) - 1;
    std::uint64_t left = i >> half_, right = i & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (Rng(right * 4 + round + seed_ * 0x9E3779B97F4A7C15ull).Next() & mask);
      left = right;
      right = next;
    }
    return left << half_ | right;
  }
  std::uint64_t n_, seed_;
  int half_ = 1;
};

}  // namespace allot::bench
