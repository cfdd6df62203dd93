// SPDX-License-Identifier: Apache-2.0
// Looks at limits: the part of the table (limits/limit_table.h) for lists, demand, explanations and those who ask
// before they start. Neither counts nor blocks anything.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "limits/limit.h"
#include "limits/limit_slots.h"
#include "limits/limit_users.h"
#include "limits/limit_waits.h"

namespace allot {

class LimitLooks {
 public:
  using Slot = LimitMatcher::Slot;
  using Charge = LimitMatcher::Charge;
  using WorkerHandle = LimitMatcher::WorkerHandle;

  LimitLooks(LimitSlots& limits, LimitWaits& waits, const LimitUsers& users)
      : limits_(limits), waits_(waits), users_(users) {}
  LimitLooks(const LimitLooks&) = delete;
  LimitLooks& operator=(const LimitLooks&) = delete;

  // --- All limits.

  // In order of creation.
  struct Filter {
    std::optional<std::string> tag, uuid;
  };
  std::vector<LimitView> List(const Filter& filter, const Now& now) const;
  // The tokens of each, and how many groups wait for it.
  using LevelVisitor = std::function<void(const std::string& uuid, double tokens, std::size_t waiting)>;
  void ForEachLevel(const Now& now, const LevelVisitor& f) const;
  // REQUIRES: it is not gone since it was named by a denial, or by BlockStateOf().
  LimitName NameOf(Slot slot) const { return limits_[slot].Name(); }

  // --- One group.

  // Is there a limit that applies to its starts, or may, depending on the worker?
  bool Applies(GroupId group) const;
  // Would a start be allowed?
  bool CanStart(GroupId group, WorkerHandle worker, const Now& now);
  // What blocks it now: on that worker or, without one, whatever the worker.
  struct BlockState {
    std::uint32_t limits = 0;  // that do
    Slot longest = 0;          // of these, the one that does so longest
    bool never = false;        // that one for ever
    std::size_t asked = 0;     // limits that were looked at
  };
  BlockState BlockStateOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now);
  // All limits that apply to a start of the group on that worker, and what it costs.
  std::vector<Charge> ChargesOn(GroupId group, WorkerHandle worker, const Now& now);
  // How many starts of the group the limits that do not depend on the worker pay for within the horizon. The largest
  // number if none is in the way.
  std::uint64_t PayableWithin(GroupId group, Duration horizon, const Now& now) const;
  // Of limits that depend on the worker, what is left of them for this group, if they block or have blocked
  // within the ban window a start of that user. Workers for which one is true are of no use. One of which only the cost
  // depends on the worker excludes none: others may be cheaper.
  struct Exclusion {
    LimitName limit;
    ExprPtr expr;
  };
  std::vector<Exclusion> Exclusions(GroupId group, const std::string& user, const Now& now) const;
  // Every limit that matches; without a worker, those that do not depend on one.
  std::vector<LimitStatus> StatusesOf(GroupId group, std::optional<WorkerHandle> worker, const Now& now);

 private:
  LimitView ViewOf(Slot slot, const LimitState& limit, Instant now, std::size_t& looks) const;

  LimitSlots& limits_;  // finds what pairs cost
  LimitWaits& waits_;   // finds profiles of workers
  const LimitUsers& users_;
};

}  // namespace allot
