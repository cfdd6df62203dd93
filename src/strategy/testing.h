// SPDX-License-Identifier: Apache-2.0
// Strategies from text, jobs that they can tell apart, and a gate that blocks some of them, for tests.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "strategy/orders.h"
#include "strategy/pick_job.h"

namespace allot::testing {

inline StrategyPtr MustParseStrategy(const std::string& text, bool policy = false, const NamedStrategies& named = {}) {
  const ParsedStrategy parsed = ParseStrategy(text, policy, named);
  EXPECT_NE(parsed.strategy, nullptr) << expr::PointAt("", text, parsed.error);
  return parsed.strategy == nullptr ? DefaultStrategy() : parsed.strategy;
}

inline std::string JsonOf(const Strategy& strategy) {
  std::string out;
  AppendStrategyJson(strategy, out);
  return out;
}

// What jobs with a sample (match/testing.h), `async` and `customer` have under keys; any key of their own is customer.
template <typename Job>
class SampleKeys : public JobKeys {
 public:
  GroupText Get(const PickJob& picked, const StrategyKey& key) const override {
    const auto& job = static_cast<const Job&>(picked);
    switch (key.kind) {
      case StrategyKey::Kind::kUser:
        return "s" + job.sample.user;
      case StrategyKey::Kind::kTag: {
        std::string text = "s";
        for (const std::string& tag : job.sample.tags) text += tag + ",";
        return text;
      }
      case StrategyKey::Kind::kAsync:
        return TextOf(job.async);
      case StrategyKey::Kind::kPriority:
        return job.key.no_priority ? std::nullopt : TextOf(job.key.priority);
      case StrategyKey::Kind::kJob:
        return "s" + std::to_string(job.id().value);
      case StrategyKey::Kind::kMeta:
        return job.customer ? GroupText("s" + *job.customer) : std::nullopt;
    }
    return std::nullopt;
  }
  bool HasTag(const PickJob& picked, const std::string& tag) const override {
    const TagList& tags = static_cast<const Job&>(picked).sample.tags;
    return std::find(tags.begin(), tags.end(), tag) != tags.end();
  }
};

// Blocks some groups for all, and some for single workers.
template <typename Worker>
class SomeGate : public StartGate {
 public:
  static constexpr std::uint32_t kGroups = 4;
  Blocked Ask(std::uint32_t group) override {
    if (blocked_[group]) return Blocked::kEverywhere;
    return blocked_here_[group].contains(worker) ? Blocked::kHere : Blocked::kNo;
  }
  // For all, or for that one.
  void Change(Rng& rng, const Worker& some, Orders& orders) {
    const auto group = static_cast<std::uint32_t>(1 + rng.Below(kGroups - 1));
    if (rng.Below(2) == 0) {
      if (!blocked_here_[group].erase(some)) blocked_here_[group].insert(some);
      return;
    }
    blocked_[group] = !blocked_[group];
    if (!blocked_[group]) orders.groups().Open(group, nullptr);
  }
  bool Any() const {
    for (std::uint32_t group = 1; group < kGroups; ++group) {
      if (blocked_[group] || !blocked_here_[group].empty()) return true;
    }
    return false;
  }
  Worker worker{};  // that asks

 private:
  bool blocked_[kGroups] = {};
  std::set<Worker> blocked_here_[kGroups];
};

}  // namespace allot::testing
