// Why a pick, in the words in which a strategy is described.
#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "strategy/preview.h"
#include "strategy/strategy_words.h"

namespace allot {
namespace {

using namespace strategy_words;
using Kind = Strategy::Kind;

std::string Ago(std::int64_t ms, WallTime now) {
  const std::int64_t since = ToMillis(now) - ms;
  return since <= 0 ? "just now" : FormatDuration(milliseconds(since)) + " ago";
}

std::string Tasks(std::uint64_t count) {
  return fmt::format("{} running task{}", FormatCount(count), count == 1 ? "" : "s");
}

std::string ValueText(const PreviewStep& step) {
  const std::string& text = *step.value;
  if (text[0] != 's' || step.key.kind == StrategyKey::Kind::kJob) return text.substr(1);
  return JsonString(text.substr(1));
}

std::string Preferred(const Strategy& block, const PreviewStep& step) {
  if (!step.value) return fmt::format("{}: {} count as 0", PreferredBy(block), NounsOf(block.key).without);
  std::string out = fmt::format("{}: {} has {}", PreferredBy(block), ValueText(step), FormatCount(*step.running));
  if (block.max > 1) out += fmt::format(", on step {}", FormatCount(*step.level + 1));
  return out;
}

std::string Capped(const Strategy& block, const PreviewStep& step) {
  if (!step.value) return fmt::format("{}: {} are not held", CappedAt(block), NounsOf(block.key).without);
  std::string out = fmt::format("{}: {} has {}", CappedAt(block), ValueText(step), FormatCount(*step.running));
  if (block.percent)
    out += fmt::format(", and may have {} (of {} slots)", FormatCount(*step.max), FormatCount(*step.slots));
  return out;
}

std::string Shared(const Strategy& block, const PreviewStep& step, WallTime now) {
  const Nouns nouns = NounsOf(block.key);
  std::string out = fmt::format("shares between {}: ", nouns.many);
  out += step.value ? ValueText(step) + " has " : nouns.without + ", one group, have ";
  out += Tasks(*step.running);
  if (*step.weight != 1) out += fmt::format(" for a weight of {}", FormatCount(*step.weight));
  if (step.served->never) {
    out += fmt::format(", never served: first waiting job submitted {}", Ago(step.served->ms, now));
  } else if (step.served->pick != 0) {
    out += fmt::format(", served by pick {}", step.served->pick);
  } else {
    out += fmt::format(", served {}", Ago(step.served->ms, now));
  }
  return out;
}

std::string Recent(const PreviewStep& step, WallTime now) {
  const std::string_view first = "the job picked from longest ago first: ";
  if (step.picked->never) return fmt::format("{}never, submitted {}", first, Ago(step.picked->ms, now));
  if (step.picked->pick != 0) return fmt::format("{}by pick {}", first, step.picked->pick);
  return fmt::format("{}{}", first, Ago(step.picked->ms, now));
}

std::string Ranked(const PreviewStep& step) {
  if (!step.rank) return "the worker's own strategy";
  std::string rank;
  AppendJsonReal(*step.rank, rank);
  return "the worker's own rank and strategy: rank " + rank;
}

}  // namespace

std::string DescribeStep(const Strategy& block, const PreviewStep& step, WallTime now) {
  switch (block.kind) {
    case Kind::kRandom:
      return *step.candidates == 1 ? "any ready task, each as likely as the others: the only one"
                                   : fmt::format("any ready task, each as likely as the others: one of {}",
                                                 FormatCount(*step.candidates));
    case Kind::kOldest:
      return "the oldest job first: submitted " + Ago(*step.submitted, now);
    case Kind::kNewest:
      return "the newest job first: submitted " + Ago(*step.submitted, now);
    case Kind::kPriority:
      return fmt::format("the highest priority first: {}, scheduled {}",
                         step.priority ? std::to_string(*step.priority) : "none", Ago(*step.scheduled, now));
    case Kind::kLeastRecent:
      return Recent(step, now);
    case Kind::kSelectOnly:
      return Selected(block);
    case Kind::kPreferDistinct:
      return Preferred(block, step);
    case Kind::kMaxSimultaneous:
      return Capped(block, step);
    case Kind::kFair:
      return Shared(block, step, now);
    case Kind::kOrElse:
      return step.branch == 1 ? fmt::format("the first choice of {}", step.branches)
                              : fmt::format("choice {} of {}: there is no task in {}", step.branch, step.branches,
                                            step.branch == 2 ? "the first" : "those before");
    case Kind::kWorker:
      return Ranked(step);
  }
  return "";
}

}  // namespace allot
