// SPDX-License-Identifier: Apache-2.0
#include "match/kind_table.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace allot {
namespace {

std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 27;
  x *= 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

std::uint64_t KindTable::Contribution(ClassId cls, const Verdict& verdict) {
  if (!verdict.match) return 0;
  // + 0.0: the two zeros are one rank.
  return Mix(Mix(Mix(cls + 1) ^ std::bit_cast<std::uint64_t>(verdict.job_rank + 0.0)) ^
             std::bit_cast<std::uint64_t>(verdict.worker_rank + 0.0));
}

Verdict KindTable::Of(KindId kind, ClassId cls) const {
  if (!Matches(kind, cls)) return {};
  Verdict verdict{true, 0, 0};
  const auto found = kinds_[kind].ranks.find(cls);
  if (found != kinds_[kind].ranks.end()) {
    verdict.job_rank = found->second.job;
    verdict.worker_rank = found->second.worker;
  }
  return verdict;
}

std::uint32_t KindTable::WorkersFor(ClassId cls) const {
  std::uint32_t workers = 0;
  const auto mask = Mask(cls);
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (std::uint64_t bits = mask[word]; bits != 0; bits &= bits - 1) {
      workers += kinds_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))].workers;
    }
  }
  return workers;
}

KindId KindTable::NewBit() {
  if (free_.empty()) {
    free_.push_back(static_cast<KindId>(kinds_.size()));
    kinds_.emplace_back();
    if (masks_.Widen(kinds_.size())) changes_.widened = true;
  }
  const KindId bit = free_.back();
  free_.pop_back();
  changes_.kinds.push_back(bit);
  return bit;
}

void KindTable::FreeBit(KindId bit) {
  for (ClassId cls = 0; cls < masks_.size(); ++cls) masks_.Set(cls, bit, false);
  kinds_[bit] = Kind{};
  free_.push_back(bit);
  changes_.kinds.push_back(bit);
}

void KindTable::PutTier(Kind& kind, ClassId cls, double rank, bool on) {
  if (on) {
    // Making a bit may move the kinds: whoever holds a reference to one asks again.
    const auto found = kind.tiers.find(rank);
    CHECK(found != kind.tiers.end());
    masks_.Set(cls, found->second, true);
    ++kinds_[found->second].classes;
    changes_.kinds.push_back(found->second);
    return;
  }
  const auto found = kind.tiers.find(rank);
  masks_.Set(cls, found->second, false);
  changes_.kinds.push_back(found->second);
  if (--kinds_[found->second].classes > 0 || kind.tiers.size() == 1) return;
  FreeBit(found->second);
  kind.tiers.erase(found);
}

KindId KindTable::NewKind() {
  const KindId kind = NewBit();
  ++live_;
  hashes_.emplace(0, kind);
  return kind;
}

void KindTable::FreeKind(KindId kind) {
  Rehash(kind, 0);
  auto [it, last] = hashes_.equal_range(0);
  while (it->second != kind) {
    ++it;
    CHECK(it != last);
  }
  hashes_.erase(it);
  for (const auto& [rank, bit] : TierMap(kinds_[kind].tiers)) FreeBit(bit);
  FreeBit(kind);
  --live_;
}

void KindTable::Put(KindId kind, ClassId cls, const Verdict& verdict) {
  const Verdict old = Of(kind, cls);
  PutBits(kind, cls, verdict);
  Rehash(kind, kinds_[kind].hash ^ Contribution(cls, old) ^ Contribution(cls, verdict));
}

void KindTable::PutBits(KindId kind, ClassId cls, const Verdict& verdict) {
  const Verdict old = Of(kind, cls);
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
    changes_.kinds.push_back(kind);
    tier(0);
    for (ClassId other = 0; other < masks_.size(); ++other) {
      if (other != cls && Matches(kind, other)) PutTier(kinds_[kind], other, 0, true);
    }
  } else if (old.match) {
    PutTier(kinds_[kind], cls, old.worker_rank + 0.0, false);
  }
  if (!verdict.match) return;
  tier(verdict.worker_rank + 0.0);
  PutTier(kinds_[kind], cls, verdict.worker_rank + 0.0, true);
}

void KindTable::Rehash(KindId kind, std::uint64_t hash) {
  if (kinds_[kind].hash == hash) return;
  auto [it, last] = hashes_.equal_range(kinds_[kind].hash);
  while (it->second != kind) {
    ++it;
    CHECK(it != last);
  }
  hashes_.erase(it);
  hashes_.emplace(hash, kind);
  kinds_[kind].hash = hash;
}

void KindTable::Enlist(ProfileId profile, std::uint32_t workers, const std::vector<Verdict>& verdicts) {
  std::uint64_t hash = 0;
  for (ClassId cls = 0; cls < verdicts.size(); ++cls) hash ^= Contribution(cls, verdicts[cls]);
  const auto same = [&](KindId kind) {
    for (ClassId cls = 0; cls < verdicts.size(); ++cls) {
      if (Of(kind, cls) != verdicts[cls]) return false;
    }
    return true;
  };
  auto [it, last] = hashes_.equal_range(hash);
  while (it != last && !same(it->second)) ++it;
  KindId kind = 0;
  if (it != last) {
    kind = it->second;
  } else {
    kind = NewKind();
    for (ClassId cls = 0; cls < verdicts.size(); ++cls) {
      if (verdicts[cls].match) PutBits(kind, cls, verdicts[cls]);
    }
    Rehash(kind, hash);
    changes_.kinds.push_back(kind);
  }
  Join(profile, workers, kind);
}

void KindTable::Join(ProfileId profile, std::uint32_t workers, KindId kind) {
  if (profile >= profiles_.size()) profiles_.resize(profile + 1);
  profiles_[profile] = {kind, workers};
  kinds_[kind].profiles.push_back(profile);
  kinds_[kind].workers += workers;
}

void KindTable::Delist(ProfileId profile) {
  const KindId kind = profiles_[profile].kind;
  Kind& left = kinds_[kind];
  left.workers -= profiles_[profile].workers;
  profiles_[profile].workers = 0;
  const auto found = std::find(left.profiles.begin(), left.profiles.end(), profile);
  CHECK(found != left.profiles.end());
  *found = left.profiles.back();
  left.profiles.pop_back();
  if (left.profiles.empty()) FreeKind(kind);
}

void KindTable::AddWorkers(ProfileId profile, std::int32_t workers) {
  profiles_[profile].workers += static_cast<std::uint32_t>(workers);
  kinds_[profiles_[profile].kind].workers += static_cast<std::uint32_t>(workers);
}

KindId KindTable::Split(KindId kind, ClassId cls, const Verdict& verdict, const std::vector<ProfileId>& leaving) {
  const KindId made = NewKind();
  for (ClassId other = 0; other < masks_.size(); ++other) {
    if (other != cls && Matches(kind, other)) PutBits(made, other, Of(kind, other));
  }
  PutBits(made, cls, verdict);
  Rehash(made, kinds_[kind].hash ^ Contribution(cls, Of(kind, cls)) ^ Contribution(cls, verdict));
  Kind& from = kinds_[kind];
  Kind& to = kinds_[made];
  for (const ProfileId id : leaving) {
    from.workers -= profiles_[id].workers;
    to.profiles.push_back(id);
    to.workers += profiles_[id].workers;
    profiles_[id].kind = made;
  }
  std::erase_if(from.profiles, [&](ProfileId id) { return profiles_[id].kind == made; });
  changes_.kinds.push_back(made);
  changes_.moved.push_back(kind);
  return made;
}

bool KindTable::SameVerdicts(KindId a, KindId b) const {
  for (ClassId cls = 0; cls < masks_.size(); ++cls) {
    if (Of(a, cls) != Of(b, cls)) return false;
  }
  return true;
}

std::optional<KindId> KindTable::MergeLike(KindId kind) {
  if (kinds_[kind].profiles.empty()) return std::nullopt;
  const auto [first, last] = hashes_.equal_range(kinds_[kind].hash);
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
  changes_.moved.push_back(from);
  return into;  // several may have become alike at once
}

std::size_t KindTable::MemoryBytes() const {
  constexpr std::size_t kMapEntry = 48;
  std::size_t bytes = masks_.MemoryBytes() + kinds_.capacity() * sizeof(Kind) + profiles_.capacity() * sizeof(Profile);
  for (const Kind& kind : kinds_) bytes += kind.profiles.capacity() * sizeof(ProfileId) + kind.ranks.size() * kMapEntry;
  return bytes;
}

}  // namespace allot
