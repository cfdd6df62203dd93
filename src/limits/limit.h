// SPDX-License-Identifier: Apache-2.0
// A limit on starts, as it is asked for and as it is shown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bounds.h"
#include "base/job.h"
#include "base/result.h"
#include "base/time.h"
#include "expr/expr.h"
#include "limits/bucket.h"

namespace allot {

struct LimitSpec {
  std::string tag;   // for whoever made it, to find its own
  std::string name;  // for people; may be empty
  ExprPtr expr;      // which starts it applies to: those for which it is true; MY is the job
  ExprPtr cost;      // of such a start, in tokens; null: 1
  double count = 0;  // tokens per window
  Duration window{};
  double burst = 0;
  double max_burst_cost = 0;           // 0: none
  std::optional<Duration> expires_in;  // has to be there; from now, or from when it is renewed
  bool monitor = false;                // counts, and blocks nothing
};

// An expression of a limit; `field` is `expr` or `cost`. kBadValue, with the place in bytes, for what is none; and for
// one that reads time(): which jobs a limit applies to is found once for all jobs that look alike to it, not again
// every second. Whoever wants a limit for a time sets it for that time: it has a lease.
Result<ExprPtr> ParseLimitExpr(std::string_view field, std::string_view text);
// kBadValue for what no limit can be.
Result<void> CheckLimit(const LimitSpec& spec);
// Do both match the same starts, at the same cost?
bool SameExpressions(const LimitSpec& a, const LimitSpec& b);
// Does it read no attribute of the worker? An unscoped name counts as both sides'.
bool IsJobOnly(const LimitSpec& spec);
// REQUIRES: CheckLimit().
BucketTerms TermsOf(const LimitSpec& spec);

// How long a limit lives from now on.
struct LimitLease {
  std::string uuid;
  Duration expires_in{};
  bool capped = false;  // less than was asked for: max_expiration
};

// What blocks, or would.
struct LimitName {
  std::string uuid, tag, name;
};

// A user of whom a limit denied a start, and when it did so for the last time.
struct IgnoredView {
  std::string user;
  WallTime at{};
};

struct LimitView {
  std::string uuid;
  LimitSpec spec;
  bool job_only = true;
  Duration expires_in{};

  double tokens = 0;
  std::uint64_t allowed = 0;  // starts that drew from it
  double cost_allowed = 0;    // what they took
  // Times that a group of jobs, or one on a kind of worker, was blocked; of a monitor: starts that it would have held
  // back.
  std::uint64_t skipped = 0;
  std::uint64_t ignored_matches = 0;  // denied tries: a worker asked, and it kept a group of jobs from it
  std::optional<WallTime> last_ignored;
  // Whose starts it denies, or has denied within the ban window; the last one last, at most bounds::kMaxIgnoredUsers.
  std::vector<IgnoredView> ignored_users;
  Duration blocked{};  // how long something has waited for it, in all

  std::size_t waiting = 0;            // groups that wait for it now
  std::size_t waiting_forever = 0;    // of them, those that can never pay; counted up to 1,000
  std::optional<Tokens> cheapest;     // of those that wait
  std::optional<Instant> payable_at;  // when that one can pay, if there are no other draws
  bool cost_failed = false;           // the cost of some start could not be evaluated, and was taken to be 1
};

// What a limit has blocked so far.
struct LimitCounts {
  std::uint64_t skipped = 0, ignored_matches = 0;
  Duration blocked{};
  friend bool operator==(const LimitCounts&, const LimitCounts&) = default;
};

// What happened since the last summary, of a limit that was in the way.
struct LimitSummary {
  LimitName limit;
  std::uint64_t skipped = 0, ignored_matches = 0;
  Duration blocked{};
  std::size_t users = 0;  // that were blocked, as far as they are remembered
};

// How a limit stands to one start.
struct LimitStatus {
  LimitName limit;
  bool monitor = false;
  bool reads_worker = false;
  double tokens = 0;  // its level
  Tokens cost;
  bool blocks = false;                // now
  bool never = false;                 // more than it can ever hold, or its count is 0
  std::optional<Instant> payable_at;  // while it blocks, if there are no other draws
  bool overtaken = false;             // could have paid before, but cheaper starts were there first
};

}  // namespace allot
