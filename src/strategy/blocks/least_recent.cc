// SPDX-License-Identifier: Apache-2.0
// least_recent: the job that was picked from longest ago.
#include <fmt/format.h>

#include "strategy/blocks/parts.h"
#include "strategy/blocks/tracing.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

order::Key KeyOf(const PickJob& job) {
  const Stamp recent = job.Recent();
  return {order::Unsigned(recent.ms), recent.serial, job.id().value};
}

constexpr order::JobOrder kOrder{KeyOf, true};

class LeastRecentBlock : public OrderBlock {
 public:
  LeastRecentBlock() : OrderBlock({.compares = Compares::kHead, .order = &kOrder}) {}

  std::string Describe(const Strategy&) const override {
    return "the job picked from longest ago first; one never picked from counts from its submission";
  }
  std::string DescribeStep(const Strategy&, const PreviewStep& step, WallTime now) const override {
    const std::string_view first = "the job picked from longest ago first: ";
    if (step.picked->never) {
      return fmt::format("{}never, submitted {}", first, strategy_words::Ago(step.picked->ms, now));
    }
    if (step.picked->pick != 0) return fmt::format("{}by pick {}", first, step.picked->pick);
    return fmt::format("{}{}", first, strategy_words::Ago(step.picked->ms, now));
  }
  char* WriteTrace(const TracedPick& pick, const order::Plan&, const order::Plan*&, char* out,
                   const char*) const override {
    const PickJob& job = pick.job;
    return tracing::Put(out, tracing::Order{ToMillis(job.submitted_at), job.picked.ms, job.picked.serial != 0});
  }
  void ReadTrace(const Strategy&, TraceReader& in, PreviewStep& step) const override {
    const auto order = in.Get<tracing::Order>();
    step.picked = PreviewMoment{order.has ? order.second : order.first, 0, !order.has};
  }
};

}  // namespace

const Block& blocks::LeastRecent() {
  static const LeastRecentBlock block;
  return block;
}

}  // namespace allot
