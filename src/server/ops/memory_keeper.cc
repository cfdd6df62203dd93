#include "server/ops/memory_keeper.h"

#include "base/memory_range.h"

namespace allot {

MemoryKeeper::MemoryKeeper() {
  if (g_memory_range.Reserve()) thread_ = std::thread([this] { g_memory_range.Keep(stop_); });
}

void MemoryKeeper::Prepare(std::uint64_t bytes) { g_memory_range.Prepare(bytes); }

MemoryKeeper::~MemoryKeeper() {
  if (!thread_.joinable()) return;
  stop_ = true;
  g_memory_range.Wake();
  thread_.join();
}

}  // namespace allot
