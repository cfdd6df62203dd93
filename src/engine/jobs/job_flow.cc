// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_flow.h"

#include "base/check.h"
#include "engine/parts.h"

namespace allot {

void JobFlow::Refresh(EngineJob& job) {
  const bool open = job.state == JobState::kActive && !job.reviving && job.tasks.queued() > 0;
  if (!open && job.open) Close(job, Grouping::kAnew);
  p_.orders.SetQueued(job, job.tasks.queued());
  if (open && job.open) p_.dispatcher.SetQueued(job);
  if (open && !job.open) {
    if (p_.orders.updates().MayUpdate()) {
      job.opening = false;
      Open(job, Grouping::kAnew);
    } else {
      p_.order_updates.OpenLater(job);
    }
  }
  p_.tallies.Recount(job);
}

void JobFlow::Open(EngineJob& job, Grouping grouping) {
  if (grouping == Grouping::kAnew) p_.limiting.Open(job);
  p_.ordering.Open(job);
  p_.dealing.Open(job);
  p_.wakes.Opened(job.cls);
}

void JobFlow::Close(EngineJob& job, Grouping grouping) {
  p_.dealing.Close(job);
  p_.ordering.Close(job);
  if (grouping == Grouping::kAnew) p_.limiting.Close(job);
}

void JobFlow::SetState(EngineJob& job, JobState state) {
  p_.tallies.StateChanges(job, state);
  job.state = state;
}

void JobFlow::LogState(EngineJob& job) {
  ByteWriter event = p_.journal.Event(EventType::kState);
  event.Varint(job.id().value);
  event.U8(static_cast<std::uint8_t>(job.state));
  event.U8(static_cast<std::uint8_t>(job.reason));
  event.Varint(static_cast<std::uint64_t>(ToMillis(job.ended_at())));
  event.U8(job.reviving ? 1 : 0);
  event.Varint(job.revive_from());
  p_.journal.MarkJob(job);
  p_.journal.Progress(job);
}

void JobFlow::LogHeader(EngineJob& job) {
  ByteWriter event = p_.journal.Event(EventType::kHeader);
  event.Varint(job.id().value);
  PutHeader(job, event);
  p_.journal.MarkJob(job);
  p_.journal.Progress(job);
}

void JobFlow::Settle(EngineJob& job) {
  if (Ended(job.state) || job.reviving) return;
  const JobTasks& tasks = job.tasks;
  if (tasks.failed() > job.terms->max_failed_tasks.For(tasks.count())) {
    End(job, JobState::kFailed, JobReason::kTooManyFailed);
  } else if (tasks.done() + tasks.failed() == tasks.count()) {
    End(job, JobState::kDone, JobReason::kNone);
  }
}

void JobFlow::End(EngineJob& job, JobState state, JobReason reason) {
  SetState(job, state);
  job.reason = reason;
  {
    MemoryPool::Scope scope(&p_.memory.jobs);
    job.Course().ended_at = p_.clock.now.wall;
  }
  LogState(job);
  p_.timers.Start(job);
  p_.journal.effects().ended.push_back(job.id());
  p_.stopping.Begin(job);
  Refresh(job);
  p_.matching.Leave(job);
}

void JobFlow::Forget(EngineJob& job) {
  const JobId id = job.id();
  CHECK(Ended(job.state));
  p_.journal.Event(EventType::kRemoved).Varint(id.value);
  p_.journal.MarkQueue();
  p_.journal.effects().removed.push_back(Removal{id, job.payload_set()});
  p_.tallies.Went(job);
  p_.timers.Uncount();
  Drop(job);
}

void JobFlow::Drop(EngineJob& job) {
  CHECK(!job.open);
  while (!job.leases().empty()) p_.leasing.End(job.course->leases.front());
  if (job.known) {
    p_.tallies.Recount(job);
    p_.orders.Forget(job);
    p_.lists.Remove(job);
  }
  p_.jobs.ForgetKey(job);
  p_.jobs.ForgetSet(job);
  p_.matching.Leave(job);
  const bool known = job.known;
  if (p_.jobs.Remove(job) && known) p_.lists.Compact();
}

}  // namespace allot
