// SPDX-License-Identifier: Apache-2.0
// max_simultaneous: no task of a value that has as many running tasks as it may have.
#include <fmt/format.h>

#include "base/text.h"
#include "strategy/blocks/parts.h"
#include "strategy/index/wrapper_view.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

using namespace order;
using namespace strategy_words;

// Cells of values that are full stay in the view below until a pick meets them.
class GateView : public Wrapper {
 public:
  using Wrapper::Wrapper;
  bool Put(Cell& cell) override {
    ++count_;
    cell.bins[plan_.bin] = TrueBin(plan_, context_, cell);
    context_.OnBin(plan_, cell);
    if (Open(cell)) below_->Put(cell);
    return true;
  }
  void Drop(Cell& cell) override {
    --count_;
    if (Open(cell)) below_->Drop(cell);
  }
  void Moved(Cell& cell) override {
    if (Open(cell)) below_->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    for (;;) {
      const Choice choice = below_->Pick(bit, rng);
      if (!choice || TrueBin(plan_, context_, *choice.cell) == 0) return choice;
      if (!context_.Spend(plan_, *choice.cell)) return {};
      below_->Drop(*choice.cell);
      choice.cell->bins[plan_.bin] = 1;
      context_.OnBin(plan_, *choice.cell);
    }
  }
  bool Empty() const override { return count_ == 0; }

 private:
  bool Open(const Cell& cell) const { return cell.bins[plan_.bin] == 0; }
  std::size_t count_ = 0;
};

// `nothing of a user that has 5 running tasks already`.
std::string CappedAt(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  return node.percent ? fmt::format("nothing of a {} whose running tasks take {} % of all slots", nouns.one, node.max)
                      : fmt::format("nothing of a {} that has {} running task{} already", nouns.one,
                                    FormatCount(node.max), node.max == 1 ? "" : "s");
}

class MaxSimultaneousBlock : public ValueBlock {
 public:
  MaxSimultaneousBlock()
      : ValueBlock({.max = Traits::Max::kRequired,
                    .percent = true,
                    .remaining = "of the rest: ",
                    .passes = Passes::kBelowMax}) {}

  std::string Describe(const Strategy& node) const override {
    const Nouns nouns = NounsOf(node.key);
    std::string out = CappedAt(node);
    if (node.percent) out += " (rounded down, at least 1)";
    if (!nouns.without.empty()) out += fmt::format("; {} are not limited", nouns.without);
    return out;
  }
  std::string DescribeStep(const Strategy& node, const PreviewStep& step, WallTime) const override {
    if (!step.value) return fmt::format("{}: {} are not limited", CappedAt(node), NounsOf(node.key).without);
    std::string out = fmt::format("{}: {} has {}", CappedAt(node), ValueText(step), FormatCount(*step.running));
    if (node.percent)
      out += fmt::format(", and may have {} (of {} slots)", FormatCount(*step.max), FormatCount(*step.slots));
    return out;
  }
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return std::make_unique<GateView>(plan, context);
  }
  void ReadTrace(const Strategy& node, TraceReader& in, PreviewStep& step) const override {
    tracing::GetValue(node, in, step);
    step.max = MaxOf(node.max, node.percent, step.slots.value_or(0));
  }
};

}  // namespace

const Block& blocks::MaxSimultaneous() {
  static const MaxSimultaneousBlock block;
  return block;
}

}  // namespace allot
