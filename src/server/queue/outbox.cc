// SPDX-License-Identifier: Apache-2.0
#include "server/queue/outbox.h"

#include <algorithm>

namespace allot {

void Release(Outbox& outbox) {
  if (outbox.empty()) return;
  std::vector<Closure> closures;
  // There are few homes: one pass each. The first one takes most.
  for (std::size_t begin = 0; begin < outbox.size(); ++begin) {
    Executor* const executor = outbox[begin].to;
    if (executor == nullptr) continue;
    closures.reserve(outbox.size() - begin);
    for (std::size_t i = begin; i < outbox.size(); ++i) {
      if (outbox[i].to != executor) continue;
      closures.push_back(std::move(outbox[i].deliver));
      outbox[i].to = nullptr;
    }
    executor->Post(closures);
    closures.clear();
  }
  outbox.clear();
}

}  // namespace allot
