// SPDX-License-Identifier: Apache-2.0
// oldest: jobs in the order of submission.
#include "strategy/blocks/parts.h"
#include "strategy/blocks/tracing.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

class OldestBlock : public OrderBlock {
 public:
  OldestBlock() : OrderBlock({.elsewhere = kElsewhere, .compares = Compares::kHead, .order = &kOrder}) {}

  std::string Describe(const Strategy&) const override { return "the oldest job first, its tasks in order"; }
  std::string DescribeStep(const Strategy&, const PreviewStep& step, WallTime now) const override {
    return "the oldest job first: submitted " + strategy_words::Ago(*step.submitted, now);
  }
  char* WriteTrace(const TracedPick& pick, const order::Plan&, const order::Plan*&, char* out,
                   const char*) const override {
    const PickJob& job = pick.job;
    return tracing::Put(out, tracing::Order{ToMillis(job.submitted_at), job.picked.ms, job.picked.serial != 0});
  }
  void ReadTrace(const Strategy&, TraceReader& in, PreviewStep& step) const override {
    step.submitted = in.Get<tracing::Order>().first;
  }

 private:
  static constexpr std::string_view kElsewhere[] = {"fifo", "oldestfirst"};
  static order::Key KeyOf(const PickJob& job) { return {job.id().value, 0, 0}; }
  static constexpr order::JobOrder kOrder{KeyOf};
};

}  // namespace

const Block& blocks::Oldest() {
  static const OldestBlock block;
  return block;
}

}  // namespace allot
