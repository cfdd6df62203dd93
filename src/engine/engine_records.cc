// Folding: the engine's state as records, and back from records and journal. How they are written is in job_record.h.
#include <algorithm>

#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/jobs/job_record.h"

namespace allot {
namespace {

Error Corrupt(const char* what) {
  return {Code::kStoreCorrupt, std::string("the store holds ") + what + " that cannot be read", "restore a backup"};
}

}  // namespace

void Engine::ApplyHeader(EngineJob& job, JobHeader header) {
  const JobId id = job.id();
  jobs_.ForgetKey(job);  // while it has the terms under which it is known
  job.state = header.state;
  job.reason = header.reason;
  job.reviving = header.reviving;
  job.revive_from = header.revive_from;
  job.key = header.key;
  job.key.id = id;
  job.submitted_at = header.submitted_at;
  job.started_at = header.started_at;
  job.ended_at = header.ended_at;
  job.payload_set = header.payload.set;
  job.payload_common = header.payload.common;
  job.payload_per_task = header.payload.per_task;
  job.terms = jobs_.Intern(std::move(header.terms));
  job.extras = std::move(header.extras);
  jobs_.RememberKey(job);
  jobs_.RememberSet(job);
  highest_id_ = std::max({highest_id_, id.value, job.payload_set.value});
}

bool Engine::RestoreLeases(EngineJob& job, std::span<const StoredLease> leases) {
  for (const StoredLease& lease : leases) {
    if (job.tasks.State(lease.index) != TaskState::kReady || leases_.FindSerial(lease.serial) != nullptr) return false;
    job.tasks.Claim(lease.index);
    RestoreLease(job, lease);
  }
  return true;
}

void Engine::RestoreLease(EngineJob& job, const StoredLease& stored) {
  Lease& lease = leases_.Restore(job.id(), stored.index, stored.serial);
  lease.job = &job;
  lease.worker = stored.worker;
  lease.attempt = stored.attempt;
  lease.granted_at = stored.granted_at;
  lease.ttl = job.terms->lease;
  lease.timeout = job.terms->timeout;
  EngineWorker& holder = Stub(stored.worker);
  holder.leases.push_back(lease);
  dispatcher_->Assigned(holder);
  job.leases.push_back(lease);
  ++job.leased;
}

FoldStep Engine::Fold(std::size_t max_bytes) {
  CHECK(journal_.effects().events.empty());
  FoldStep step;
  std::size_t bytes = 0;
  while (step.records.empty() || bytes < max_bytes) {
    const std::optional<Journal::Dirty> next = journal_.TakeDirty();
    if (!next) break;
    if (next->job == kQueueRecord) {
      const QueueRecord queue{paused_, leases_.next_serial(), highest_id_};
      step.records.push_back(Record{kQueueRecord, kJobPage, ToRecord(queue, journal_.stored())});
    } else {
      EngineJob* job = FindJob(next->job);
      if (job == nullptr) continue;  // removed since, with all that was stored
      const bool whole = next->page == kJobPage;
      if (whole) job->dirty = false;
      step.records.push_back(
          Record{next->job, next->page,
                 whole ? JobRecord(*job, journal_.stored()) : PageRecord(*job, next->page, journal_.stored())});
    }
    bytes += step.records.back().blob.size() + 16;
  }
  step.floor = journal_.Floor();
  return step;
}

std::uint64_t Engine::UnfoldedEvents() const { return journal_.Unfolded(); }

Result<void> Engine::LoadRecord(JobId id, std::uint32_t page, std::string_view blob) {
  MemoryPool::Scope scope(&memory_.jobs);
  ByteReader in(blob);
  const std::optional<RecordStart> start = GetStart(in);
  if (!start) return Corrupt("a record of an unknown version");
  journal_.Loaded(start->position);
  if (id == kQueueRecord) {
    QueueRecord queue;
    if (!GetQueue(in, queue)) return Corrupt("a queue record");
    paused_ = queue.paused;
    leases_.SkipTo(queue.next_serial);
    highest_id_ = std::max(highest_id_, queue.highest_id);
    return {};
  }
  EngineJob* job = FindJob(id);
  std::vector<StoredLease> leases;
  if (page == kJobPage) {
    const std::uint64_t count = in.Varint();
    if (!in.ok() || job != nullptr || count > 0xFFFFFFFFu) return Corrupt("a job record");
    JobHeader header;
    if (!GetHeader(in, stored_exprs_, header)) return Corrupt("a job record");
    job = &jobs_.Add(id, static_cast<std::uint32_t>(count));
    job->stored = start->position;
    ApplyHeader(*job, std::move(header));
    if (!GetRest(*job, start->version, in, leases) || !RestoreLeases(*job, leases)) return Corrupt("a job record");
    return {};
  }
  if (job == nullptr || page >= job->tasks.pages() || !GetPage(*job, page, in, leases) ||
      !RestoreLeases(*job, leases)) {
    return Corrupt("a page of tasks");
  }
  if (!stored_pages_) stored_pages_ = std::make_unique<boost::unordered_flat_map<PageKey, Position>>();
  (*stored_pages_)[PageKey{id.value, page}] = start->position;
  return {};
}

Result<void> Engine::Replay(Position position, std::string_view events) {
  MemoryPool::Scope scope(&memory_.jobs);
  CHECK(position > 0);
  journal_.BeginReplay(position);
  ByteReader in(events);
  std::uint64_t count = 0;
  while (!in.AtEnd()) {
    ++count;
    if (!ReplayOne(position, in)) return Corrupt("a journal entry");
  }
  if (!in.ok()) return Corrupt("a journal entry");
  journal_.EndReplay(count);
  return {};
}

bool Engine::ReplayOne(Position position, ByteReader& in) {
  const auto type = static_cast<EventType>(in.U8());
  switch (type) {
    case EventType::kSubmit: {
      const JobId id{in.Varint()};
      const auto count = static_cast<std::uint32_t>(in.Varint());
      JobHeader header;
      if (!in.ok() || !id || !GetHeader(in, stored_exprs_, header)) return false;
      if (FindJob(id) != nullptr) return true;  // in its record, as this or as something later
      EngineJob& job = jobs_.Add(id, count);
      ApplyHeader(job, std::move(header));
      journal_.MarkJob(job);
      return true;
    }
    case EventType::kHeader: {
      EngineJob* job = FindJob(JobId{in.Varint()});
      JobHeader header;
      if (!GetHeader(in, stored_exprs_, header)) return false;
      if (job == nullptr || job->stored >= position) return true;
      ApplyHeader(*job, std::move(header));
      journal_.MarkJob(*job);
      return true;
    }
    case EventType::kState: {
      EngineJob* job = FindJob(JobId{in.Varint()});
      const std::uint8_t state = in.U8();
      const std::uint8_t reason = in.U8();
      const WallTime ended_at = FromMillis(static_cast<std::int64_t>(in.Varint()));
      const bool reviving = in.U8() != 0;
      const auto revive_from = static_cast<std::uint32_t>(in.Varint());
      if (!in.ok() || state > static_cast<std::uint8_t>(JobState::kCancelled)) return false;
      if (job == nullptr || job->stored >= position) return true;
      job->state = static_cast<JobState>(state);
      job->reason = static_cast<JobReason>(reason);
      job->ended_at = ended_at;
      job->reviving = reviving;
      job->revive_from = revive_from;
      journal_.MarkJob(*job);
      return true;
    }
    case EventType::kRemoved: {
      const JobId id{in.Varint()};
      if (!in.ok()) return false;
      journal_.MarkQueue();
      highest_id_ = std::max(highest_id_, id.value);
      EngineJob* job = FindJob(id);
      if (job == nullptr) return true;
      Drop(*job);
      return true;
    }
    case EventType::kQueuePaused:
      paused_ = in.U8() != 0;
      journal_.MarkQueue();
      return in.ok();
    default:
      return ReplayTask(position, type, in);
  }
}

bool Engine::ReplayTask(Position position, EventType type, ByteReader& in) {
  EngineJob* job = FindJob(JobId{in.Varint()});
  const auto index = static_cast<TaskIndex>(in.Varint());  // of a page for kRevive
  const std::uint64_t serial = type == EventType::kRevive ? 0 : in.Varint();
  WorkerId worker;
  std::uint32_t attempt = 0;
  WallTime time{};
  if (type == EventType::kGrant) worker = WorkerId{in.Varint()};
  if (type == EventType::kGrant || type == EventType::kWait || type == EventType::kRelease) {
    attempt = static_cast<std::uint32_t>(in.Varint());
  }
  if (type == EventType::kGrant || type == EventType::kWait) time = FromMillis(static_cast<std::int64_t>(in.Varint()));
  if (!in.ok()) return false;
  if (type == EventType::kGrant) {
    leases_.SkipTo(serial + 1);
    highest_id_ = std::max(highest_id_, worker.value);
    journal_.MarkQueue();
  }
  if (job == nullptr) return true;  // removed later on
  if (type == EventType::kGrant && job->stored < position) {
    job->picked = job->RecentAfter(Stamp{ToMillis(time), serial});
    journal_.MarkJob(*job);
  }
  const std::uint32_t page = type == EventType::kRevive ? index : PageOf(index);
  if (page >= std::max(1u, job->tasks.pages()) || (type != EventType::kRevive && index >= job->tasks.count()))
    return false;
  if (type == EventType::kGrant && job->stored < position && job->started_at == WallTime{}) {
    job->started_at = time;
    journal_.MarkJob(*job);
  }
  Position stored = job->stored;
  if (!job->one_page()) {
    stored = 0;
    if (stored_pages_) {
      if (const auto found = stored_pages_->find(PageKey{job->id().value, page}); found != stored_pages_->end())
        stored = found->second;
    }
  }
  if (stored >= position) return true;
  journal_.MarkPage(*job, page);
  if (type == EventType::kRevive) {
    job->tasks.RevivePage(page);
    return true;
  }
  const TaskState state = job->tasks.State(index);
  if (type == EventType::kGrant) {
    // That a retry became due is not logged: it was, or it could not have been granted.
    if (state == TaskState::kWaiting) job->tasks.Promote(index);
    if (job->tasks.State(index) != TaskState::kReady || leases_.FindSerial(serial) != nullptr) return false;
    job->tasks.Claim(index);
    RestoreLease(*job, {index, serial, worker, attempt, time});
    return true;
  }
  if (serial != 0) {
    Lease* lease = leases_.FindSerial(serial);
    if (lease == nullptr || lease->task.job != job->id() || lease->task.index != index || state != TaskState::kLeased)
      return false;
    EndLease(*lease);
  }
  switch (type) {
    case EventType::kDone:
      if (state == TaskState::kDone || state == TaskState::kFailed) return false;
      job->tasks.Finish(index);
      return true;
    case EventType::kFailed:
      if (state != TaskState::kLeased) return false;
      job->tasks.Fail(index);
      return true;
    case EventType::kWait:
      if (state != TaskState::kLeased) return false;
      job->tasks.Wait(index, attempt, time);
      return true;
    case EventType::kRelease:
      if (state != TaskState::kLeased) return false;
      job->tasks.Release(index, attempt);
      return true;
    default:
      return false;
  }
}

void Engine::FinishLoad(const Now& now, Duration grace) {
  MemoryPool::Scope scope(&memory_.jobs);
  Begin(now);
  stored_pages_.reset();
  stored_exprs_.clear();
  jobs_.Compact();
  const auto by_serial = [](const Lease& a, const Lease& b) { return a.task.lease.serial < b.task.lease.serial; };
  // Whoever holds nothing any more is known only from the journal's past.
  for (auto it = workers_.begin(); it != workers_.end();) {
    EngineWorker& worker = *(it++)->second;
    worker.leases.sort(by_serial);
    if (worker.leases.empty()) Remove(worker);
  }
  BeginDealing(grace);
  for (std::size_t place = 0; place < jobs_.places(); ++place) {
    EngineJob* job = jobs_.At(place);
    job->leases.sort(by_serial);
    if (job->state == JobState::kScheduled && job->key.scheduled_for <= now_.wall) job->state = JobState::kActive;
    if (!Ended(job->state)) Enter(*job);
    orders_.Know(*job);
    job->known = true;
    ++jobs_in_state_[static_cast<std::size_t>(job->state)];
    lists_.Append(*job, place);
    if (job->reviving && !Ended(job->state)) revivals_.push_back(job->id());
    timers_.Start(*job);
    for (Lease& lease : job->leases) {
      lease.granted = engine_time_ - std::max<Duration>(Duration(0), now_.wall - lease.granted_at);
      lease.told = Ended(job->state);
    }
    Refresh(*job);
  }
  loaded_ = true;
  for (auto& [id, worker] : workers_) {
    Seen(*worker);
    worker->away_until = engine_time_ + grace;
    Arm(*worker, std::min(worker->away_until, NextCheck(*worker)));
  }
  opened_.clear();
  if (held_[0].ready + held_[1].ready + held_[2].ready == 0) EndDealing();
  if (grace.count() <= 0) {
    std::vector<WorkerId> all;
    for (const auto& [id, worker] : workers_) all.push_back(id);
    for (const WorkerId id : all) CheckWorker(*FindWorker(id));
  }
  opened_.clear();
}

std::uint64_t Engine::HighestId() const { return highest_id_; }

bool Engine::UsesPayloadSet(JobId set) const { return jobs_.UsesPayloadSet(set); }

}  // namespace allot
