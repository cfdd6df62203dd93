// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/timers.h"

namespace allot {

void JobTimers::Kept::Push(const EngineJob& job) {
  if (job.state == JobState::kScheduled) schedules.Set(job.key.scheduled_for, job.id());
  if (!Ended(job.state)) return;
  expiries.Set(job.ended_at() + job.terms->retention, job.id());
  ends.Set(job.ended_at(), job.id());
}

void JobTimers::Start(EngineJob& job) {
  kept_.Push(job);
  if (swept_) swept_->Push(job);
  if (Ended(job.state)) ++ended_jobs_;
  if (const auto due = job.tasks.NextDue(); due && *due < job.retry_timer()) {
    job.Course().retry_timer = *due;
    retries_.Set(*due, job.id());
  }
}

void JobTimers::Sweep(const JobTable& jobs) {
  constexpr std::size_t kJobs = 500;
  if (!swept_) {
    swept_ = std::make_unique<Kept>();
    sweeping_ = {};
  }
  std::size_t left = kJobs;
  const bool all = jobs.Walk(sweeping_, [&](const EngineJob* job) {
    if (left == 0) return false;
    --left;
    if (job != nullptr) swept_->Push(*job);
    return true;
  });
  if (!all) return;
  kept_ = std::move(*swept_);
  swept_.reset();
}

}  // namespace allot
