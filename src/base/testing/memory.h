// SPDX-License-Identifier: Apache-2.0
// For tests: what this process has in memory.
#pragma once

#include <cstddef>
#include <cstdio>

namespace allot {

inline std::size_t ResidentBytes() {
  std::size_t pages = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%zu %zu", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return resident * 4096;
}

}  // namespace allot
