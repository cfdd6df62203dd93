// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"
#include "expr/lexer.h"
#include "strategy/blocks/block.h"
#include "strategy/strategy_rules.h"

namespace allot {

bool operator==(const StrategyKey& a, const StrategyKey& b) {
  return a.kind == b.kind && (a.kind != StrategyKey::Kind::kMeta || expr::SameName(a.name, b.name));
}

bool operator==(const Strategy& a, const Strategy& b) {
  if (a.kind != b.kind || a.inner.size() != b.inner.size()) return false;
  if (a.keyed() && !(a.key == b.key)) return false;
  const Block::Traits& traits = BlockOf(a).traits();
  if (traits.value && a.value != b.value) return false;
  if (traits.max != Block::Traits::Max::kNone && (a.max != b.max || a.percent != b.percent)) return false;
  return std::equal(a.inner.begin(), a.inner.end(), b.inner.begin(),
                    [](const StrategyPtr& x, const StrategyPtr& y) { return x == y || *x == *y; });
}

StrategyKey MakeStrategyKey(std::string_view name) {
  for (std::size_t i = 1; i < std::size(strategy_rules::kBuiltInKeys); ++i) {
    // Without regard to case, as meta keys are: `User` must not be another key than `user`.
    const std::string_view key = strategy_rules::kBuiltInKeys[i];
    if (expr::SameName(name, key)) return {static_cast<StrategyKey::Kind>(i), std::string(key)};
  }
  return {StrategyKey::Kind::kMeta, std::string(name)};
}

namespace {

StrategyPtr Leaf(Strategy::Kind kind) {
  Strategy leaf;
  leaf.kind = kind;
  return std::make_shared<const Strategy>(std::move(leaf));
}

StrategyPtr MakeFair(StrategyPtr of_the_rest) {
  Strategy sync;
  sync.kind = Strategy::Kind::kSelectOnly;
  sync.key = MakeStrategyKey("async");
  sync.value = false;
  sync.inner = {Leaf(Strategy::Kind::kLeastRecent)};
  Strategy either;
  either.kind = Strategy::Kind::kOrElse;
  either.inner = {std::make_shared<const Strategy>(std::move(sync)), std::move(of_the_rest)};
  Strategy fair;
  fair.kind = Strategy::Kind::kFair;
  fair.key = MakeStrategyKey("user");
  fair.inner = {std::make_shared<const Strategy>(std::move(either))};
  return std::make_shared<const Strategy>(std::move(fair));
}

// A name stands for the very object. REQUIRES: within the bounds.
StrategyPtr WithFairPolicy(const StrategyPtr& strategy) {
  if (strategy == FairStrategy()) return FairPolicy();
  Strategy replaced = *strategy;  // what is inside is shared
  bool changed = false;
  for (StrategyPtr& inner : replaced.inner) {
    if (inner == nullptr) continue;
    StrategyPtr other = WithFairPolicy(inner);
    changed |= other != inner;
    inner = std::move(other);
  }
  return changed ? std::make_shared<const Strategy>(std::move(replaced)) : strategy;
}

}  // namespace

StrategyPtr Compose(const StrategyPtr& policy, const StrategyPtr& worker) {
  CHECK(policy != nullptr && worker != nullptr);
  if (policy->kind == Strategy::Kind::kWorker) return worker;
  for (std::size_t i = 0; i < policy->inner.size(); ++i) {
    StrategyPtr inner = Compose(policy->inner[i], worker);
    if (inner == policy->inner[i]) continue;
    Strategy composed = *policy;  // what is inside is shared
    composed.inner[i] = std::move(inner);
    return std::make_shared<const Strategy>(std::move(composed));  // `worker` is there once
  }
  return policy;
}

StrategyPtr WithRoomForWorker(const StrategyPtr& policy) {
  if (policy == nullptr || strategy_rules::Measure(*policy).workers > 0) return policy;
  StrategyPtr replaced = WithFairPolicy(policy);
  return strategy_rules::Measure(*replaced).workers == 1 ? replaced : policy;
}

StrategyPtr DefaultStrategy() {
  static const StrategyPtr strategy = Leaf(Strategy::Kind::kPriority);
  return strategy;
}

StrategyPtr DefaultPolicy() {
  static const StrategyPtr policy = Leaf(Strategy::Kind::kWorker);
  return policy;
}

StrategyPtr FairStrategy() {
  static const StrategyPtr strategy = MakeFair(Leaf(Strategy::Kind::kLeastRecent));
  return strategy;
}

StrategyPtr FairPolicy() {
  static const StrategyPtr policy = MakeFair(Leaf(Strategy::Kind::kWorker));
  return policy;
}

}  // namespace allot
