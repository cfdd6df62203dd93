// What leaves the engine thread for network threads, once what it tells is durable.
#pragma once

#include <utility>
#include <vector>

#include "server/queue/closure.h"

namespace allot {

// A thread that closures can be sent to.
class Home {
 public:
  virtual ~Home() = default;
  // Runs them there, in order, soon. From any thread. Empties `closures`.
  virtual void Run(std::vector<Closure>& closures) = 0;
  void Run(Closure closure) {
    std::vector<Closure> one;
    one.push_back(std::move(closure));
    Run(one);
  }
};

struct Parcel {
  Home* home;
  Closure open;
};
using Outbox = std::vector<Parcel>;

// Hands every parcel over, with one handover for each home.
void Release(Outbox& outbox);

}  // namespace allot
