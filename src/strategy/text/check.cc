// SPDX-License-Identifier: Apache-2.0
// The rules that texts and JSON have in common.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "expr/lexer.h"
#include "match/constraints.h"
#include "strategy/blocks/block.h"
#include "strategy/strategy.h"
#include "strategy/strategy_rules.h"

namespace allot {
namespace {

// The rules for one node; those inside are looked at on their own.
std::string CheckNode(const Strategy& node) {
  const std::string_view word = StrategyWord(node.kind);
  const std::size_t inner = node.inner.size();
  if (node.shape() == Strategy::Shape::kChoice) {
    if (inner < 2) return fmt::format("`{}` needs two strategies or more", word);
  } else if (inner != (node.keyed() ? 1 : 0)) {
    return node.keyed() ? fmt::format("`{}` needs one strategy inside", word)
                        : fmt::format("`{}` has no strategy inside", word);
  }
  if (!node.keyed()) return "";
  const auto at = [&](std::string_view message) { return fmt::format("`{}`: {}", word, message); };
  if (const std::string wrong = strategy_rules::CheckKey(node.key); !wrong.empty()) return at(wrong);
  const Block::Traits& traits = BlockOf(node).traits();
  if (traits.value) {
    if (const std::string wrong = strategy_rules::CheckValue(node.key, node.value); !wrong.empty()) return at(wrong);
  }
  if (traits.max != Block::Traits::Max::kNone) {
    if (node.max == 0) return at("its maximum is at least 1");
    if (node.percent && !traits.percent) return at(strategy_rules::NoPercentage());
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

std::string NoPercentage() {
  std::string takers;
  for (std::size_t i = 0; i < std::size(kStrategyWords); ++i) {
    if (!BlockOf(static_cast<Strategy::Kind>(i)).traits().percent) continue;
    takers += fmt::format("{}`{}`", takers.empty() ? "" : " or ", kStrategyWords[i]);
  }
  return fmt::format("only {} takes a percentage", takers);
}

std::string CheckKey(const StrategyKey& key) {
  if (!expr::IsAttributeName(key.name)) return "a key has letters, digits and `_`";
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
        return fmt::format("`{}` is a text: write it in quotes",
                           strategy_rules::kBuiltInKeys[static_cast<std::size_t>(key.kind)]);
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
  if (node.shape() == Strategy::Shape::kWorker) ++size.workers;
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

}  // namespace allot
