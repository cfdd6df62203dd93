// SPDX-License-Identifier: Apache-2.0
// prefer_distinct: values with fewer running tasks first, in steps of a maximum; nothing is blocked.
#include <map>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "strategy/blocks/parts.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

using namespace order;
using namespace strategy_words;

// A view for every level that has cells. A cell stands on its value's level, or below.
class LevelView : public View {
 public:
  LevelView(const Plan& plan, ViewContext& context) : plan_(plan), context_(context) {}
  bool Put(Cell& cell) override { return PutAt(cell, TrueBin(plan_, context_, cell)); }
  void Drop(Cell& cell) override {
    const auto level = levels_.find(cell.bins[plan_.bin]);
    if (level == levels_.end()) return;  // the block below did not want it
    level->second->Drop(cell);
    if (level->second->Empty()) levels_.erase(level);
  }
  void Moved(Cell& cell) override {
    const auto level = levels_.find(cell.bins[plan_.bin]);
    if (level != levels_.end()) level->second->Moved(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    for (auto level = levels_.begin(); level != levels_.end();) {
      View& view = *level->second;
      for (;;) {
        const Choice choice = view.Pick(bit, rng);
        if (context_.gave_up) return {};
        if (!choice) break;
        const std::uint32_t now = TrueBin(plan_, context_, *choice.cell);
        if (now == level->first) return choice;
        CHECK(now > level->first);
        if (!context_.Spend(plan_, *choice.cell)) return {};
        view.Drop(*choice.cell);
        PutAt(*choice.cell, now);
      }
      level = view.Empty() ? levels_.erase(level) : std::next(level);
    }
    return {};
  }
  void AddMask(std::uint64_t* out) const override {
    for (const auto& [level, view] : levels_) view->AddMask(out);
  }
  bool Empty() const override { return levels_.empty(); }
  void RefreshBit(Bit bit) override {
    for (const auto& [level, view] : levels_) view->RefreshBit(bit);
  }
  bool Shrink(std::size_t& budget) override {
    while (!levels_.empty() && levels_.begin()->second->Shrink(budget)) levels_.erase(levels_.begin());
    return levels_.empty();
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& [level, view] : levels_) bytes += 64 + view->MemoryBytes();
    return bytes;
  }

 private:
  bool PutAt(Cell& cell, std::uint32_t level) {
    cell.bins[plan_.bin] = level;
    context_.OnBin(plan_, cell);
    auto& view = levels_[level];
    if (!view) view = MakeView(*plan_.inner.front(), context_);
    if (view->Put(cell)) return true;
    if (view->Empty()) levels_.erase(level);
    return false;
  }
  const Plan& plan_;
  ViewContext& context_;
  std::map<std::uint32_t, std::unique_ptr<View>> levels_;
};

// `the user with the fewest running tasks first`.
std::string PreferredBy(const Strategy& node) {
  const Nouns nouns = NounsOf(node.key);
  if (node.max == 1) return fmt::format("the {} with the fewest running tasks first", nouns.one);
  return fmt::format("{} by their running tasks, in steps of {}", nouns.many, FormatCount(node.max));
}

class PreferDistinctBlock : public ValueBlock {
 public:
  PreferDistinctBlock()
      : ValueBlock({.max = Traits::Max::kOptional, .remaining = "among equals: ", .compares = Compares::kLevel}) {}

  std::string Describe(const Strategy& node) const override {
    const Nouns nouns = NounsOf(node.key);
    std::string out = PreferredBy(node);
    if (node.max > 1) {
      out += fmt::format(": up to {} first, then up to {}, and so on", FormatCount(node.max - 1),
                         FormatCount(2 * std::uint64_t{node.max} - 1));
    }
    if (!nouns.without.empty()) out += fmt::format("; {} count as 0", nouns.without);
    return out;
  }
  std::string DescribeStep(const Strategy& node, const PreviewStep& step, WallTime) const override {
    if (!step.value) return fmt::format("{}: {} count as 0", PreferredBy(node), NounsOf(node.key).without);
    std::string out = fmt::format("{}: {} has {}", PreferredBy(node), ValueText(step), FormatCount(*step.running));
    if (node.max > 1) out += fmt::format(", on step {}", FormatCount(*step.level + 1));
    return out;
  }
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return std::make_unique<LevelView>(plan, context);
  }
  void ReadTrace(const Strategy& node, TraceReader& in, PreviewStep& step) const override {
    const tracing::Value value = tracing::GetValue(node, in, step);
    step.max = node.max;
    step.level = step.value ? value.running / node.max : 0;
  }
};

}  // namespace

const Block& blocks::PreferDistinct() {
  static const PreferDistinctBlock block;
  return block;
}

}  // namespace allot
