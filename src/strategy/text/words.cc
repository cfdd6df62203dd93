// SPDX-License-Identifier: Apache-2.0
#include "strategy/text/words.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "strategy/preview.h"

namespace allot::strategy_words {

Nouns NounsOf(const StrategyKey& key) {
  switch (key.kind) {
    case StrategyKey::Kind::kUser:
      return {"user", "users", "jobs without a user"};
    case StrategyKey::Kind::kTag:
      return {"list of tags", "lists of tags", "jobs without tags"};
    case StrategyKey::Kind::kAsync:
      return {"value of `async`", "values of `async`", ""};
    case StrategyKey::Kind::kPriority:
      return {"priority", "priorities", "jobs without a priority"};
    case StrategyKey::Kind::kJob:
      return {"job", "jobs", ""};
    case StrategyKey::Kind::kMeta:
      break;
  }
  return {fmt::format("value of `{}`", key.name), fmt::format("values of `{}`", key.name),
          fmt::format("jobs without `{}`", key.name)};
}

namespace {

std::string Value(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return JsonString(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  std::string out;
  AppendJsonReal(std::get<double>(value), out);
  return out;
}

}  // namespace

std::string Selected(const Strategy& node) {
  const std::string value = Value(node.value);
  switch (node.key.kind) {
    case StrategyKey::Kind::kUser:
      return fmt::format("only jobs of the user {}", value);
    case StrategyKey::Kind::kTag:
      return fmt::format("only jobs that have the tag {} among theirs", value);
    case StrategyKey::Kind::kAsync:
      return std::get<bool>(node.value) ? "only jobs that nobody waits for (`async` is true)"
                                        : "only jobs that a person waits for (`async` is false)";
    case StrategyKey::Kind::kPriority:
      return fmt::format("only jobs of priority {}", value);
    case StrategyKey::Kind::kJob:
      return fmt::format("only the job {}", std::get<std::string>(node.value));
    case StrategyKey::Kind::kMeta:
      break;
  }
  return fmt::format("only jobs whose `{}` is {}{}", node.key.name, value,
                     std::holds_alternative<std::string>(node.value) ? "" : " (the number or boolean, not the text)");
}

std::string ValueText(const PreviewStep& step) {
  const std::string& text = *step.value;
  if (text[0] != 's' || step.key.kind == StrategyKey::Kind::kJob) return text.substr(1);
  return JsonString(text.substr(1));
}

std::string Ago(std::int64_t ms, WallTime now) {
  const std::int64_t since = ToMillis(now) - ms;
  return since <= 0 ? "just now" : FormatDuration(milliseconds(since)) + " ago";
}

}  // namespace allot::strategy_words
