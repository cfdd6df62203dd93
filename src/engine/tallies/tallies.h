// SPDX-License-Identifier: Apache-2.0
// What lists, pages and metrics know without looking at jobs: counts by state, user and class, and why classes do not
// run. Called by those who change something; looked at in steps.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "engine/jobs/job.h"
#include "engine/jobs/job_table.h"
#include "engine/looks/views.h"
#include "engine/stages/stage.h"

namespace allot {

struct EngineParts;

class Tallies final : public EngineStage {
 public:
  explicit Tallies(EngineParts& parts) : p_(parts) {}

  // --- Events.
  // A job is there, or is not any more.
  void Came(const EngineJob& job) { ++jobs_in_state_[static_cast<std::size_t>(job.state)]; }
  void Went(const EngineJob& job) { --jobs_in_state_[static_cast<std::size_t>(job.state)]; }
  // It goes over to that state.
  void StateChanges(const EngineJob& job, JobState state);
  // After any change of a job's tasks or state: as JobFlow::Refresh().
  void Recount(EngineJob& job);
  // It is open no more, as far as its class is concerned, which it leaves; until the next Recount().
  void Closed(EngineJob& job);
  // What tells cells apart has changed.
  void Recell(EngineJob& job);
  // After any change of a worker, of its kind, or of how much it holds.
  void Recount(EngineWorker& worker);
  void TaskStarted(EngineJob& job);
  void LeaseEnded(const Lease& lease, EngineJob& job);
  // What is counted from now on has a time.
  void Loaded() { loaded_ = true; }

  // --- What is known.
  std::uint64_t jobs_in(JobState state) const { return jobs_in_state_[static_cast<std::size_t>(state)]; }
  std::uint64_t live_jobs() const { return jobs_in_state_[0] + jobs_in_state_[1] + jobs_in_state_[2]; }
  std::uint64_t queued_tasks() const;
  std::uint64_t retrying_tasks() const;
  std::optional<WaitReason> WaitReasonOf(const EngineJob& job) const;
  // What keeps tasks from running, those reasons first that do so for the most; as of the last second or so.
  std::vector<ReasonRow> Reasons() const;
  // A job of that class that is open; null if none was found by a short look.
  const EngineJob* OneOf(ClassId cls, std::size_t& looks) const;

  void AfterCommand(std::size_t& budget) override;
  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override;

 private:
  // Reasons are looked at once a second, while something is open.
  bool StepReasons(std::size_t& budget);
  // Puts open jobs into other cells where those are of another making by now, and looks at all of them once a second.
  bool StepBlocked(std::size_t& budget);
  bool StepCells(std::size_t& budget);
  // Which sorts of workers there are, as of now: where there are few, or `all` the same.
  void RenewSorts(bool all) const;
  void PutIntoCell(EngineJob& job, std::uint32_t tasks);
  Instant NextBlocked() const;  // in engine time
  // Makes the job the example of that row.
  void Show(const EngineJob& job, ReasonRow& row) const;

  EngineParts& p_;
  bool loaded_ = false;
  std::uint64_t jobs_in_state_[6] = {};
  // Tasks of jobs that have not ended, by their state; those of others are none.
  struct OfState {
    std::uint64_t queued = 0, retrying = 0, jobs = 0;
    std::optional<WallTime> since;  // when there were none for the last time; none: not since the start
  };
  OfState of_state_[4];
  OfState backing_off_;  // of active jobs, those with retrying tasks
  // Jobs that were paused since the start, as far as they are not too many.
  boost::unordered_flat_map<JobId, WallTime, std::hash<JobId>> jobs_paused_since_;
  Instant reasons_at_{};  // in engine time: when the last walk over them began
  bool celling_ = false;  // open jobs from the cursor on are still to be put into cells of the present making
  JobCursor recelling_;
  Instant blocked_at_{};  // in engine time: when the last walk over cells began
};

}  // namespace allot
