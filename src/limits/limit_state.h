// SPDX-License-Identifier: Apache-2.0
// What a table keeps of each of its limits (limits/limit_table.h), and of what waits for them.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limits/ignored_users.h"
#include "limits/limit.h"
#include "limits/limit_matcher.h"

namespace allot {

// Whatever the worker.
inline constexpr LimitProfileId kAnyProfile = 0xFFFFFFFF;

// What is blocked: a group, or a group on workers of a profile.
struct LimitWaitKey {
  LimitProfileId profile = kAnyProfile;
  GroupId group = 0;
  friend auto operator<=>(const LimitWaitKey&, const LimitWaitKey&) = default;
};
struct LimitWaiter {
  LimitMatcher::Slot slot = 0;        // the limit that it waits for
  Tokens cost;                        // under that
  Instant promised = Instant::max();  // the first instant that it was told; max: none
  std::vector<std::string> users;     // who was denied; a few, the others are those of the group
  Instant tried = Instant::min();     // the last denied try, and by the wall clock
  WallTime tried_at{};
  std::uint64_t counted = 0;  // the last try that it was counted in
};
struct LimitState {
  LimitState(std::string_view id, const BucketTerms& terms, Instant now) : uuid(id), bucket(terms, now) {}

  std::uint64_t serial = 0;  // of creation
  std::string uuid;
  LimitSpec spec;
  bool job_only = true;
  LimitMatcher::Version version = 0;
  Bucket bucket;
  Instant expires;

  std::uint64_t allowed = 0;
  double cost_allowed = 0;
  LimitCounts counts, reported;
  std::optional<WallTime> last_ignored;
  IgnoredUsers users;
  bool cost_warned = false;

  std::set<std::pair<Tokens, LimitWaitKey>> waiting;  // the cheapest first
  Instant waiting_since;                              // while some are
  std::optional<Instant> timer;

  LimitName Name() const { return {uuid, spec.tag, spec.name}; }
  LimitCounts CountsUntil(Instant now) const {
    LimitCounts until = counts;
    if (!waiting.empty() && now > waiting_since) until.blocked += now - waiting_since;
    return until;
  }
  // Deleted, or of other expressions since: it is there until nothing waits for it any more.
  bool gone() const { return version == 0; }
};

}  // namespace allot
