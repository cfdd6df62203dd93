// SPDX-License-Identifier: Apache-2.0
#include "strategy/open_classes.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace allot {

void OpenClasses::Open(ClassId cls) {
  if (jobs_.size() <= cls) {
    jobs_.resize(cls + 1);
    open_.resize(cls / 64 + 1);
  }
  if (jobs_[cls]++ > 0) return;
  open_[cls / 64] |= std::uint64_t{1} << (cls % 64);
  ++count_;
  ++version_;
}

void OpenClasses::Close(ClassId cls) {
  CHECK(Has(cls));
  if (--jobs_[cls] > 0) return;
  open_[cls / 64] &= ~(std::uint64_t{1} << (cls % 64));
  --count_;
  ++version_;
}

void OpenClasses::OnKind(KindId kind) {
  ++version_;  // it may be a tier of another
  if (kind < seen_.size()) seen_[kind].version = 0;
}

void OpenClasses::Count(KindId kind, Seen& seen) {
  if (count_ > kExact && seen.version != 0) {
    paid_ += kPaid;
    if (paid_ < count_) {
      seen.matched = std::min(seen.matched, count_);
      return;
    }
    paid_ = 0;
  }
  seen = {0, false, version_};
  // Those on the tier of rank 0 are not ranked. (A kind that ranks has a tier for every class that it matches.)
  const KindTable::TierMap& tiers = verdicts_.kinds().Tiers(kind);
  const auto zero = tiers.find(0.0);
  for (std::size_t word = 0; word < open_.size(); ++word) {
    for (std::uint64_t bits = open_[word]; bits != 0; bits &= bits - 1) {
      const auto cls = static_cast<ClassId>(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
      if (!verdicts_.kinds().Matches(kind, cls)) continue;
      ++seen.matched;
      if (!tiers.empty() && (zero == tiers.end() || !verdicts_.kinds().Matches(zero->second, cls))) seen.ranked = true;
    }
  }
}

}  // namespace allot
