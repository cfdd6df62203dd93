// SPDX-License-Identifier: Apache-2.0
// or_else: the first of its branches that has a task.
#include <algorithm>

#include <fmt/format.h>
#include <boost/container/small_vector.hpp>

#include "strategy/blocks/parts.h"

namespace allot {
namespace {

using namespace order;

class OrElseView : public View {
 public:
  OrElseView(const Plan& plan, ViewContext& context) : context_(context) {
    for (const auto& inner : plan.inner) branches_.push_back(MakeView(*inner, context));
  }
  bool Put(Cell& cell) override {
    bool taken = false;
    for (const auto& branch : branches_) taken = branch->Put(cell) || taken;
    return taken;
  }
  void Drop(Cell& cell) override {
    for (const auto& branch : branches_) branch->Drop(cell);
  }
  void Moved(Cell& cell) override {
    for (const auto& branch : branches_) branch->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    for (const auto& branch : branches_) {
      const Choice choice = branch->Pick(bit, rng);
      if (choice || context_.gave_up) return choice;
    }
    return {};
  }
  void AddMask(std::uint64_t* out) const override {
    for (const auto& branch : branches_) branch->AddMask(out);
  }
  bool Empty() const override {
    return std::all_of(branches_.begin(), branches_.end(), [](const auto& branch) { return branch->Empty(); });
  }
  void RefreshBit(Bit bit) override {
    for (const auto& branch : branches_) branch->RefreshBit(bit);
  }
  bool Shrink(std::size_t& budget) override {
    return std::all_of(branches_.begin(), branches_.end(), [&](const auto& branch) { return branch->Shrink(budget); });
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& branch : branches_) bytes += branch->MemoryBytes();
    return bytes;
  }

 private:
  const ViewContext& context_;
  boost::container::small_vector<std::unique_ptr<View>, 2> branches_;
};

class OrElseBlock : public Block {
 public:
  OrElseBlock() : Block({.elsewhere = kElsewhere, .passes = Passes::kBranches, .compares = Compares::kBranches}) {}

  std::string Describe(const Strategy&) const override { return "the first of these that has a task:"; }
  std::string DescribeStep(const Strategy&, const PreviewStep& step, WallTime) const override {
    return step.branch == 1 ? fmt::format("the first choice of {}", step.branches)
                            : fmt::format("choice {} of {}: there is no task in {}", step.branch, step.branches,
                                          step.branch == 2 ? "the first" : "those before");
  }
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return std::make_unique<OrElseView>(plan, context);
  }
  char* WriteTrace(const TracedPick& pick, const Plan& plan, const Plan*& inside, char* out,
                   const char*) const override {
    std::size_t branch = 0;
    while (!plan.inner[branch]->Has(pick.leaf)) ++branch;
    inside = plan.inner[branch].get();
    return tracing::Put(out, static_cast<tracing::Branch>(branch));
  }
  void ReadTrace(const Strategy& node, TraceReader& in, PreviewStep& step) const override {
    step.branch = in.Get<tracing::Branch>() + 1u;
    step.branches = static_cast<std::uint32_t>(node.inner.size());
  }

 private:
  static constexpr std::string_view kElsewhere[] = {"fallback"};
};

}  // namespace

const Block& blocks::OrElse() {
  static const OrElseBlock block;
  return block;
}

}  // namespace allot
