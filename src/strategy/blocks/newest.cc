// SPDX-License-Identifier: Apache-2.0
// newest: jobs in the order of submission, the last one first.
#include "strategy/blocks/parts.h"
#include "strategy/blocks/tracing.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

class NewestBlock : public OrderBlock {
 public:
  NewestBlock() : OrderBlock({.elsewhere = kElsewhere, .compares = Compares::kHead, .order = &kOrder}) {}

  std::string Describe(const Strategy&) const override { return "the newest job first, its tasks in order"; }
  std::string DescribeStep(const Strategy&, const PreviewStep& step, WallTime now) const override {
    return "the newest job first: submitted " + strategy_words::Ago(*step.submitted, now);
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
  static constexpr std::string_view kElsewhere[] = {"lifo", "newestfirst"};
  static order::Key KeyOf(const PickJob& job) { return {~job.id().value, 0, 0}; }
  static constexpr order::JobOrder kOrder{KeyOf};
};

}  // namespace

const Block& blocks::Newest() {
  static const NewestBlock block;
  return block;
}

}  // namespace allot
