// SPDX-License-Identifier: Apache-2.0
// Checksums of what a queue's files hold: CRC-32, as zlib computes it.
//
// Changing it: sums are in files that must stay readable.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace allot::sqlite {

inline std::uint32_t Checksum(std::string_view bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Of a row: its key, then its blob, so that a whole blob in the wrong place is noticed too. As its column `sum` has it.
inline std::int64_t RowSum(std::initializer_list<std::uint64_t> key, std::string_view blob) {
  std::uint32_t sum = 0;
  for (const std::uint64_t part : key) sum = Checksum({reinterpret_cast<const char*>(&part), sizeof part}, sum);
  return static_cast<std::int32_t>(Checksum(blob, sum));  // signed: four bytes in the file, not six
}

}  // namespace allot::sqlite
