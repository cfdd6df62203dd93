// What a command sees while it runs on a queue's engine thread.
#pragma once

#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "engine/engine.h"
#include "server/closure.h"
#include "server/outbox.h"
#include "store/store.h"

namespace allot {

class WaitTable;
class WorkerTable;

// Threading: the engine thread. Lives for one round.
struct Turn {
  Engine& engine;
  IdAllocator& ids;
  WaitTable& waits;
  WorkerTable& workers;
  Now now{};
  bool stopping = false;   // nothing is handed out, nothing new is taken
  bool disk_full = false;  // nothing new is taken
  Batch batch{};           // payloads and outcomes that go with this round's events
  Outbox outbox{};         // leaves when they are durable
  std::uint32_t events = 0;

  void Send(Home& home, Closure closure) { outbox.push_back({&home, std::move(closure)}); }
};

// Commands run in the order in which they were posted.
using Command = UniqueFunction<void(Turn&)>;

}  // namespace allot
