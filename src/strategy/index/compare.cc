// Which cells a strategy gives, and which of two choices comes first, for those who look at cells one by one.
#include "base/check.h"
#include "strategy/index/views.h"

namespace allot::order {
namespace {

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Which of the kind's ranks the cell's class has; less is wanted more.
std::size_t TierOf(const Shared& shared, Bit kind, const Cell& cell) {
  std::size_t at = 0;
  for (const auto& [rank, tier] : shared.verdicts.Tiers(kind)) {
    if (shared.Has(cell, tier)) break;
    ++at;
  }
  return at;
}

}  // namespace

int Compare(const Plan& plan, const Shared& shared, Bit kind, const Choice& a, const Choice& b) {
  switch (plan.compares) {
    case Compares::kInside:
      break;
    case Compares::kHead:
      return Sign(a.cell->leaves[plan.leaf].key, b.cell->leaves[plan.leaf].key);
    case Compares::kChance:
      return 0;
    case Compares::kLevel:
      if (const int order = Sign(TrueBin(plan, shared, *a.cell), TrueBin(plan, shared, *b.cell)); order != 0) {
        return order;
      }
      break;
    case Compares::kShare:
      if (const int order = CompareShares(plan, shared, a.cell->values[plan.key], b.cell->values[plan.key]);
          order != 0) {
        return order;
      }
      break;
    case Compares::kBranches:
      for (const auto& branch : plan.inner) {
        const bool of_a = branch->Has(*a.leaf), of_b = branch->Has(*b.leaf);
        if (of_a != of_b) return of_a ? -1 : 1;
        if (of_a) return Compare(*branch, shared, kind, a, b);
      }
      CHECK(false);
      return 0;
    case Compares::kRank:
      if (!shared.verdicts.Tiers(kind).empty()) {
        if (const int order = Sign(TierOf(shared, kind, *a.cell), TierOf(shared, kind, *b.cell)); order != 0) {
          return order;
        }
      }
      break;
    case Compares::kOwn:
      if (const int order = plan.block->CompareValues(plan, shared, a.cell->values[plan.key], b.cell->values[plan.key]);
          order != 0) {
        return order;
      }
      break;
  }
  return Compare(*plan.inner.front(), shared, kind, a, b);
}

const Plan* LeafFor(const Plan& plan, const Shared& shared, const Cell& cell) {
  switch (plan.passes) {
    case Passes::kAll:
      break;
    case Passes::kWanted:
      if (cell.values[plan.key] != plan.wanted) return nullptr;
      break;
    case Passes::kBelowMax:
      if (TrueBin(plan, shared, cell) > 0) return nullptr;
      break;
    case Passes::kBranches:
      for (const auto& branch : plan.inner) {
        if (const Plan* leaf = LeafFor(*branch, shared, cell)) return leaf;
      }
      return nullptr;
    case Passes::kOwn:
      if (!plan.block->PassesValue(plan, shared, cell.values[plan.key])) return nullptr;
      break;
  }
  return plan.inner.empty() ? &plan : LeafFor(*plan.inner.front(), shared, cell);
}

}  // namespace allot::order
