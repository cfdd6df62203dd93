// SPDX-License-Identifier: Apache-2.0
#include "server/ops/memory_keeper.h"

#include <malloc.h>

#include <algorithm>
#include <climits>

#include "base/memory_range.h"

namespace allot {

MemoryKeeper::MemoryKeeper() {
  if (g_memory_range.Reserve()) thread_ = std::thread([this] { g_memory_range.Keep(stop_); });
}

void MemoryKeeper::Prepare(std::uint64_t bytes) {
  g_memory_range.Prepare(bytes);
  // What comes from the C library, as answers do, is kept as well once it was used.
  mallopt(M_TRIM_THRESHOLD, static_cast<int>(std::min<std::uint64_t>(bytes, INT_MAX)));
  mallopt(M_MMAP_THRESHOLD, 16 << 20);
}

MemoryKeeper::~MemoryKeeper() {
  if (!thread_.joinable()) return;
  stop_ = true;
  g_memory_range.Wake();
  thread_.join();
}

}  // namespace allot
