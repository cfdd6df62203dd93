// The strategy language: the order in which a worker wants tasks, as a small expression. docs/strategies.md is its
// reference.
//
//   strategy := random | oldest | newest | priority | least_recent
//             | select_only(key = value, strategy)
//             | prefer_distinct(key, max, strategy)          max defaults to 1
//             | max_simultaneous(key, max | percent%, strategy)
//             | fair(key, strategy)
//             | or_else(strategy, strategy, …)
//             | worker                                       in a queue's policy: the asking worker's own
//
// Threading: a Strategy is immutable once parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/job.h"

namespace allot {

struct Strategy;
using StrategyPtr = std::shared_ptr<const Strategy>;

// What jobs are grouped by: a meta key, or one of the built-in ones.
struct StrategyKey {
  enum class Kind : std::uint8_t { kMeta, kUser, kTag, kAsync, kPriority, kJob };
  Kind kind = Kind::kMeta;
  std::string name;  // as written; meta keys compare without regard to case
  friend bool operator==(const StrategyKey& a, const StrategyKey& b);
};

struct Strategy {
  enum class Kind : std::uint8_t {
    kRandom,
    kOldest,
    kNewest,
    kPriority,
    kLeastRecent,
    kSelectOnly,
    kPreferDistinct,
    kMaxSimultaneous,
    kFair,
    kOrElse,
    kWorker,
  };
  Kind kind = Kind::kPriority;
  StrategyKey key;                 // select_only, prefer_distinct, max_simultaneous, fair
  MetaValue value;                 // select_only; of the key `job` its id as a string, of `tag` one tag
  std::uint32_t max = 1;           // prefer_distinct, max_simultaneous; at least 1
  bool percent = false;            // max is a percentage (1…100) of all slots
  std::vector<StrategyPtr> inner;  // one for those with a key, two or more for or_else, none for the others

  bool leaf() const { return kind <= Kind::kLeastRecent; }
};

// Where and why a text is no strategy.
struct StrategyError {
  std::size_t offset = 0;  // in bytes
  std::string message;     // with the nearest word, where one is
};

struct ParsedStrategy {
  StrategyPtr strategy;  // null: there is an error
  StrategyError error;
};

// The names of shorthands and what they stand for; `fair` is Harmony's rule, others come from the configuration.
using NamedStrategies = std::vector<std::pair<std::string, StrategyPtr>>;

// `policy`: `worker` may stand in it, and must, exactly once. Elsewhere it is an error.
ParsedStrategy ParseStrategy(std::string_view text, bool policy = false, const NamedStrategies& named = {});
// The bounds and rules that texts and JSON have in common: nodes, depth, `worker`. Empty if all is well.
std::string CheckStrategy(const Strategy& strategy, bool policy);
// Canonical: parses back to the same; equal strategies print alike.
std::string PrintStrategy(const Strategy& strategy);
// What it will do, in words; one line per step.
std::string DescribeStrategy(const Strategy& strategy);
// The policy with the worker's own in the place of `worker`.
StrategyPtr Compose(const StrategyPtr& policy, const StrategyPtr& worker);

// `priority`, and `worker`: what applies where nothing else is said.
StrategyPtr DefaultStrategy();
StrategyPtr DefaultPolicy();

}  // namespace allot
