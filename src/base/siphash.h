// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 with a 128-bit key: short keyed hashes that strangers cannot make up. Inline because a grant computes
// one.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace allot {

struct SipKey {
  std::uint64_t k0 = 0;
  std::uint64_t k1 = 0;
};

// The hash of whole 64-bit words, each taken as its eight little-endian bytes.
inline std::uint64_t SipHash(const SipKey& key, std::span<const std::uint64_t> words) {
  std::uint64_t v0 = key.k0 ^ 0x736f6d6570736575ull;
  std::uint64_t v1 = key.k1 ^ 0x646f72616e646f6dull;
  std::uint64_t v2 = key.k0 ^ 0x6c7967656e657261ull;
  std::uint64_t v3 = key.k1 ^ 0x7465646279746573ull;
  const auto round = [&]() __attribute__((always_inline)) {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  };
  for (const std::uint64_t m : words) {
    v3 ^= m;
    round();
    round();
    v0 ^= m;
  }
  const std::uint64_t last = static_cast<std::uint64_t>(words.size() * 8) << 56;
  v3 ^= last;
  round();
  round();
  v0 ^= last;
  v2 ^= 0xff;
  round();
  round();
  round();
  round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace allot
