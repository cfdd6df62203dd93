// SPDX-License-Identifier: Apache-2.0
// worker: the asking worker's own rank and strategy.
#include "base/json.h"
#include "strategy/blocks/parts.h"
#include "strategy/index/wrapper_view.h"

namespace allot {
namespace {

using namespace order;

// Where the worker's own strategy begins: of a kind that ranks jobs, the highest rank that has a task.
class RankView : public Wrapper {
 public:
  using Wrapper::Wrapper;
  Choice Pick(Bit bit, Rng* rng) override {
    const auto& tiers = context_.verdicts.kinds().Tiers(bit);
    if (tiers.empty()) return below_->Pick(bit, rng);
    for (const auto& [rank, tier] : tiers) {
      const Choice choice = below_->Pick(tier, rng);
      if (choice || context_.gave_up) return choice;
    }
    // Nothing is there; whoever looked for it without ranks takes note.
    return below_->Pick(bit, rng);
  }
};

class WorkerBlock : public Block {
 public:
  WorkerBlock() : Block({.compares = Compares::kRank}) {}

  std::string Describe(const Strategy&) const override { return "the worker's own rank and strategy"; }
  std::string DescribeStep(const Strategy& node, const PreviewStep& step, WallTime) const override {
    if (!step.rank) return "the worker's own strategy";
    std::string rank;
    AppendJsonReal(*step.rank, rank);
    return Describe(node) + ": rank " + rank;
  }
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return std::make_unique<RankView>(plan, context);
  }
  char* WriteTrace(const TracedPick& pick, const Plan& plan, const Plan*& inside, char* out,
                   const char*) const override {
    inside = plan.inner.front().get();
    const double rank = pick.ranked ? pick.rules.context->verdicts.kinds().Of(pick.kind, pick.job.cls).worker_rank : 0;
    return tracing::Put(out, tracing::Rank{rank, pick.ranked});
  }
  void ReadTrace(const Strategy&, TraceReader& in, PreviewStep& step) const override {
    const auto rank = in.Get<tracing::Rank>();
    if (rank.ranked) step.rank = rank.rank;
  }
};

}  // namespace

const Block& blocks::Worker() {
  static const WorkerBlock block;
  return block;
}

}  // namespace allot
