// SPDX-License-Identifier: Apache-2.0
// fair: evenly between the values of a key.
#include <fmt/format.h>

#include "base/text.h"
#include "strategy/blocks/parts.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

using namespace order;
using namespace strategy_words;

class FairBlock : public ValueBlock {
 public:
  FairBlock() : ValueBlock({.elsewhere = kElsewhere, .compares = Compares::kFairGroup, .served = true}) {}

  std::string Describe(const Strategy& node) const override {
    const Nouns nouns = NounsOf(node.key);
    std::string out = fmt::format(
        "shares between {}: the one with the fewest running tasks for its weight first, of equals the one served "
        "longest ago",
        nouns.many);
    if (!nouns.without.empty()) out += fmt::format("; {} are one group", nouns.without);
    return out;
  }
  std::string DescribeStep(const Strategy& node, const PreviewStep& step, WallTime now) const override {
    const Nouns nouns = NounsOf(node.key);
    std::string out = fmt::format("shares between {}: ", nouns.many);
    out += step.value ? ValueText(step) + " has " : nouns.without + ", one group, have ";
    out += fmt::format("{} running task{}", FormatCount(*step.running), *step.running == 1 ? "" : "s");
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
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return MakeFairView(plan, context);
  }
  void ReadTrace(const Strategy& node, TraceReader& in, PreviewStep& step) const override {
    const tracing::Value value = tracing::GetValue(node, in, step);
    step.weight = value.weight;
    step.served = PreviewMoment{value.served, 0, value.never};
  }

 private:
  static constexpr std::string_view kElsewhere[] = {"roundrobin"};
};

}  // namespace

const Block& blocks::Fair() {
  static const FairBlock block;
  return block;
}

}  // namespace allot
