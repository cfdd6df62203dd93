// SPDX-License-Identifier: Apache-2.0
// Why what is open of a class does not run, in one word, and since when: known of every class at all times, at the cost
// of a few operations on words.
//
// Workers count under their kind, by how they stand. A kind has a bit in the masks of the classes that it may run, and
// one here for each way in which some of its workers stand; a look at a class is what both have in common.
//
// Codes are kRequirementsNeverTrue, kBeingMatched, kNoWorkers, kNoMatch, kWorkersDraining, kWorkersAway, kAllBusy and
// kCanStart. They are looked at when a class opens, and, if workers or verdicts have changed, all of them again, in
// steps, at most once a second.
//
// Threading:  confined to the queue's engine thread.
// Invariants: tasks and jobs of each class are exact; a class without open jobs has no reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "match/class_table.h"
#include "match/reason.h"

namespace allot {

class ClassReasons {
 public:
  // How a worker stands.
  enum class Availability : std::uint8_t { kNone, kFree, kBusy, kAway, kDraining };
  static constexpr std::size_t kAvailabilities = 5;
  // A worker, among those of its kind.
  struct Member : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::normal_link>,
                                                   boost::intrusive::tag<ClassReasons>> {
    KindId counted_kind = 0;
    Availability availability = Availability::kNone;  // none: it is not counted
  };

  struct Row {
    std::uint64_t tasks = 0;  // queued ones of open jobs
    JobId job;                // one that is open, or was; 0: none is known
    WallTime since{};         // 0: from before the start
    std::uint32_t jobs = 0;   // open ones
    ReasonCode code = ReasonCode::kCanStart;
    bool never = false;        // no worker that there could be may run it
    std::uint64_t judged = 0;  // the serial of the class of which that is known
  };

  explicit ClassReasons(const ClassTable& classes) : classes_(classes) {}
  ClassReasons(const ClassReasons&) = delete;
  ClassReasons& operator=(const ClassReasons&) = delete;

  // --- Workers.

  // The worker is of that kind, and stands like that.
  void Put(Member& member, KindId kind, Availability availability) {
    if (member.availability == availability && member.counted_kind == kind) return;
    Move(member, kind, availability);
  }
  void Remove(Member& member) {
    if (member.availability != Availability::kNone) Move(member, member.counted_kind, Availability::kNone);
  }
  // Workers of that kind may be of another now.
  template <typename KindOf>
  void OnMoved(KindId from, KindOf kind_of) {
    if (from >= kinds_.size()) return;
    std::vector<Member*> moved;  // to put one elsewhere may move all lists
    for (Member& member : kinds_[from].members) {
      if (kind_of(member) != from) moved.push_back(&member);
    }
    for (Member* member : moved) Put(*member, kind_of(*member), member->availability);
  }
  // Verdicts on a class have changed; or which classes have the bit of a kind, be it one that comes under the number of
  // another.
  void OnVerdicts(ClassId cls) {
    changed_ = changed_ || (cls < rows_.size() && rows_[cls].jobs > 0);
    ++moves_;
  }
  void OnKind() {
    changed_ = true;
    ++moves_;
  }

  // --- What no worker could run. Set once for each class, before its first job counts.
  bool Judged(ClassId cls) const { return cls < rows_.size() && rows_[cls].judged == classes_.SerialOf(cls); }
  void Judge(ClassId cls, bool never) {
    if (cls >= rows_.size()) rows_.resize(cls + 1);
    rows_[cls].judged = classes_.SerialOf(cls);
    rows_[cls].never = never;
  }

  // --- Jobs. By how much the open tasks and jobs of a class have changed; at the load of a queue nothing has a time.

  void Count(ClassId cls, JobId job, std::int64_t tasks, int jobs, std::optional<WallTime> now) {
    if (cls >= rows_.size()) rows_.resize(cls + 1);
    Row& row = rows_[cls];
    row.tasks += static_cast<std::uint64_t>(tasks);
    if (jobs == 0) return;
    if (jobs > 0) {
      row.job = job;
      if (row.jobs++ == 0) Begin(cls, row, now);
    } else {
      if (row.job == job) row.job = JobId{};
      if (--row.jobs == 0) --open_classes_;
    }
  }
  void CountTasks(ClassId cls, std::uint64_t more) { rows_[cls].tasks += more; }
  // An open job goes to another class: with the first one goes what is known.
  void Regroup(ClassId from, ClassId to, JobId job, std::uint32_t tasks);

  // --- Time.

  // Has anything changed that makes another look worth while?
  bool Due() const { return changed_ && open_classes_ > 0; }
  bool Walking() const { return walking_; }
  // Begins to look at all of them again.
  void BeginWalk() {
    changed_ = false;
    walking_ = true;
    next_ = 0;
  }
  // Goes on, taking about a microsecond for each unit off the budget. True: through.
  bool Step(std::size_t& budget, WallTime now);

  // Is another whenever a worker came, left, or stands otherwise; or verdicts have changed.
  std::uint64_t moves() const { return moves_; }

  // --- Looking.
  ReasonCode Look(ClassId cls) const;
  const Row& row(ClassId cls) const { return rows_[cls]; }
  // Upper bound of all classes that have one; those without jobs have none.
  std::size_t slots() const { return rows_.size(); }

  std::size_t MemoryBytes() const;

 private:
  struct Kind {
    std::array<std::uint32_t, kAvailabilities> workers{};
    boost::intrusive::list<
        Member,
        boost::intrusive::base_hook<boost::intrusive::list_base_hook<
            boost::intrusive::link_mode<boost::intrusive::normal_link>, boost::intrusive::tag<ClassReasons>>>,
        boost::intrusive::constant_time_size<false>>
        members;
  };

  void Move(Member& member, KindId kind, Availability availability);
  void Note(KindId kind, Availability availability, bool any);
  void Begin(ClassId cls, Row& row, std::optional<WallTime> now);

  const ClassTable& classes_;
  std::vector<Kind> kinds_;
  // By word of a mask: a bit for each kind of which some worker stands like that.
  std::vector<std::array<std::uint64_t, kAvailabilities>> bits_;
  std::size_t workers_ = 0;
  std::vector<Row> rows_;  // by class
  std::size_t open_classes_ = 0;
  bool changed_ = false, walking_ = false;
  std::uint64_t moves_ = 1;
  ClassId next_ = 0;
};

}  // namespace allot
