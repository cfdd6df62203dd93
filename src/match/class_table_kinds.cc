// Kinds: sets of profiles with equal verdicts, their bits in the masks, and the tiers of those that rank.
#include <algorithm>

#include "base/check.h"
#include "match/class_table.h"

namespace allot {

KindId ClassTable::NewBit() {
  if (free_kinds_.empty()) {
    free_kinds_.push_back(static_cast<KindId>(kinds_.size()));
    kinds_.emplace_back();
    if (masks_.Widen(kinds_.size())) widened_ = true;
  }
  const KindId bit = free_kinds_.back();
  free_kinds_.pop_back();
  changed_kinds_.push_back(bit);
  return bit;
}

void ClassTable::FreeBit(KindId bit) {
  for (ClassId cls = 0; cls < classes_.size(); ++cls) masks_.Set(cls, bit, false);
  kinds_[bit] = Kind{};
  free_kinds_.push_back(bit);
  changed_kinds_.push_back(bit);
}

void ClassTable::PutTier(Kind& kind, ClassId cls, double rank, bool on) {
  if (on) {
    // Making a bit may move the kinds: whoever holds a reference to one asks again.
    const auto found = kind.tiers.find(rank);
    CHECK(found != kind.tiers.end());
    masks_.Set(cls, found->second, true);
    ++kinds_[found->second].classes;
    changed_kinds_.push_back(found->second);
    return;
  }
  const auto found = kind.tiers.find(rank);
  masks_.Set(cls, found->second, false);
  changed_kinds_.push_back(found->second);
  if (--kinds_[found->second].classes > 0 || kind.tiers.size() == 1) return;
  FreeBit(found->second);
  kind.tiers.erase(found);
}

KindId ClassTable::NewKind() {
  const KindId kind = NewBit();
  ++live_kinds_;
  kind_hashes_.emplace(0, kind);
  return kind;
}

void ClassTable::FreeKind(KindId kind) {
  Rehash(kind, 0);
  auto [it, last] = kind_hashes_.equal_range(0);
  while (it->second != kind) {
    ++it;
    CHECK(it != last);
  }
  kind_hashes_.erase(it);
  for (const auto& [rank, bit] : TierMap(kinds_[kind].tiers)) FreeBit(bit);
  FreeBit(kind);
  --live_kinds_;
}

void ClassTable::PutVerdict(KindId kind, ClassId cls, const Verdict& verdict) {
  const Verdict old = Known(cls, kind);
  masks_.Set(cls, kind, verdict.match);
  if (verdict.job_rank != 0 || verdict.worker_rank != 0) {
    kinds_[kind].ranks[cls] = Ranks{verdict.job_rank, verdict.worker_rank};
  } else if (!kinds_[kind].ranks.empty()) {
    kinds_[kind].ranks.erase(cls);
  }
  const auto tier = [&](double rank) {
    if (!kinds_[kind].tiers.contains(rank)) {
      const KindId bit = NewBit();  // may move all kinds
      kinds_[kind].tiers.emplace(rank, bit);
    }
  };
  if (kinds_[kind].tiers.empty()) {
    if (verdict.worker_rank == 0) return;
    // The first that is not 0: from now on all classes are on tiers.
    changed_kinds_.push_back(kind);
    tier(0);
    for (ClassId other = 0; other < classes_.size(); ++other) {
      if (other != cls && Matches(kind, other)) PutTier(kinds_[kind], other, 0, true);
    }
  } else if (old.match) {
    PutTier(kinds_[kind], cls, old.worker_rank + 0.0, false);
  }
  if (!verdict.match) return;
  tier(verdict.worker_rank + 0.0);
  PutTier(kinds_[kind], cls, verdict.worker_rank + 0.0, true);
}

void ClassTable::Rehash(KindId kind, std::uint64_t hash) {
  if (kinds_[kind].hash == hash) return;
  auto [it, last] = kind_hashes_.equal_range(kinds_[kind].hash);
  while (it->second != kind) {
    ++it;
    CHECK(it != last);
  }
  kind_hashes_.erase(it);
  kind_hashes_.emplace(hash, kind);
  kinds_[kind].hash = hash;
}

void ClassTable::Enlist(ProfileId id, const std::vector<Verdict>& verdicts) {
  std::uint64_t hash = 0;
  for (ClassId cls = 0; cls < verdicts.size(); ++cls) hash ^= Contribution(cls, verdicts[cls]);
  const auto same = [&](KindId kind) {
    for (ClassId cls = 0; cls < verdicts.size(); ++cls) {
      if (classes_[cls].members > 0 && Known(cls, kind) != verdicts[cls]) return false;
    }
    return true;
  };
  auto [it, last] = kind_hashes_.equal_range(hash);
  while (it != last && !same(it->second)) ++it;
  KindId kind = 0;
  if (it != last) {
    kind = it->second;
  } else {
    kind = NewKind();
    for (ClassId cls = 0; cls < verdicts.size(); ++cls) {
      if (verdicts[cls].match) PutVerdict(kind, cls, verdicts[cls]);
    }
    Rehash(kind, hash);
    changed_kinds_.push_back(kind);
  }
  profiles_[id].kind = kind;
  Kind& joined = kinds_[kind];
  joined.profiles.push_back(id);
  joined.workers += profiles_[id].members;
}

void ClassTable::Delist(ProfileId id) {
  const KindId kind = profiles_[id].kind;
  Kind& left = kinds_[kind];
  const auto found = std::find(left.profiles.begin(), left.profiles.end(), id);
  CHECK(found != left.profiles.end());
  *found = left.profiles.back();
  left.profiles.pop_back();
  if (left.profiles.empty()) FreeKind(kind);
}

void ClassTable::Split(KindId kind, ClassId cls, const Verdict& verdict, const std::vector<ProfileId>& leaving) {
  const KindId made = NewKind();
  for (ClassId other = 0; other < classes_.size(); ++other) {
    if (other != cls && Matches(kind, other)) PutVerdict(made, other, Known(other, kind));
  }
  PutVerdict(made, cls, verdict);
  Rehash(made, kinds_[kind].hash ^ Contribution(cls, Known(cls, kind)) ^ Contribution(cls, verdict));
  Kind& from = kinds_[kind];
  Kind& to = kinds_[made];
  for (const ProfileId id : leaving) {
    from.workers -= profiles_[id].members;
    to.profiles.push_back(id);
    to.workers += profiles_[id].members;
    profiles_[id].kind = made;
  }
  std::erase_if(from.profiles, [&](ProfileId id) { return profiles_[id].kind == made; });
  changed_kinds_.push_back(made);
  moved_kinds_.push_back(kind);
}

bool ClassTable::SameVerdicts(KindId a, KindId b) const {
  for (ClassId cls = 0; cls < classes_.size(); ++cls) {
    if (classes_[cls].members > 0 && Known(cls, a) != Known(cls, b)) return false;
  }
  return true;
}

std::optional<KindId> ClassTable::MergeLike(KindId kind) {
  if (kinds_[kind].profiles.empty()) return std::nullopt;
  const auto [first, last] = kind_hashes_.equal_range(kinds_[kind].hash);
  const auto found = std::find_if(
      first, last, [&](const auto& entry) { return entry.second != kind && SameVerdicts(kind, entry.second); });
  if (found == last) return std::nullopt;
  KindId from = kind;
  KindId into = found->second;
  if (kinds_[from].profiles.size() > kinds_[into].profiles.size()) std::swap(from, into);
  Kind& target = kinds_[into];
  for (const ProfileId id : kinds_[from].profiles) {
    profiles_[id].kind = into;
    target.profiles.push_back(id);
  }
  target.workers += kinds_[from].workers;
  kinds_[from].profiles.clear();
  FreeKind(from);
  moved_kinds_.push_back(from);
  return into;  // several may have become alike at once
}

void ClassTable::NotifyListener() {
  const auto each = [](std::vector<std::uint32_t>& ids, auto notify) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    for (const std::uint32_t id : ids) notify(id);
    ids.clear();
  };
  if (widened_) {
    widened_ = false;
    listener_.OnWidth();
  }
  each(changed_kinds_, [this](KindId kind) { listener_.OnKind(kind); });
  each(changed_classes_, [this](ClassId cls) { listener_.OnClass(cls); });
  each(moved_kinds_, [this](KindId kind) { listener_.OnMoved(kind); });
}

}  // namespace allot
