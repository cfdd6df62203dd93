#include "server/ops/memory_keeper.h"

#include "base/memory_range.h"

namespace allot {

MemoryKeeper::MemoryKeeper(std::uint64_t ready) {
  if (ready > 0) g_memory_range.Prepare(ready);
  if (g_memory_range.Reserve()) thread_ = std::thread([this] { g_memory_range.Keep(stop_); });
}

MemoryKeeper::~MemoryKeeper() {
  if (!thread_.joinable()) return;
  stop_ = true;
  g_memory_range.Wake();
  thread_.join();
}

}  // namespace allot
