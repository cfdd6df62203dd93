// SPDX-License-Identifier: Apache-2.0
// All limits of a queue, each in a slot, and what matches what. The other parts of the table (limits/limit_table.h) see
// limits through this: whether one denies a cost, and from when on it would not.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "limits/limit.h"
#include "limits/limit_matcher.h"
#include "limits/limit_state.h"

namespace allot {

struct LimitOptions {
  std::size_t max_limits = bounds::kMaxLimits;
  Duration max_expiration = bounds::kDefaultMaxLimitExpiration;
  Duration ban_window = bounds::kDefaultBanWindow;  // see LimitLooks::Exclusions()
  Duration summary_interval = std::chrono::seconds(60);
};

class LimitSlots {
 public:
  using Slot = LimitMatcher::Slot;
  using Charge = LimitMatcher::Charge;

  explicit LimitSlots(const LimitOptions& options) : options_(options) {}
  LimitSlots(const LimitSlots&) = delete;
  LimitSlots& operator=(const LimitSlots&) = delete;

  LimitOptions& options() { return options_; }
  const LimitOptions& options() const { return options_; }
  LimitMatcher& matcher() { return matcher_; }
  const LimitMatcher& matcher() const { return matcher_; }

  // An empty one.
  Slot Add();
  // Puts a limit there, or nothing: a slot without one may be given again.
  LimitState& Put(Slot slot, std::unique_ptr<LimitState> limit);
  void Free(Slot slot);
  // To another slot: a shell with nothing but `uuid` and terms stays behind. Gives the slot that it has now.
  Slot Move(Slot slot, Instant now);

  // How many are not gone.
  std::size_t live() const { return by_serial_.size(); }
  // Slots are below this.
  std::size_t end() const { return limits_.size(); }
  // Null: free.
  LimitState* Find(Slot slot) const { return limits_[slot].get(); }
  // REQUIRES: there is one.
  LimitState& operator[](Slot slot) const { return *limits_[slot]; }
  // Of those that are not gone; null if there is none.
  const Slot* FindSerial(std::uint64_t serial) const;
  // It is gone: what still waits for it is found by its slot alone.
  void Retire(Slot slot);
  // The limit that a charge is for; null if that is gone, or matches otherwise by now.
  LimitState* Of(const Charge& charge) const {
    LimitState* limit = limits_[charge.slot].get();
    return limit != nullptr && limit->version == charge.version ? limit : nullptr;
  }
  // With f(slot, limit), those that are not gone.
  template <typename F>
  void ForEach(F f) const {
    for (Slot slot = 0; slot < limits_.size(); ++slot) {
      if (limits_[slot] && !limits_[slot]->gone()) f(slot, *limits_[slot]);
    }
  }

  // Would the bucket deny it, monitor or not?
  static bool Lacks(const LimitState& limit, Tokens cost, Instant now) {
    // A count of 0 stops whatever it matches, also what costs nothing.
    return limit.bucket.terms().count == Tokens{} || !limit.bucket.CanPay(cost, now);
  }
  static bool Denies(const LimitState& limit, Tokens cost, Instant now) {
    return !limit.spec.monitor && Lacks(limit, cost, now);
  }
  // None: never, as things are.
  static std::optional<Instant> PayableAt(const LimitState& limit, Tokens cost, Instant now);
  // Of those that deny, the one that does so longest.
  struct Latest {
    const Charge* charge = nullptr;
    std::optional<Instant> at;
  };
  Latest LatestDenying(std::span<const Charge> charges, Instant now) const;

 private:
  LimitOptions options_;
  LimitMatcher matcher_;
  std::vector<std::unique_ptr<LimitState>> limits_;  // by slot; null: free
  std::vector<Slot> free_;
  std::map<std::uint64_t, Slot> by_serial_;  // limits that are not gone
  std::uint64_t next_serial_ = 1;
};

}  // namespace allot
