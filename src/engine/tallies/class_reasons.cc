// SPDX-License-Identifier: Apache-2.0
#include "engine/tallies/class_reasons.h"

#include <algorithm>

namespace allot {

void ClassReasons::Note(KindId kind, Availability availability, bool any) {
  std::uint64_t& word = bits_[kind / 64][static_cast<std::size_t>(availability)];
  const std::uint64_t flag = std::uint64_t{1} << (kind % 64);
  word = any ? word | flag : word & ~flag;
  changed_ = true;
}

void ClassReasons::Move(Member& member, KindId kind, Availability availability) {
  ++moves_;
  if (kind >= kinds_.size()) {
    // Lists cannot be moved by copying what they begin with.
    std::vector<Kind> wider(std::max<std::size_t>(kind + 1, 2 * kinds_.size()));
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      wider[i].workers = kinds_[i].workers;
      wider[i].members.swap(kinds_[i].members);
    }
    kinds_.swap(wider);
    bits_.resize((kinds_.size() + 63) / 64);
  }
  const bool elsewhere = member.counted_kind != kind;
  if (member.availability != Availability::kNone) {
    Kind& left = kinds_[member.counted_kind];
    if (--left.workers[static_cast<std::size_t>(member.availability)] == 0) {
      Note(member.counted_kind, member.availability, false);
    }
    if (elsewhere || availability == Availability::kNone) {
      left.members.erase(left.members.iterator_to(member));
      --workers_;
    }
  }
  if (availability != Availability::kNone) {
    Kind& joined = kinds_[kind];
    if (joined.workers[static_cast<std::size_t>(availability)]++ == 0) Note(kind, availability, true);
    if (elsewhere || member.availability == Availability::kNone) {
      joined.members.push_back(member);
      ++workers_;
    }
  }
  member.counted_kind = kind;
  member.availability = availability;
}

void ClassReasons::Begin(ClassId cls, Row& row, std::optional<WallTime> now) {
  ++open_classes_;
  row.code = Look(cls);
  row.since = now.value_or(WallTime{});
}

void ClassReasons::Regroup(ClassId from, ClassId to, JobId job, std::uint32_t tasks) {
  if (from == to) return;
  if (to >= rows_.size()) rows_.resize(to + 1);
  const Row known = rows_[from];
  const bool first = rows_[to].jobs == 0;
  Count(from, job, -std::int64_t{tasks}, -1, std::nullopt);
  Count(to, job, tasks, 1, std::nullopt);
  changed_ = true;
  if (!first) return;
  rows_[to].code = known.code;
  rows_[to].since = known.since;
}

ReasonCode ClassReasons::Look(ClassId cls) const {
  if (cls < rows_.size() && rows_[cls].never && Judged(cls)) return ReasonCode::kRequirementsNeverTrue;
  if (workers_ == 0) return ReasonCode::kNoWorkers;
  if (classes_.Unsettled(cls)) return ReasonCode::kBeingMatched;
  const auto mask = classes_.kinds().Mask(cls);
  std::uint64_t busy = 0, away = 0, draining = 0;
  const std::size_t words = std::min(mask.size(), bits_.size());
  for (std::size_t word = 0; word < words; ++word) {
    const auto& some = bits_[word];
    if ((mask[word] & some[static_cast<std::size_t>(Availability::kFree)]) != 0) return ReasonCode::kCanStart;
    busy |= mask[word] & some[static_cast<std::size_t>(Availability::kBusy)];
    away |= mask[word] & some[static_cast<std::size_t>(Availability::kAway)];
    draining |= mask[word] & some[static_cast<std::size_t>(Availability::kDraining)];
  }
  if (busy != 0) return ReasonCode::kAllBusy;
  if (away != 0) return ReasonCode::kWorkersAway;
  return draining != 0 ? ReasonCode::kWorkersDraining : ReasonCode::kNoMatch;
}

bool ClassReasons::Step(std::size_t& budget, WallTime now) {
  constexpr std::size_t kLooksPerUnit = 16;
  const std::size_t words = 1 + bits_.size() / 8;
  std::size_t looks = budget * kLooksPerUnit;
  for (; walking_ && next_ < rows_.size(); ++next_) {
    const std::size_t cost = rows_[next_].jobs > 0 ? words : 1;
    if (looks < cost) break;
    looks -= cost;
    Row& row = rows_[next_];
    if (row.jobs == 0) continue;
    if (const ReasonCode code = Look(next_); code != row.code) {
      row.code = code;
      row.since = now;
    }
  }
  budget = std::min(budget, looks / kLooksPerUnit);
  if (walking_ && next_ >= rows_.size()) walking_ = false;
  return !walking_;
}

std::size_t ClassReasons::MemoryBytes() const {
  return kinds_.capacity() * sizeof(Kind) + bits_.capacity() * sizeof(bits_[0]) + rows_.capacity() * sizeof(Row);
}

}  // namespace allot
