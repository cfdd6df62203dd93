// SPDX-License-Identifier: Apache-2.0
// The one decision: which worker gets which task next. One engine per queue.
//
// A deterministic state machine: no clock, no threads, no I/O, no chance of its own. Commands go in with the time,
// effects come out. The same commands at the same times with the same options give the same effects, to the byte.
//
// Use:        call commands, then Take() what follows from them as one batch, store its events under the position
//             that it names, and let everything else in it leave when they are durable. Call Tick() at NextWake(), or
//             sooner. Now and then store what records().Fold() gives, in order.
// Start:      what records() says, before any other command.
// Threading:  confined to the queue's engine thread.
// Invariants: at most one live lease per task; a lease serial is never reused; counts of jobs and tasks are exact.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "engine/commands/job_commands.h"
#include "engine/commands/limit_commands.h"
#include "engine/commands/queue_commands.h"
#include "engine/commands/record_commands.h"
#include "engine/commands/worker_commands.h"
#include "engine/looks/follow_looks.h"
#include "engine/looks/looks.h"
#include "engine/looks/prepared_looks.h"
#include "engine/types.h"

namespace allot {

struct EngineParts;

class Engine {
 public:
  explicit Engine(const EngineOptions& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // --- Commands, by what they are about.
  JobCommands& jobs() { return jobs_; }
  WorkerCommands& workers() { return workers_; }
  LimitCommands& limits() { return limits_; }
  QueueCommands& queue() { return queue_; }
  RecordCommands& records() { return records_; }

  // --- Time.

  // Does what is due: schedules, retries, expired leases, timeouts, waiting pulls, retention, and a bounded piece of
  // any larger work. After a bounded amount it stops; NextWake() is then at once.
  void Tick(const Now& now);
  // When Tick() has something to do; none if nothing is pending.
  std::optional<Instant> NextWake(const Now& now) const;

  // --- What follows.

  // The effects since the last Take(), and the position that their events belong to. Positions increase by one for each
  // Take() with events.
  std::pair<Position, Effects> Take();
  // True if Take() would give something.
  bool HasEffects() const;

  // --- For those who look.
  const Looks& looks() const { return looks_; }
  PreparedLooks& prepared_looks() { return prepared_looks_; }
  const FollowLooks& follow_looks() const { return follow_looks_; }

 private:
  friend class EngineCheck;  // tests look inside

  const std::unique_ptr<EngineParts> parts_;
  EngineParts& p_;
  JobCommands jobs_;
  WorkerCommands workers_;
  LimitCommands limits_;
  QueueCommands queue_;
  RecordCommands records_;
  const Looks looks_;
  PreparedLooks prepared_looks_;
  const FollowLooks follow_looks_;
};

}  // namespace allot
