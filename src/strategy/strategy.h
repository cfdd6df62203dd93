// SPDX-License-Identifier: Apache-2.0
// The strategy language: the order in which a worker wants tasks, as a small expression.
//
// docs/reference/strategies.md is its reference, and that of the JSON form.
//
//   strategy := random | oldest | newest | priority | least_recent
//             | select_only(key = value, strategy)
//             | prefer_distinct(key, max, strategy)          max defaults to 1
//             | max_simultaneous(key, max | percent%, strategy)
//             | fair(key, strategy)
//             | or_else(strategy, strategy, …)
//             | worker                                       in a queue's policy: the asking worker's own
//             | name                                         of another strategy; `fair` is built in
//
// Strategies come from strangers: bytes, nodes and depth are bounded (base/bounds.h).
//
// Threading: a Strategy is immutable once parsed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/job.h"
#include "expr/expr.h"
#include "strategy/blocks/block_list.h"

namespace allot {

struct Strategy;
using StrategyPtr = std::shared_ptr<const Strategy>;

// What jobs are grouped by: a meta key, or one of the built-in ones.
struct StrategyKey {
  enum class Kind : std::uint8_t { kMeta, kUser, kTag, kAsync, kPriority, kJob };
  Kind kind = Kind::kMeta;
  std::string name;  // as written; keys compare, and print canonically, without regard to case
  friend bool operator==(const StrategyKey& a, const StrategyKey& b);
};
// The key of that name, which CheckStrategy() has still to accept.
StrategyKey MakeStrategyKey(std::string_view name);

struct Strategy {
  // Its blocks: blocks/block_list.h.
  enum class Kind : std::uint8_t {
#define ALLOT_KIND(name, word, shape) k##name,
    ALLOT_STRATEGY_BLOCKS(ALLOT_KIND)
#undef ALLOT_KIND
  };
  enum class Shape : std::uint8_t { kOrder, kKeyed, kChoice, kWorker };
  Kind kind = Kind::kPriority;
  // Of these a block has those that its shape and its traits (blocks/block.h) say.
  StrategyKey key;
  MetaValue value;                 // of the key `job` its id as a string, of `tag` one tag
  std::uint32_t max = 1;           // at least 1
  bool percent = false;            // max is a percentage (1…100) of all slots
  std::vector<StrategyPtr> inner;  // one for those with a key, two or more for a choice, none for the others

  inline Shape shape() const;
  bool leaf() const { return shape() == Shape::kOrder; }
  bool keyed() const { return shape() == Shape::kKeyed; }
  // The same in all that its kind reads, and inside.
  friend bool operator==(const Strategy& a, const Strategy& b);
};

// A queue's policy, and the strategy of a worker below it, which `worker` stands for.
struct StrategyPair {
  StrategyPtr policy, worker;
};

// `oldest`, `select_only`, …: the words that texts and JSON have for blocks, by their kinds.
inline constexpr std::string_view kStrategyWords[] = {
#define ALLOT_WORD(name, word, shape) word,
    ALLOT_STRATEGY_BLOCKS(ALLOT_WORD)
#undef ALLOT_WORD
};
inline constexpr Strategy::Shape kStrategyShapes[] = {
#define ALLOT_SHAPE(name, word, shape) Strategy::Shape::shape,
    ALLOT_STRATEGY_BLOCKS(ALLOT_SHAPE)
#undef ALLOT_SHAPE
};
inline Strategy::Shape Strategy::shape() const { return kStrategyShapes[static_cast<std::size_t>(kind)]; }
inline std::string_view StrategyWord(Strategy::Kind kind) { return kStrategyWords[static_cast<std::size_t>(kind)]; }
// The block of that word, if any.
std::optional<Strategy::Kind> StrategyKindOf(std::string_view word);

// Where and why a text is no strategy; with the nearest word, where one is. expr::PointAt() draws it.
using StrategyError = expr::ParseError;

struct ParsedStrategy {
  StrategyPtr strategy;  // null: there is an error
  StrategyError error;
  bool unknown_name = false;  // the error is a name that is not known here; with more names it may be none
};

// Names and what they stand for, from the configuration. `fair` without brackets, Harmony's rule, is known without.
using NamedStrategies = std::vector<std::pair<std::string, StrategyPtr>>;

// `policy`: `worker` may stand in it, and must, exactly once; see WithRoomForWorker(). Elsewhere it is an error.
ParsedStrategy ParseStrategy(std::string_view text, bool policy = false, const NamedStrategies& named = {});
// All rules that texts and JSON have in common: shape, keys, values, bounds, `worker`. Empty if all is well; else what
// is not. Everything below, and every other room, relies on it.
std::string CheckStrategy(const Strategy& strategy, bool policy);
// Its words and blocks.
std::size_t CountBlocks(const Strategy& strategy);
// Can a strategy go by this name? Empty if so; else why not.
std::string CheckStrategyName(std::string_view name);

// Canonical: parses back to the same; equal strategies print alike.
std::string PrintStrategy(const Strategy& strategy);
// As JSON, in one line, canonical in the same way.
void AppendStrategyJson(const Strategy& strategy, std::string& out);
// What it will do, in words: a numbered line for every step, branches indented. Ends with a newline.
std::string DescribeStrategy(const Strategy& strategy);
// The policy with the worker's own in the place of `worker`: that very pointer is in the result, so that whoever
// applies a worker's rank there can find the place. The bounds hold for each of the two, the result may have the sum.
StrategyPtr Compose(const StrategyPtr& policy, const StrategyPtr& worker);

// A policy that names FairStrategy() once and has no `worker`: with FairPolicy() in its place. Any other as it is.
StrategyPtr WithRoomForWorker(const StrategyPtr& policy);

// What a single word stands for: an order, `worker`, or a name. Null if there is nothing of that name, or if it needs
// arguments. For readers of JSON.
StrategyPtr StrategyFromWord(std::string_view word, const NamedStrategies& named = {});
// `there is no strategy `oldset`: did you mean `oldest`?`
std::string NoSuchStrategy(std::string_view word, const NamedStrategies& named = {});

// `priority`, and `worker`: what applies where nothing else is said.
StrategyPtr DefaultStrategy();
StrategyPtr DefaultPolicy();
// What the name `fair` stands for; and in a policy that has no other place for the workers' own strategies: the same
// with `worker` where nobody waits for the jobs.
StrategyPtr FairStrategy();
StrategyPtr FairPolicy();

}  // namespace allot
