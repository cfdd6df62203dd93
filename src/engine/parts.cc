// SPDX-License-Identifier: Apache-2.0
#include "engine/parts.h"

namespace allot {
namespace {

LimitOptions LimitsOf(const EngineOptions& options) {
  LimitOptions limits;
  limits.max_expiration = options.max_limit_expiration;
  limits.ban_window = options.limit_ban_window;
  return limits;
}

}  // namespace

EngineParts::EngineParts(const EngineOptions& given)
    : options(given),
      rng(given.seed),
      limits(LimitsOf(given)),
      blocked(classes, reasons, orders, limits),
      leases(given.key),
      dispatcher(orders, classes, rng) {
  budget.Set(options.memory_budget);
  if (options.policy) orders.SetPolicy(options.policy);
  orders.SetWeights({options.weights.begin(), options.weights.end()});
  users.SetWeights(options.weights);
  dispatcher.SetOptions(options.dispatch);
  // `priority` is always there.
  orders.Use(DefaultStrategy());
  orders.builder().Begin();
  orders.builder().Finish();
  orders.builder().TakeReady();
}

void EngineParts::Begin(const Now& now) {
  starts.Begin();
  if (!clock.begun) {
    clock.begun = true;
    clock.boot = clock.now = now;
    clock.time = now.mono;
    classes.BeginCommand(ToMillis(clock.now.wall) / 1000);
    dispatcher.BeginCommand();
    return;
  }
  const Instant mono = std::max(now.mono, clock.now.mono);
  const Duration step = mono - clock.now.mono;
  // While anyone is registered a tick comes every kTickEvery. One that is much later means that the server stood still,
  // not that its workers did: that time does not count.
  if (!workers.empty() && step > kTickEvery + options.late_tick) clock.stalled += step - kTickEvery;
  clock.now = Now{mono, now.wall};
  clock.time = mono - clock.stalled;
  pace.works = 0;
  ForEachStage([this](const auto& stage) { pace.works += stage.works(); });
  classes.BeginCommand(ToMillis(clock.now.wall) / 1000);
  orders.updates().BeginCommand();
  dispatcher.BeginCommand();
  receipts.BeginCommand();
  wakes.found_nothing.clear();
  limiting.OpenPayable();
}

void EngineParts::End() {
  std::size_t left = pace.Part(kSmallBudget);
  ForEachStage([&](auto& stage) { stage.AfterCommand(left); });
  starts.WakeWaiting();
}

}  // namespace allot
