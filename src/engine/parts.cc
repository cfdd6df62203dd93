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
  orders.BeginBuild();
  orders.Built();
  orders.TakeReady();
}

}  // namespace allot
