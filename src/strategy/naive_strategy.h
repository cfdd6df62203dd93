// Strategies as plainly as they can be written: every question is answered by looking at all jobs. For tests.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "strategy/pick_job.h"
#include "strategy/strategy.h"
#include "strategy/weights.h"

namespace allot::testing {

class NaiveStrategy {
 public:
  using Jobs = std::vector<const PickJob*>;

  // All jobs that are known, whether they wait or not.
  Jobs all;
  const JobKeys* keys = nullptr;
  std::uint64_t slots = 0;
  std::map<std::string, std::uint32_t> weights;  // `user.acme`
  const Strategy* worker = nullptr;              // what `worker` stands for
  std::function<double(const PickJob&)> rank;    // of the asking worker

  // The jobs of which any may come first: one, or several where it is left to chance; then `random` is true.
  Jobs Pick(const Strategy& strategy, const Jobs& among, bool& random) const {
    random = false;
    switch (strategy.kind) {
      case Strategy::Kind::kRandom:
        random = true;
        return among;
      case Strategy::Kind::kOldest:
        return Best(among, [](const PickJob& a, const PickJob& b) { return a.id() < b.id(); });
      case Strategy::Kind::kNewest:
        return Best(among, [](const PickJob& a, const PickJob& b) { return a.id() > b.id(); });
      case Strategy::Kind::kPriority:
        return Best(among, [](const PickJob& a, const PickJob& b) { return a.key < b.key; });
      case Strategy::Kind::kLeastRecent:
        return Best(among, [](const PickJob& a, const PickJob& b) {
          return a.Recent() != b.Recent() ? a.Recent() < b.Recent() : a.id() < b.id();
        });
      case Strategy::Kind::kSelectOnly: {
        const auto has = [&](const PickJob& job) {
          if (strategy.key.kind == StrategyKey::Kind::kTag) {
            return keys->HasTag(job, std::get<std::string>(strategy.value));
          }
          return keys->Get(job, strategy.key) == TextOf(strategy.value);
        };
        return Pick(*strategy.inner[0], Where(among, has), random);
      }
      case Strategy::Kind::kPreferDistinct: {
        const auto level = [&](const PickJob& job) {
          return keys->Get(job, strategy.key) ? LeasedLike(job, strategy.key) / strategy.max : 0;
        };
        return FirstGroup(strategy, among, random, [&](const PickJob& job) { return level(job); });
      }
      case Strategy::Kind::kMaxSimultaneous: {
        const std::uint64_t max =
            strategy.percent ? std::max<std::uint64_t>(1, slots * strategy.max / 100) : strategy.max;
        const auto open = [&](const PickJob& job) {
          return !keys->Get(job, strategy.key) || LeasedLike(job, strategy.key) < max;
        };
        return Pick(*strategy.inner[0], Where(among, open), random);
      }
      case Strategy::Kind::kFair:
        return FirstGroup(strategy, among, random, [&](const PickJob& job) { return ShareOf(job, strategy.key); });
      case Strategy::Kind::kOrElse:
        for (const StrategyPtr& inner : strategy.inner) {
          Jobs found = Pick(*inner, among, random);
          if (!found.empty()) return found;
        }
        return {};
      case Strategy::Kind::kWorker: {
        std::map<double, Jobs, std::greater<>> tiers;
        for (const PickJob* job : among) tiers[rank ? rank(*job) : 0].push_back(job);
        for (const auto& [unused, tier] : tiers) {
          Jobs found = Pick(*worker, tier, random);
          if (!found.empty()) return found;
        }
        return {};
      }
    }
    return {};
  }

 private:
  template <typename Less>
  static Jobs Best(const Jobs& among, Less less) {
    const auto best =
        std::min_element(among.begin(), among.end(), [&](const PickJob* a, const PickJob* b) { return less(*a, *b); });
    return best == among.end() ? Jobs{} : Jobs{*best};
  }
  template <typename F>
  static Jobs Where(const Jobs& among, F f) {
    Jobs some;
    for (const PickJob* job : among) {
      if (f(*job)) some.push_back(job);
    }
    return some;
  }
  std::uint64_t LeasedLike(const PickJob& job, const StrategyKey& key) const {
    std::uint64_t leased = 0;
    for (const PickJob* other : all) {
      if (keys->Get(*other, key) == keys->Get(job, key)) leased += other->leased;
    }
    return leased;
  }
  struct Share {
    std::uint64_t leased, weight;
    Stamp served;
    std::string name;
    bool operator<(const Share& other) const {
      if (leased * other.weight != other.leased * weight) return leased * other.weight < other.leased * weight;
      if (served != other.served) return served < other.served;
      return name < other.name;
    }
  };
  Share ShareOf(const PickJob& job, const StrategyKey& key) const {
    const GroupText text = keys->Get(job, key);
    Share share{LeasedLike(job, key), 1, {}, text.value_or("")};
    if (text) {
      const auto found = weights.find(WeightName(key, text->substr(1)));
      if (found != weights.end()) share.weight = found->second;
    }
    const PickJob* first = nullptr;
    for (const PickJob* other : all) {
      if (keys->Get(*other, key) != text) continue;
      if (other->picked.serial > share.served.serial) share.served = other->picked;
      if (other->open && (first == nullptr || other->id() < first->id())) first = other;
    }
    if (share.served.serial == 0 && first != nullptr) share.served = Stamp{ToMillis(first->submitted_at), 0};
    return share;
  }
  template <typename F>
  Jobs FirstGroup(const Strategy& strategy, const Jobs& among, bool& random, F group_of) const {
    std::map<decltype(group_of(*among[0])), Jobs> groups;
    for (const PickJob* job : among) groups[group_of(*job)].push_back(job);
    for (const auto& [unused, group] : groups) {
      Jobs found = Pick(*strategy.inner[0], group, random);
      if (!found.empty()) return found;
    }
    return {};
  }
};

}  // namespace allot::testing
