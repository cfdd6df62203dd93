// SPDX-License-Identifier: Apache-2.0
// random: every queued task is equally likely.
#include <map>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "strategy/blocks/parts.h"

namespace allot {
namespace {

using namespace order;

// Cells of equal masks are drawn together: what a kind may have is the sum over few such groups.
class RandomView : public View {
 public:
  RandomView(const Plan& plan, ViewContext& context) : plan_(plan), context_(context) {}

  bool Put(Cell& cell) override {
    const auto mask = context_.Mask(cell);
    auto& group = groups_[std::vector<std::uint64_t>(mask.begin(), mask.end())];
    if (!group) {
      group = std::make_unique<Group>();
      group->mask.assign(mask.begin(), mask.end());
    }
    const std::uint64_t tasks = cell.lottery->tasks();
    cell.leaves[plan_.leaf].drawn = {group.get(), group->cells.Add(&cell, tasks), tasks};
    group->tasks += tasks;
    ++count_;
    return true;
  }
  void Drop(Cell& cell) override {
    const auto& leaf = cell.leaves[plan_.leaf].drawn;
    auto* group = static_cast<Group*>(leaf.group);
    group->tasks -= leaf.tasks;
    group->cells.Remove(leaf.place, [this](Cell* moved, const WeightedSet<Cell*>::Place& place) {
      moved->leaves[plan_.leaf].drawn.place = place;
    });
    if (group->cells.empty()) groups_.erase(std::vector<std::uint64_t>(group->mask));
    --count_;
  }
  void Moved(Cell& cell) override {
    auto& leaf = cell.leaves[plan_.leaf].drawn;
    const std::uint64_t tasks = cell.lottery->tasks();
    if (WeightedSet<Cell*>::BucketOf(tasks) == leaf.place.bucket) {
      static_cast<Group*>(leaf.group)->tasks += tasks - leaf.tasks;
      leaf.tasks = tasks;
      return;
    }
    Drop(cell);
    Put(cell);
  }
  Choice Pick(Bit bit, Rng* rng) override {
    const auto has = [bit](const Group& group) { return (group.mask[bit / 64] >> (bit % 64) & 1) != 0; };
    std::uint64_t total = 0, tasks = 0;
    for (const auto& [mask, group] : groups_) {
      if (!has(*group)) continue;
      total += group->cells.total();
      tasks += group->tasks;
    }
    if (total == 0) return {};
    for (;;) {
      std::uint64_t point = rng == nullptr ? 0 : rng->Below(total);
      for (const auto& [mask, group] : groups_) {
        if (!has(*group)) continue;
        if (point >= group->cells.total()) {
          point -= group->cells.total();
          continue;
        }
        std::uint64_t rounded = 0;
        Cell* cell = group->cells.At(point, rounded);
        if (rng == nullptr || rng->Below(rounded) < cell->lottery->tasks()) return {cell, &plan_, tasks};
        break;
      }
    }
  }
  void AddMask(std::uint64_t* out) const override {
    for (const auto& [mask, group] : groups_) {
      for (std::size_t w = 0; w < mask.size(); ++w) out[w] |= mask[w];
    }
  }
  bool Empty() const override { return count_ == 0; }
  void RefreshBit(Bit) override {
    std::vector<Cell*> cells;
    for (const auto& [mask, group] : groups_) group->cells.ForEach([&](Cell* cell) { cells.push_back(cell); });
    groups_.clear();
    count_ = 0;
    for (Cell* cell : cells) Put(*cell);
  }
  bool Shrink(std::size_t& budget) override {
    while (!groups_.empty() && budget > 0) {
      --budget;
      groups_.erase(groups_.begin());
    }
    return groups_.empty();
  }
  std::size_t MemoryBytes() const override {
    std::size_t bytes = sizeof(*this);
    for (const auto& [mask, group] : groups_) bytes += 128 + group->cells.MemoryBytes();
    return bytes;
  }

 private:
  struct Group {
    std::vector<std::uint64_t> mask;
    WeightedSet<Cell*> cells;
    std::uint64_t tasks = 0;  // theirs
  };
  const Plan& plan_;
  ViewContext& context_;
  std::map<std::vector<std::uint64_t>, std::unique_ptr<Group>> groups_;
  std::size_t count_ = 0;
};

class RandomBlock : public Block {
 public:
  RandomBlock() : Block({.elsewhere = kElsewhere, .compares = Compares::kChance}) {}

  std::string Describe(const Strategy&) const override { return "any queued task, each as likely as the others"; }
  std::string DescribeStep(const Strategy& node, const PreviewStep& step, WallTime) const override {
    return *step.candidates == 1 ? Describe(node) + ": the only one"
                                 : fmt::format("{}: one of {}", Describe(node), FormatCount(*step.candidates));
  }
  std::unique_ptr<View> MakeView(const Plan& plan, ViewContext& context) const override {
    return std::make_unique<RandomView>(plan, context);
  }
  char* WriteTrace(const TracedPick& pick, const Plan&, const Plan*&, char* out, const char*) const override {
    return tracing::Put(out, tracing::Draw{pick.candidates});
  }
  void ReadTrace(const Strategy&, TraceReader& in, PreviewStep& step) const override {
    step.candidates = in.Get<tracing::Draw>();
  }

 private:
  static constexpr std::string_view kElsewhere[] = {"shuffle"};
};

}  // namespace

const Block& blocks::Random() {
  static const RandomBlock block;
  return block;
}

}  // namespace allot
