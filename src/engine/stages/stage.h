// SPDX-License-Identifier: Apache-2.0
// What goes on in an engine beside commands: larger work in small steps, and what is due.
//
// The engine has a list of its stages, in the order in which they come (parts.h). Commands, ticks and the time of the
// next tick are loops over it.
#pragma once

#include <cstddef>

#include "engine/clock.h"
#include "engine/pace.h"

namespace allot {

struct EngineJob;

// How much larger work is under way: what a command, or a tick, does for each is shared out. What is due in a tick is
// not.
struct WorkPace {
  std::size_t works = 0;     // at the beginning of this command
  std::size_t commands = 0;  // since the last tick
  std::size_t Part(std::size_t budget) const { return works > 1 ? budget / works : budget; }
};

// What a tick may do. Each step takes what it did from the budget.
struct TickBudget {
  std::size_t due = kTickBudget;  // for what is due, one stage after the other
  bool through = true;            // no stage before has left something that is due
};

class EngineStage {
 public:
  virtual ~EngineStage() = default;
  // The job may start from now on, or no more (JobFlow, which is the one place that opens and closes).
  virtual void Open(EngineJob&) {}
  virtual void Close(EngineJob&) {}
  // A small step after each command, which others share `budget` with.
  virtual void AfterCommand(std::size_t&) {}
  virtual void Tick(TickBudget&) {}
  virtual void AddWakes(NextTick&) const {}
  // How many larger works it has under way.
  virtual std::size_t works() const { return 0; }
  // Does every command have to do some of them?
  virtual bool busy() const { return works() > 0; }
};

}  // namespace allot
