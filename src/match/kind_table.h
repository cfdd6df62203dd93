// SPDX-License-Identifier: Apache-2.0
// What was found of who may run what: kinds of workers, which are sets of profiles with equal verdicts on all classes,
// their bits in the masks of classes, and the tiers of those that rank. ClassTable finds verdicts, and puts them here.
//
// Threading:  confined to the queue's engine thread.
// Invariants: ids of kinds without profiles are used again; a kind that has become like another stays until
// MergeLike().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "match/class_masks.h"
#include "match/traits.h"

namespace allot {

class KindTable {
 public:
  using ProfileId = std::uint32_t;
  // The ranks that workers of a kind give to the classes that they match, the highest first, each with a bit of its own
  // in the masks.
  using TierMap = std::map<double, KindId, std::greater<>>;

  // --- Looking.

  // The kinds that may run it, a bit each.
  std::span<const std::uint64_t> Mask(ClassId cls) const { return masks_[cls]; }
  std::size_t mask_words() const { return masks_.words(); }
  bool Matches(KindId kind, ClassId cls) const { return masks_.Has(cls, kind); }
  Verdict Of(KindId kind, ClassId cls) const;
  // Empty for those that do not rank.
  const TierMap& Tiers(KindId kind) const { return kinds_[kind].tiers; }
  // Does the worker itself rank jobs, in any way?
  bool HasWorkerRanks(KindId kind) const { return !kinds_[kind].tiers.empty(); }
  // How many workers may run it.
  std::uint32_t WorkersFor(ClassId cls) const;
  std::size_t size() const { return live_; }
  // Upper bound of all ids, for arrays beside this table.
  std::size_t slots() const { return kinds_.size(); }
  bool Live(KindId kind) const { return kind < kinds_.size() && !kinds_[kind].profiles.empty(); }
  KindId KindOf(ProfileId profile) const { return profiles_[profile].kind; }
  const std::vector<ProfileId>& ProfilesOf(KindId kind) const { return kinds_[kind].profiles; }
  std::size_t MemoryBytes() const;

  // --- For ClassTable.

  // One more class, that nobody may run.
  void AddClass() { masks_.Add(); }
  // The verdict of all workers of the kind on that class. Profiles of others may be alike now: see MergeLike().
  void Put(KindId kind, ClassId cls, const Verdict& verdict);
  // Puts the profile, of so many workers, into the kind that has just these verdicts, one for each class.
  void Enlist(ProfileId profile, std::uint32_t workers, const std::vector<Verdict>& verdicts);
  // Into that kind, which has its verdicts.
  void Join(ProfileId profile, std::uint32_t workers, KindId kind);
  void Delist(ProfileId profile);
  void AddWorkers(ProfileId profile, std::int32_t workers);
  // Profiles that differ from their kind in this get one of their own, which it gives.
  KindId Split(KindId kind, ClassId cls, const Verdict& verdict, const std::vector<ProfileId>& leaving);
  // The kind that it is one with now, if there was one that is like it.
  std::optional<KindId> MergeLike(KindId kind);

  // What others are to be notified of since it was taken.
  struct Changes {
    bool widened = false;       // masks have more words
    std::vector<KindId> kinds;  // whether any class has this bit, of a kind or a tier
    std::vector<KindId> moved;  // workers of that kind may be of another now
  };
  Changes& changes() { return changes_; }

 private:
  struct Ranks {
    double job, worker;
  };
  struct Kind {
    std::vector<ProfileId> profiles;  // empty: free
    std::uint32_t workers = 0;
    std::uint64_t hash = 0;
    std::unordered_map<ClassId, Ranks> ranks;  // where one is not 0
    TierMap tiers;                             // as soon as one of the worker's ranks is not 0
    std::uint32_t classes = 0;                 // of a tier: how many have its bit
  };
  struct Profile {
    KindId kind = 0;
    std::uint32_t workers = 0;
  };

  static std::uint64_t Contribution(ClassId cls, const Verdict& verdict);
  KindId NewBit();
  void FreeBit(KindId bit);
  // Of a kind that ranks: whether the class is on that tier.
  void PutTier(Kind& kind, ClassId cls, double rank, bool on);
  // Puts the bits, and not the hash.
  void PutBits(KindId kind, ClassId cls, const Verdict& verdict);
  KindId NewKind();
  void FreeKind(KindId kind);
  void Rehash(KindId kind, std::uint64_t hash);
  bool SameVerdicts(KindId a, KindId b) const;

  ClassMasks masks_;
  std::vector<Kind> kinds_;
  std::vector<KindId> free_;
  std::size_t live_ = 0;
  std::unordered_multimap<std::uint64_t, KindId> hashes_;
  std::vector<Profile> profiles_;
  Changes changes_;
};

}  // namespace allot
