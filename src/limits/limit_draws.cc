// SPDX-License-Identifier: Apache-2.0
// The starts' part of LimitTable: draws and refunds.
#include <algorithm>
#include <utility>

#include "limits/limit_table.h"

namespace allot {

LimitTable::Outcome LimitTable::Draw(GroupId group, WorkerHandle worker, std::string_view user, const Now& now) {
  const std::span<const Charge> charges = limits_.matcher().Charges(group);
  std::span<const Charge> pair_charges;
  std::optional<LimitProfileId> profile;
  if (!limits_.matcher().Terms(group).empty()) {
    profile = waits_.ProfileOf(worker, now);
    pair_charges = limits_.matcher().PairCharges(group, *profile);
  }
  const auto denies = [&](const Charge& charge) {
    const LimitState* limit = limits_.Of(charge);
    return limit != nullptr && LimitSlots::Denies(*limit, charge.cost, now.mono);
  };
  if (std::any_of(charges.begin(), charges.end(), denies) ||
      std::any_of(pair_charges.begin(), pair_charges.end(), denies)) {
    return Deny(group, profile, charges, pair_charges, user, now);
  }
  Outcome outcome;
  for (const std::span<const Charge> some : {charges, pair_charges}) {
    for (const Charge& charge : some) {
      LimitState* limit = limits_.Of(charge);
      if (limit == nullptr) continue;
      if (limit->spec.monitor && LimitSlots::Lacks(*limit, charge.cost, now.mono)) {
        // It would have been blocked, and taken nothing.
        ++limit->counts.skipped;
        continue;
      }
      const Bucket::Taking taking = limit->bucket.Draw(charge.cost, now.mono);
      ++limit->allowed;
      limit->cost_allowed += taking.amount.number();
      outcome.drawn.push_back({limit->serial, taking});
    }
  }
  return outcome;
}

bool LimitTable::Probe(GroupId group, WorkerHandle worker, const Now& now) {
  if (looks_.CanStart(group, worker, now)) return true;
  std::optional<LimitProfileId> profile;
  std::span<const Charge> pair_charges;
  if (!limits_.matcher().Terms(group).empty()) {
    profile = waits_.ProfileOf(worker, now);
    pair_charges = limits_.matcher().PairCharges(group, *profile);
  }
  Deny(group, profile, limits_.matcher().Charges(group), pair_charges, std::nullopt, now);
  return false;
}

void LimitTable::Refund(const Drawn& drawn, const Now& now) {
  for (const Part& part : drawn) {
    const Slot* slot = limits_.FindSerial(part.serial);
    if (slot == nullptr) continue;
    LimitState& limit = limits_[*slot];
    limit.bucket.Refund(part.taking, now.mono);
    --limit.allowed;
    limit.cost_allowed = std::max(0.0, limit.cost_allowed - part.taking.amount.number());
    waits_.Arm(*slot, now.mono);
  }
}

LimitTable::Outcome LimitTable::Deny(GroupId group, std::optional<LimitProfileId> profile,
                                     std::span<const Charge> charges, std::span<const Charge> pair_charges,
                                     std::optional<std::string_view> user, const Now& now) {
  Outcome outcome;
  outcome.denial = std::make_unique<Denial>();
  Denial& denial = *outcome.denial;
  const LimitSlots::Latest of_group = limits_.LatestDenying(charges, now.mono);
  const LimitSlots::Latest of_pair = limits_.LatestDenying(pair_charges, now.mono);
  denial.any_worker = of_group.charge != nullptr;
  denial.payable_at = denial.any_worker ? of_group.at : of_pair.at;
  if (denial.any_worker && of_pair.charge != nullptr) {
    denial.payable_at = of_group.at && of_pair.at ? std::optional(std::max(*of_group.at, *of_pair.at)) : std::nullopt;
  }
  const LimitWaitKey key{denial.any_worker ? kAnyProfile : *profile, group};
  const auto [waiter, fresh] = waits_.Block(key, denial.any_worker ? *of_group.charge : *of_pair.charge, now.mono);
  if (user) users_.Stamp(waiter, now);
  for (const std::span<const Charge> some : {charges, pair_charges}) {
    for (const Charge& charge : some) {
      LimitState* limit = limits_.Of(charge);
      if (limit == nullptr || !LimitSlots::Denies(*limit, charge.cost, now.mono)) continue;
      denial.limits.push_back(charge.slot);
      if (fresh) ++limit->counts.skipped;
      if (user) users_.NoteDenied(*limit, waiter, waiter.slot == charge.slot, *user, now);
    }
  }
  return outcome;
}

}  // namespace allot
