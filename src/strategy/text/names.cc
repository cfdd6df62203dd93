// SPDX-License-Identifier: Apache-2.0
// Words and names that stand for strategies.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/text.h"
#include "expr/lexer.h"
#include "strategy/blocks/block.h"
#include "strategy/strategy.h"
#include "strategy/strategy_rules.h"

namespace allot {
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// `SelectOnly`, `select-only`, `SELECT_ONLY` → `selectonly`.
std::string Squeezed(std::string_view word) {
  std::string out;
  for (const char c : word) {
    if (c != '_' && c != '-') out.push_back(Lower(c));
  }
  return out;
}

StrategyPtr Find(const NamedStrategies& named, std::string_view name) {
  for (const auto& [known, strategy] : named) {
    if (known == name) return strategy;
  }
  return nullptr;
}

}  // namespace

std::optional<Strategy::Kind> StrategyKindOf(std::string_view word) {
  const auto* const found = std::find(std::begin(kStrategyWords), std::end(kStrategyWords), word);
  if (found == std::end(kStrategyWords)) return std::nullopt;
  return static_cast<Strategy::Kind>(found - std::begin(kStrategyWords));
}

std::string CheckStrategyName(std::string_view name) {
  if (!expr::IsName(name) || name.size() > bounds::kMaxNameBytes)
    return fmt::format("a name has 1 to {} letters, digits or `_`, and begins with none of the digits",
                       bounds::kMaxNameBytes);
  if (StrategyKindOf(name)) return fmt::format("{} is a word of the language", strategy_rules::Quoted(name));
  return "";
}

StrategyPtr StrategyFromWord(std::string_view word, const NamedStrategies& named) {
  if (word == "fair") return FairStrategy();
  const std::optional<Strategy::Kind> kind = StrategyKindOf(word);
  if (!kind) return Find(named, word);
  Strategy made;
  made.kind = *kind;
  const bool bare = made.leaf() || made.shape() == Strategy::Shape::kWorker;
  return bare ? std::make_shared<const Strategy>(std::move(made)) : nullptr;
}

std::string NoSuchStrategy(std::string_view word, const NamedStrategies& named) {
  std::vector<std::string_view> candidates(std::begin(kStrategyWords), std::end(kStrategyWords));
  for (const auto& [name, strategy] : named) candidates.push_back(name);
  const std::string squeezed = Squeezed(word);
  std::string_view near;
  for (const std::string_view candidate : candidates) {
    if (near.empty() && Squeezed(candidate) == squeezed) near = candidate;
  }
  const bool only_case = near.size() == word.size();
  for (std::size_t i = 0; i < std::size(kStrategyWords) && near.empty(); ++i) {
    const auto elsewhere = BlockOf(static_cast<Strategy::Kind>(i)).traits().elsewhere;
    if (std::find(elsewhere.begin(), elsewhere.end(), squeezed) != elsewhere.end()) near = kStrategyWords[i];
  }
  if (near.empty()) near = Nearest(word, candidates);
  std::string message = fmt::format("there is no strategy {}", strategy_rules::Quoted(word));
  if (!near.empty()) message += fmt::format(": did you mean {}?", strategy_rules::Quoted(near));
  if (only_case) message += " Case counts.";
  return message;
}

}  // namespace allot
