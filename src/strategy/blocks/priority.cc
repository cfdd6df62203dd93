// SPDX-License-Identifier: Apache-2.0
// priority: the highest first, jobs without one last; of equals the one scheduled first, then the oldest.
#include <algorithm>

#include <fmt/format.h>

#include "strategy/blocks/parts.h"
#include "strategy/blocks/tracing.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

class PriorityBlock : public OrderBlock {
 public:
  PriorityBlock() : OrderBlock({.elsewhere = kElsewhere, .compares = Compares::kHead, .order = &kOrder}) {}

  std::string Describe(const Strategy&) const override {
    return "the highest priority first, jobs without one last; of equals the one scheduled first, then the oldest";
  }
  std::string DescribeStep(const Strategy&, const PreviewStep& step, WallTime now) const override {
    return fmt::format("the highest priority first: {}, scheduled {}",
                       step.priority ? std::to_string(*step.priority) : "none",
                       strategy_words::Ago(*step.scheduled, now));
  }
  char* WriteTrace(const TracedPick& pick, const order::Plan&, const order::Plan*&, char* out,
                   const char*) const override {
    const PickJob& job = pick.job;
    return tracing::Put(out, tracing::Order{job.key.priority, ToMillis(job.key.scheduled_for), !job.key.no_priority});
  }
  void ReadTrace(const Strategy&, TraceReader& in, PreviewStep& step) const override {
    const auto order = in.Get<tracing::Order>();
    if (order.has) step.priority = order.first;
    step.scheduled = order.second;
  }

 private:
  static constexpr std::string_view kElsewhere[] = {"custompriority"};
  static order::Key KeyOf(const PickJob& job) {
    const OrderKey& key = job.key;
    // None comes after the lowest of all, which it shares its first part with: times leave the highest bit free.
    const std::uint64_t none = key.no_priority ? std::uint64_t{1} << 63 : 0;
    const std::uint64_t first = key.no_priority ? ~std::uint64_t{0} : ~order::Unsigned(key.priority);
    const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, ToMillis(key.scheduled_for)));
    return {first, none | time, key.id.value};
  }

  static constexpr order::JobOrder kOrder{KeyOf};
};

}  // namespace

const Block& blocks::Priority() {
  static const PriorityBlock block;
  return block;
}

}  // namespace allot
