// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_slots.h"

#include <utility>

namespace allot {

LimitSlots::Slot LimitSlots::Add() {
  if (free_.empty()) {
    free_.push_back(static_cast<Slot>(limits_.size()));
    limits_.emplace_back();
  }
  const Slot slot = free_.back();
  free_.pop_back();
  return slot;
}

LimitState& LimitSlots::Put(Slot slot, std::unique_ptr<LimitState> limit) {
  limit->serial = next_serial_++;
  by_serial_.emplace(limit->serial, slot);
  return *(limits_[slot] = std::move(limit));
}

void LimitSlots::Free(Slot slot) {
  limits_[slot] = nullptr;
  free_.push_back(slot);
}

LimitSlots::Slot LimitSlots::Move(Slot slot, Instant now) {
  const Slot next = Add();
  const LimitState& limit = *(limits_[next] = std::move(limits_[slot]));
  limits_[slot] = std::make_unique<LimitState>(limit.uuid, limit.bucket.terms(), now);
  by_serial_[limit.serial] = next;
  return next;
}

const LimitSlots::Slot* LimitSlots::FindSerial(std::uint64_t serial) const {
  const auto found = by_serial_.find(serial);
  return found == by_serial_.end() ? nullptr : &found->second;
}

void LimitSlots::Retire(Slot slot) { by_serial_.erase(limits_[slot]->serial); }

std::optional<Instant> LimitSlots::PayableAt(const LimitState& limit, Tokens cost, Instant now) {
  if (limit.spec.monitor) return now;
  if (limit.bucket.terms().count == Tokens{}) return std::nullopt;
  return limit.bucket.CanPayAt(cost, now);
}

LimitSlots::Latest LimitSlots::LatestDenying(std::span<const Charge> charges, Instant now) const {
  Latest latest;
  for (const Charge& charge : charges) {
    const LimitState* limit = Of(charge);
    if (limit == nullptr || !Denies(*limit, charge.cost, now)) continue;
    const std::optional<Instant> at = PayableAt(*limit, charge.cost, now);
    if (latest.charge == nullptr || (latest.at && (!at || *at > *latest.at))) latest = {&charge, at};
  }
  return latest;
}

}  // namespace allot
