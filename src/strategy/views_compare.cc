// Which of two choices comes first, where they were made by different trees of the same strategy.
#include "base/check.h"
#include "strategy/views.h"

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
  switch (plan.kind) {
    case Strategy::Kind::kRandom:
      return 0;
    case Strategy::Kind::kOldest:
    case Strategy::Kind::kNewest:
    case Strategy::Kind::kPriority:
    case Strategy::Kind::kLeastRecent:
      return Sign(a.cell->leaves[plan.leaf].key, b.cell->leaves[plan.leaf].key);
    case Strategy::Kind::kSelectOnly:
    case Strategy::Kind::kMaxSimultaneous:
      break;
    case Strategy::Kind::kPreferDistinct:
      if (const int order = Sign(TrueBin(plan, shared, *a.cell), TrueBin(plan, shared, *b.cell)); order != 0) {
        return order;
      }
      break;
    case Strategy::Kind::kFair:
      if (const int order = CompareShares(plan, shared, a.cell->values[plan.key], b.cell->values[plan.key]);
          order != 0) {
        return order;
      }
      break;
    case Strategy::Kind::kOrElse:
      for (const auto& branch : plan.inner) {
        const bool of_a = branch->Has(*a.leaf), of_b = branch->Has(*b.leaf);
        if (of_a != of_b) return of_a ? -1 : 1;
        if (of_a) return Compare(*branch, shared, kind, a, b);
      }
      CHECK(false);
      return 0;
    case Strategy::Kind::kWorker:
      if (!shared.verdicts.Tiers(kind).empty()) {
        if (const int order = Sign(TierOf(shared, kind, *a.cell), TierOf(shared, kind, *b.cell)); order != 0) {
          return order;
        }
      }
      break;
  }
  return Compare(*plan.inner.front(), shared, kind, a, b);
}

}  // namespace allot::order
