#include "server/queue/outbox.h"

#include <algorithm>

namespace allot {

void Release(Outbox& outbox) {
  if (outbox.empty()) return;
  std::vector<Closure> closures;
  // There are few homes: one pass each. The first one takes most.
  for (std::size_t begin = 0; begin < outbox.size(); ++begin) {
    Home* const home = outbox[begin].home;
    if (home == nullptr) continue;
    closures.reserve(outbox.size() - begin);
    for (std::size_t i = begin; i < outbox.size(); ++i) {
      if (outbox[i].home != home) continue;
      closures.push_back(std::move(outbox[i].open));
      outbox[i].home = nullptr;
    }
    home->Run(closures);
    closures.clear();
  }
  outbox.clear();
}

}  // namespace allot
