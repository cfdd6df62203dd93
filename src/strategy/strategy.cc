#include "strategy/strategy.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "expr/lexer.h"
#include "match/constraints.h"
#include "strategy/strategy_rules.h"

namespace allot {

namespace {

constexpr std::string_view kWords[] = {
    "random",          "oldest",           "newest", "priority", "least_recent", "select_only",
    "prefer_distinct", "max_simultaneous", "fair",   "or_else",  "worker",
};
constexpr std::string_view kKeys[] = {"", "user", "tag", "async", "priority", "job"};

// What other systems call them, as Squeezed() leaves it.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {
    {"fifo", "oldest"},        {"lifo", "newest"},     {"oldestfirst", "oldest"},
    {"newestfirst", "newest"}, {"roundrobin", "fair"}, {"custompriority", "priority"},
    {"fallback", "or_else"},   {"shuffle", "random"},
};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `SelectOnly`, `select-only`, `SELECT_ONLY` → `selectonly`.
std::string Squeezed(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c != '_' && c != '-') out.push_back(Lower(c));
  }
  return out;
}

StrategyPtr Leaf(Strategy::Kind kind) {
  Strategy leaf;
  leaf.kind = kind;
  return std::make_shared<const Strategy>(std::move(leaf));
}

StrategyPtr MakeFair(StrategyPtr of_the_rest) {
  Strategy sync;
  sync.kind = Strategy::Kind::kSelectOnly;
  sync.key = MakeStrategyKey("async");
  sync.value = false;
  sync.inner = {Leaf(Strategy::Kind::kLeastRecent)};
  Strategy either;
  either.kind = Strategy::Kind::kOrElse;
  either.inner = {std::make_shared<const Strategy>(std::move(sync)), std::move(of_the_rest)};
  Strategy fair;
  fair.kind = Strategy::Kind::kFair;
  fair.key = MakeStrategyKey("user");
  fair.inner = {std::make_shared<const Strategy>(std::move(either))};
  return std::make_shared<const Strategy>(std::move(fair));
}

StrategyPtr Find(const NamedStrategies& named, std::string_view name) {
  for (const auto& [known, strategy] : named) {
    if (known == name) return strategy;
  }
  return nullptr;
}

// The rules for one node; those inside are looked at on their own.
std::string CheckNode(const Strategy& node) {
  const std::string_view word = StrategyWord(node.kind);
  const std::size_t inner = node.inner.size();
  if (node.kind == Strategy::Kind::kOrElse) {
    if (inner < 2) return "`or_else` needs two strategies or more";
  } else if (inner != (node.keyed() ? 1 : 0)) {
    return node.keyed() ? fmt::format("`{}` needs one strategy inside", word)
                        : fmt::format("`{}` has no strategy inside", word);
  }
  if (!node.keyed()) return "";
  const auto at = [&](std::string_view message) { return fmt::format("`{}`: {}", word, message); };
  if (const std::string wrong = strategy_rules::CheckKey(node.key); !wrong.empty()) return at(wrong);
  if (node.kind == Strategy::Kind::kSelectOnly) {
    if (const std::string wrong = strategy_rules::CheckValue(node.key, node.value); !wrong.empty()) return at(wrong);
  }
  if (node.kind == Strategy::Kind::kPreferDistinct || node.kind == Strategy::Kind::kMaxSimultaneous) {
    if (node.max == 0) return at("its maximum is at least 1");
    if (node.percent && node.kind != Strategy::Kind::kMaxSimultaneous)
      return at("only `max_simultaneous` takes a percentage");
    if (node.percent && node.max > 100) return at("a percentage is at most 100%");
  }
  return "";
}

// REQUIRES: Measure() is within the bounds.
std::string CheckNodes(const Strategy& node) {
  if (std::string wrong = CheckNode(node); !wrong.empty()) return wrong;
  for (const StrategyPtr& inner : node.inner) {
    if (inner == nullptr) return fmt::format("`{}` lacks a strategy inside", StrategyWord(node.kind));
    if (std::string wrong = CheckNodes(*inner); !wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

namespace strategy_rules {

std::string Quoted(std::string_view word) {
  constexpr std::size_t kMost = 64;
  if (word.size() <= kMost) return fmt::format("`{}`", word);
  std::size_t cut = kMost;
  while (cut > 0 && (static_cast<unsigned char>(word[cut]) & 0xc0) == 0x80) --cut;
  return fmt::format("`{}…`", word.substr(0, cut));
}

std::string TooDeep() {
  return fmt::format("more than {} strategies inside one another: make it flatter", bounds::kMaxStrategyDepth);
}
std::string TooMany() { return fmt::format("more than {} parts: make it shorter", bounds::kMaxStrategyNodes); }
std::string NotInPolicy() { return "`worker` belongs in a queue's policy, where it is the asking worker's own"; }
std::string WorkerTwice() { return "`worker` stands in a policy once"; }
std::string WorkerMissing() {
  return "a policy has the word `worker` where the worker's own strategy belongs, as in fair(user, worker)";
}

std::string CheckKey(const StrategyKey& key) {
  if (!expr::IsName(key.name)) return "a key has letters, digits and `_`, and begins with none of the digits";
  if (key.kind != StrategyKey::Kind::kMeta) return "";
  if (key.name.size() > bounds::kMaxMetaKeyBytes)
    return fmt::format("a key has at most {} bytes", bounds::kMaxMetaKeyBytes);
  if (expr::SameName(key.name, "tags")) return "there is no key `tags`: did you mean `tag`?";
  // A built-in name of expressions that strategies do not have.
  if (IsBuiltInJobName(key.name)) return fmt::format("no job can have the key {}", Quoted(key.name));
  return "";
}

namespace {

std::string CheckText(const StrategyKey& key, const std::string& text) {
  const auto at_most = [&](std::size_t bytes) -> std::string {
    if (text.size() <= bytes) return "";
    return fmt::format("a value of {} has at most {} bytes", Quoted(key.name), FormatCount(bytes));
  };
  if (text.find('\0') != std::string::npos || !IsUtf8(text)) return "a text is UTF-8, without \\u0000";
  switch (key.kind) {
    case StrategyKey::Kind::kUser:
      // A job without a user has no value under this key, so nothing could match.
      return text.empty() ? "`user` is not empty: jobs without a user cannot be selected"
                          : at_most(bounds::kMaxUserBytes);
    case StrategyKey::Kind::kTag: {
      const bool valid = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return expr::IsNamePart(c) || std::string_view(".-/:=@+").find(c) != std::string_view::npos;
      });
      return valid ? at_most(bounds::kMaxTagBytes) : "a tag has letters, digits and `_ . - / : = @ +`";
    }
    case StrategyKey::Kind::kJob:
      return ParseId(text) ? "" : "`job` is a job's id, a number such as 7036874417766400";
    default:
      return at_most(bounds::kMaxMetaValueBytes);
  }
}

}  // namespace

std::string CheckValue(const StrategyKey& key, const MetaValue& value) {
  switch (key.kind) {
    case StrategyKey::Kind::kAsync:
      return std::holds_alternative<bool>(value) ? "" : "`async` is true or false";
    case StrategyKey::Kind::kPriority:
      return std::holds_alternative<std::int64_t>(value) ? "" : "`priority` is an integer";
    case StrategyKey::Kind::kUser:
    case StrategyKey::Kind::kTag:
      if (!std::holds_alternative<std::string>(value))
        return fmt::format("`{}` is a text: write it in quotes", kKeys[static_cast<std::size_t>(key.kind)]);
      break;
    case StrategyKey::Kind::kJob:
      if (!std::holds_alternative<std::string>(value)) return "`job` is a job's id, written as a text";
      break;
    case StrategyKey::Kind::kMeta:
      break;
  }
  if (const double* real = std::get_if<double>(&value); real != nullptr && !std::isfinite(*real))
    return "a number is finite";
  if (const std::string* text = std::get_if<std::string>(&value)) return CheckText(key, *text);
  return "";
}

namespace {

void MeasureInto(const Strategy& node, std::size_t depth, Size& size) {
  ++size.nodes;
  size.depth = std::max(size.depth, depth);
  if (node.kind == Strategy::Kind::kWorker) ++size.workers;
  if (depth > bounds::kMaxStrategyDepth) return;
  for (const StrategyPtr& inner : node.inner) {
    if (size.nodes > bounds::kMaxStrategyNodes) return;
    if (inner != nullptr) MeasureInto(*inner, depth + 1, size);
  }
}

}  // namespace

Size Measure(const Strategy& strategy) {
  Size size;
  MeasureInto(strategy, 1, size);
  return size;
}

}  // namespace strategy_rules

bool operator==(const StrategyKey& a, const StrategyKey& b) {
  return a.kind == b.kind && (a.kind != StrategyKey::Kind::kMeta || expr::SameName(a.name, b.name));
}

bool operator==(const Strategy& a, const Strategy& b) {
  if (a.kind != b.kind || a.inner.size() != b.inner.size()) return false;
  if (a.keyed() && !(a.key == b.key)) return false;
  if (a.kind == Strategy::Kind::kSelectOnly && a.value != b.value) return false;
  if (a.kind == Strategy::Kind::kPreferDistinct || a.kind == Strategy::Kind::kMaxSimultaneous) {
    if (a.max != b.max || a.percent != b.percent) return false;
  }
  return std::equal(a.inner.begin(), a.inner.end(), b.inner.begin(),
                    [](const StrategyPtr& x, const StrategyPtr& y) { return x == y || *x == *y; });
}

StrategyKey MakeStrategyKey(std::string_view name) {
  for (std::size_t i = 1; i < std::size(kKeys); ++i) {
    // Without regard to case, as meta keys are: `User` must not be another key than `user`.
    if (expr::SameName(name, kKeys[i])) return {static_cast<StrategyKey::Kind>(i), std::string(kKeys[i])};
  }
  return {StrategyKey::Kind::kMeta, std::string(name)};
}

std::string_view StrategyWord(Strategy::Kind kind) { return kWords[static_cast<std::size_t>(kind)]; }

std::string CheckStrategy(const Strategy& strategy, bool policy) {
  const strategy_rules::Size size = strategy_rules::Measure(strategy);
  if (size.depth > bounds::kMaxStrategyDepth) return strategy_rules::TooDeep();
  if (size.nodes > bounds::kMaxStrategyNodes) return strategy_rules::TooMany();
  if (std::string wrong = CheckNodes(strategy); !wrong.empty()) return wrong;
  if (!policy && size.workers > 0) return strategy_rules::NotInPolicy();
  if (policy && size.workers == 0) return strategy_rules::WorkerMissing();
  if (policy && size.workers > 1) return strategy_rules::WorkerTwice();
  // Else what prints would not parse.
  if (PrintStrategy(strategy).size() > bounds::kMaxStrategyBytes)
    return fmt::format("more than {} bytes when written out: make it shorter", FormatCount(bounds::kMaxStrategyBytes));
  return "";
}

std::size_t CountBlocks(const Strategy& strategy) { return strategy_rules::Measure(strategy).nodes; }

std::string CheckStrategyName(std::string_view name) {
  if (!expr::IsName(name) || name.size() > bounds::kMaxNameBytes)
    return fmt::format("a name has 1 to {} letters, digits or `_`, and begins with none of the digits",
                       bounds::kMaxNameBytes);
  if (std::find(std::begin(kWords), std::end(kWords), name) != std::end(kWords))
    return fmt::format("{} is a word of the language", strategy_rules::Quoted(name));
  return "";
}

namespace {

// A name stands for the very object. REQUIRES: within the bounds.
StrategyPtr WithFairPolicy(const StrategyPtr& strategy) {
  if (strategy == FairStrategy()) return FairPolicy();
  Strategy replaced = *strategy;  // what is inside is shared
  bool changed = false;
  for (StrategyPtr& inner : replaced.inner) {
    if (inner == nullptr) continue;
    StrategyPtr other = WithFairPolicy(inner);
    changed |= other != inner;
    inner = std::move(other);
  }
  return changed ? std::make_shared<const Strategy>(std::move(replaced)) : strategy;
}

}  // namespace

StrategyPtr StrategyFromWord(std::string_view word, const NamedStrategies& named) {
  if (word == "fair") return FairStrategy();
  const auto* found = std::find(std::begin(kWords), std::end(kWords), word);
  if (found == std::end(kWords)) return Find(named, word);
  const auto kind = static_cast<Strategy::Kind>(found - std::begin(kWords));
  return kind <= Strategy::Kind::kLeastRecent || kind == Strategy::Kind::kWorker ? Leaf(kind) : nullptr;
}

std::string NoSuchStrategy(std::string_view word, const NamedStrategies& named) {
  std::vector<std::string_view> candidates(std::begin(kWords), std::end(kWords));
  for (const auto& [name, strategy] : named) candidates.push_back(name);
  const std::string squeezed = Squeezed(word);
  std::string_view near;
  for (const std::string_view candidate : candidates) {
    if (near.empty() && Squeezed(candidate) == squeezed) near = candidate;
  }
  const bool only_case = near.size() == word.size();
  for (const auto& [elsewhere, here] : kElsewhere) {
    if (near.empty() && squeezed == elsewhere) near = here;
  }
  if (near.empty()) near = Nearest(word, candidates);
  std::string message = fmt::format("there is no strategy {}", strategy_rules::Quoted(word));
  if (!near.empty()) message += fmt::format(": did you mean {}?", strategy_rules::Quoted(near));
  if (only_case) message += " Case counts.";
  return message;
}

StrategyPtr Compose(const StrategyPtr& policy, const StrategyPtr& worker) {
  CHECK(policy != nullptr && worker != nullptr);
  if (policy->kind == Strategy::Kind::kWorker) return worker;
  for (std::size_t i = 0; i < policy->inner.size(); ++i) {
    StrategyPtr inner = Compose(policy->inner[i], worker);
    if (inner == policy->inner[i]) continue;
    Strategy composed = *policy;  // what is inside is shared
    composed.inner[i] = std::move(inner);
    return std::make_shared<const Strategy>(std::move(composed));  // `worker` is there once
  }
  return policy;
}

StrategyPtr WithRoomForWorker(const StrategyPtr& policy) {
  if (policy == nullptr || strategy_rules::Measure(*policy).workers > 0) return policy;
  StrategyPtr replaced = WithFairPolicy(policy);
  return strategy_rules::Measure(*replaced).workers == 1 ? replaced : policy;
}

StrategyPtr DefaultStrategy() {
  static const StrategyPtr strategy = Leaf(Strategy::Kind::kPriority);
  return strategy;
}

StrategyPtr DefaultPolicy() {
  static const StrategyPtr policy = Leaf(Strategy::Kind::kWorker);
  return policy;
}

StrategyPtr FairStrategy() {
  static const StrategyPtr strategy = MakeFair(Leaf(Strategy::Kind::kLeastRecent));
  return strategy;
}

StrategyPtr FairPolicy() {
  static const StrategyPtr policy = MakeFair(Leaf(Strategy::Kind::kWorker));
  return policy;
}

}  // namespace allot
