// What a strategy will do, for whoever is about to use it.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "strategy/strategy_words.h"

namespace allot {

using Kind = Strategy::Kind;

namespace strategy_words {

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

static std::string Value(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return JsonString(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  std::string out;
  AppendJsonReal(std::get<double>(value), out);
  return out;
}

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

std::string PreferredBy(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  if (node.max == 1) return fmt::format("the {} with the fewest running tasks first", nouns.one);
  return fmt::format("{} by their running tasks, in steps of {}", nouns.many, FormatCount(node.max));
}

std::string CappedAt(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  return node.percent ? fmt::format("nothing of a {} whose running tasks take {} % of all slots", nouns.one, node.max)
                      : fmt::format("nothing of a {} that has {} running task{} already", nouns.one,
                                    FormatCount(node.max), node.max == 1 ? "" : "s");
}

}  // namespace strategy_words

namespace {

using namespace strategy_words;

std::string Preferred(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  std::string out = PreferredBy(node);
  if (node.max > 1) {
    out += fmt::format(": up to {} first, then up to {}, and so on", FormatCount(node.max - 1),
                       FormatCount(2 * std::uint64_t{node.max} - 1));
  }
  if (!nouns.without.empty()) out += fmt::format("; {} count as 0", nouns.without);
  return out;
}

std::string Capped(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  std::string out = CappedAt(node);
  if (node.percent) out += " (rounded down, at least 1)";
  if (!nouns.without.empty()) out += fmt::format("; {} are not held", nouns.without);
  return out;
}

std::string Shared(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  std::string out = fmt::format(
      "shares between {}: the one with the fewest running tasks for its weight first, of equals the one served longest "
      "ago",
      nouns.many);
  if (!nouns.without.empty()) out += fmt::format("; {} are one group", nouns.without);
  return out;
}

std::string Step(const Strategy& node) {
  switch (node.kind) {
    case Kind::kRandom:
      return "any ready task, each as likely as the others";
    case Kind::kOldest:
      return "the oldest job first, its tasks in order";
    case Kind::kNewest:
      return "the newest job first, its tasks in order";
    case Kind::kPriority:
      return "the highest priority first, jobs without one last; of equals the one scheduled first, then the oldest";
    case Kind::kLeastRecent:
      return "the job picked from longest ago first; one never picked from counts from its submission";
    case Kind::kSelectOnly:
      return Selected(node);
    case Kind::kPreferDistinct:
      return Preferred(node);
    case Kind::kMaxSimultaneous:
      return Capped(node);
    case Kind::kFair:
      return Shared(node);
    case Kind::kOrElse:
      return "the first of these that has a task:";
    case Kind::kWorker:
      return "the worker's own rank and strategy";
  }
  return "";
}

// What the step after this one works on.
std::string_view Remaining(Kind kind) {
  switch (kind) {
    case Kind::kSelectOnly:
      return "of those: ";
    case Kind::kMaxSimultaneous:
      return "of the rest: ";
    case Kind::kPreferDistinct:
      return "among equals: ";
    default:
      return "of its jobs: ";
  }
}

void Describe(const Strategy& first, std::size_t indent, std::string& out) {
  const std::string margin(indent, ' ');
  const Strategy* node = &first;
  std::string_view remaining;
  for (int number = 1;; ++number) {
    out += fmt::format("{}{}. {}{}\n", margin, number, remaining, Step(*node));
    if (!node->keyed()) break;
    remaining = Remaining(node->kind);
    node = node->inner[0].get();
  }
  for (std::size_t i = 0; i < node->inner.size(); ++i) {
    out += fmt::format("{}   {}\n", margin,
                       i == 0   ? "first choice"
                       : i == 1 ? "if there is none"
                                : "if there is still none");
    Describe(*node->inner[i], indent + 5, out);
  }
}

}  // namespace

std::string DescribeStrategy(const Strategy& strategy) {
  std::string out;
  Describe(strategy, 0, out);
  return out;
}

}  // namespace allot
