// SPDX-License-Identifier: Apache-2.0
// What leaves the engine thread for network threads, once what it says is durable.
#pragma once

#include <utility>
#include <vector>

#include "server/queue/closure.h"

namespace allot {

// A thread that closures can be sent to.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs them there, in order, soon. From any thread. Empties `closures`.
  virtual void Post(std::vector<Closure>& closures) = 0;
  void Post(Closure closure) {
    std::vector<Closure> one;
    one.push_back(std::move(closure));
    Post(one);
  }
};

struct OutMessage {
  Executor* to;
  Closure deliver;
};
using Outbox = std::vector<OutMessage>;

// Posts all messages, with one call for each executor.
void Release(Outbox& outbox);

}  // namespace allot
