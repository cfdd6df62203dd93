// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include "engine/parts.h"

namespace allot {

Engine::Engine(const EngineOptions& options)
    : parts_(std::make_unique<EngineParts>(options)),
      p_(*parts_),
      jobs_(p_),
      workers_(p_),
      limits_(p_),
      queue_(p_),
      records_(p_),
      looks_(p_),
      prepared_looks_(p_),
      follow_looks_(p_) {}

Engine::~Engine() = default;

bool Engine::HasEffects() const { return !p_.journal.effects().empty(); }

std::pair<Position, Effects> Engine::Take() {
  for (const JobId id : p_.journal.effects().progressed) {
    if (EngineJob* job = p_.jobs.Find(id)) job->progressed = false;
  }
  return p_.journal.Take();
}

void Engine::Tick(const Now& now) {
  p_.Begin(now);
  TickBudget budget;
  p_.ForEachStage([&](auto& stage) { stage.Tick(budget); });
  p_.End();
  p_.pace.commands = 0;
}

std::optional<Instant> Engine::NextWake(const Now& now) const {
  NextTick next(p_.clock, now);
  std::as_const(p_).ForEachStage([&](const auto& stage) { stage.AddWakes(next); });
  // Opened by a look at something else, or by a command that was refused.
  if (!p_.wakes.opened.empty() || !p_.wakes.kinds.empty()) next.AtOnce();
  return next.value();
}

}  // namespace allot
