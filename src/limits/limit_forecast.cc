// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_forecast.h"

#include <algorithm>

namespace allot {

LimitForecast::LimitForecast(const LimitTable& table, Duration horizon, const Now& now) {
  limits_.resize(table.slots().end());
  table.slots().ForEach([&](LimitMatcher::Slot slot, const LimitState& limit) {
    if (limit.spec.monitor) return;
    limits_[slot].emplace(Limit{limit.Name(), limit.version, limit.bucket.terms().count == Tokens{},
                                limit.bucket.Within(horizon, now.mono)});
  });
}

LimitForecast::Group LimitForecast::GroupOf(const LimitMatcher& matcher, GroupId id) {
  Group group;
  group.charges = matcher.SharedCharges(id);
  for (const LimitMatcher::Term& term : matcher.Terms(id)) {
    if (!term.expr->Reads(expr::Side::kMachine, expr::Side::kJob)) group.stops.push_back({term.slot, term.version, {}});
  }
  return group;
}

LimitForecast::Limit* LimitForecast::Of(const LimitMatcher::Charge& charge) {
  if (charge.slot >= limits_.size() || !limits_[charge.slot]) return nullptr;
  Limit& limit = *limits_[charge.slot];
  return limit.version == charge.version ? &limit : nullptr;
}

bool LimitForecast::CanTake(const Group& group) {
  const auto denies = [this](const LimitMatcher::Charge& charge) {
    const Limit* limit = Of(charge);
    return limit != nullptr && (limit->stopped || limit->purse.Draws(charge.cost) == 0);
  };
  const auto stops = [this](const LimitMatcher::Charge& charge) {
    const Limit* limit = Of(charge);
    return limit != nullptr && limit->stopped;
  };
  return std::none_of(group.charges->begin(), group.charges->end(), denies) &&
         std::none_of(group.stops.begin(), group.stops.end(), stops);
}

std::uint64_t LimitForecast::Take(const Group& group, std::uint64_t wanted) {
  cut_.clear();
  std::uint64_t starts = wanted;
  const auto cap = [&](const LimitMatcher::Charge& charge, std::uint64_t most) {
    if (most < wanted) cut_.push_back(charge.slot);
    starts = std::min(starts, most);
  };
  for (const LimitMatcher::Charge& charge : *group.charges) {
    if (const Limit* limit = Of(charge)) cap(charge, limit->stopped ? 0 : limit->purse.Draws(charge.cost));
  }
  for (const LimitMatcher::Charge& charge : group.stops) {
    if (const Limit* limit = Of(charge); limit != nullptr && limit->stopped) cap(charge, 0);
  }
  if (starts == 0) return 0;
  for (const LimitMatcher::Charge& charge : *group.charges) {
    if (Limit* limit = Of(charge)) limit->purse.Take(charge.cost, starts);
  }
  return starts;
}

}  // namespace allot
