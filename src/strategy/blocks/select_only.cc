// SPDX-License-Identifier: Apache-2.0
// select_only: only jobs whose key has that value.
#include "strategy/blocks/parts.h"
#include "strategy/index/wrapper_view.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

using namespace order;

class SelectView : public Wrapper {
 public:
  using Wrapper::Wrapper;
  bool Put(Cell& cell) override { return Selected(cell) && below_->Put(cell); }
  void Drop(Cell& cell) override {
    if (Selected(cell)) below_->Drop(cell);
  }
  void Moved(Cell& cell) override {
    if (Selected(cell)) below_->Moved(cell);
  }

 private:
  bool Selected(const Cell& cell) const { return cell.values[plan_.key] == plan_.wanted; }
};

class SelectOnlyBlock : public Block {
 public:
  SelectOnlyBlock() : Block({.value = true, .remaining = "of those: ", .passes = Passes::kWanted}) {}

  std::string Describe(const Strategy& node) const override { return strategy_words::Selected(node); }
  std::string DescribeStep(const Strategy& node, const PreviewStep&, WallTime) const override {
    return strategy_words::Selected(node);
  }
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return std::make_unique<SelectView>(plan, context);
  }
  // What was selected is known.
  char* WriteTrace(const TracedPick&, const Plan& plan, const Plan*& inside, char* out, const char*) const override {
    inside = plan.inner.front().get();
    return out;
  }
  void ReadTrace(const Strategy& node, TraceReader&, PreviewStep& step) const override {
    step.value = TextOf(node.value);
  }
};

}  // namespace

const Block& blocks::SelectOnly() {
  static const SelectOnlyBlock block;
  return block;
}

}  // namespace allot
