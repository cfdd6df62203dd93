// SPDX-License-Identifier: Apache-2.0
#include "server/ops/memory_quota.h"

#include <unistd.h>

#include <fstream>
#include <string>

namespace allot {
namespace {

// A file with one number; `max`, or none, is no bound.
std::uint64_t BoundIn(const std::string& file) {
  std::ifstream in(file);
  std::uint64_t bytes = 0;
  return in >> bytes && bytes > 0 ? bytes : UINT64_MAX;
}

}  // namespace

std::uint64_t MachineMemory() {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  std::uint64_t bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  // Version 2: one line `0::/path`; a bound of any group above counts as well.
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.rfind("0::/", 0) != 0) continue;
    for (std::string path = line.substr(3); !path.empty();) {
      bytes = std::min(bytes, BoundIn("/sys/fs/cgroup" + path + (path.back() == '/' ? "" : "/") + "memory.max"));
      const std::size_t slash = path.rfind('/');
      path.resize(slash == 0 && path.size() > 1 ? 1 : slash);
    }
  }
  return std::min(bytes, BoundIn("/sys/fs/cgroup/memory/memory.limit_in_bytes"));  // version 1
}

}  // namespace allot
