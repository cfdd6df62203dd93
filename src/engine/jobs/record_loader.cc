// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/record_loader.h"

#include <algorithm>

#include "base/check.h"
#include "engine/parts.h"

namespace allot {
namespace {

Error Corrupt(const char* what) {
  return {Code::kStoreCorrupt, std::string("the store holds ") + what + " that cannot be read", "restore a backup"};
}

}  // namespace

void RecordLoader::ApplyHeader(EngineJob& job, JobHeader header) {
  const JobId id = job.id();
  p_.jobs.ForgetKey(job);  // while it has the terms under which it is known
  job.state = header.state;
  job.reason = header.reason;
  job.reviving = header.reviving;
  job.key = header.key;
  job.key.id = id;
  job.submitted_at = header.submitted_at;
  if (job.course || header.started_at != WallTime{} || header.ended_at != WallTime{} || header.revive_from > 0) {
    JobCourse& course = job.Course();
    course.started_at = header.started_at;
    course.ended_at = header.ended_at;
    course.revive_from = header.revive_from;
  }
  job.terms = p_.jobs.Intern(std::move(header.terms));
  job.extras = std::move(header.extras);
  job.SetPayload(header.payload);
  p_.jobs.RememberKey(job);
  p_.jobs.RememberSet(job);
  p_.queue.highest_id = std::max({p_.queue.highest_id, id.value, job.payload_set().value});
}

bool RecordLoader::RestoreLeases(EngineJob& job, std::span<const StoredLease> leases) {
  for (const StoredLease& lease : leases) {
    if (job.tasks.State(lease.index) != TaskState::kQueued || p_.leases.FindSerial(lease.serial) != nullptr)
      return false;
    job.tasks.Claim(lease.index);
    RestoreLease(job, lease);
  }
  return true;
}

void RecordLoader::RestoreLease(EngineJob& job, const StoredLease& stored) {
  Lease& lease = p_.leases.Restore(job.id(), stored.index, stored.serial);
  lease.job = &job;
  lease.worker = stored.worker;
  lease.attempt = stored.attempt;
  lease.granted_at = stored.granted_at;
  lease.ttl = job.terms->lease;
  lease.timeout = job.terms->timeout;
  std::optional<MemoryPool::Scope> scope(std::in_place, &p_.memory.workers);
  EngineWorker& lessee = p_.workers.Stub(stored.worker);
  lease.lessee = &lessee;
  p_.queue.SawId(stored.worker.value);
  scope.reset();
  lessee.leases.push_back(lease);
  p_.dispatcher.Started(lessee);
  job.Course().leases.push_back(lease);
  ++job.running;
}

Result<void> RecordLoader::Load(JobId id, std::uint32_t page, std::string_view blob) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  ByteReader in(blob);
  const std::optional<RecordStart> start = GetStart(in);
  if (!start) return Corrupt("a record of an unknown version");
  p_.journal.Loaded(start->position);
  if (id == kQueueRecord) {
    QueueRecord queue;
    if (!GetQueue(in, queue)) return Corrupt("a queue record");
    p_.queue.paused = queue.paused;
    p_.leases.SkipTo(queue.next_serial);
    p_.queue.highest_id = std::max(p_.queue.highest_id, queue.highest_id);
    return {};
  }
  EngineJob* job = p_.jobs.Find(id);
  std::vector<StoredLease> leases;
  if (page == kJobPage) {
    const std::uint64_t count = in.Varint();
    if (!in.ok() || job != nullptr || count > 0xFFFFFFFFu) return Corrupt("a job record");
    JobHeader header;
    if (!GetHeader(in, stored_exprs_, header)) return Corrupt("a job record");
    job = &p_.jobs.Add(id, static_cast<std::uint32_t>(count));
    job->SetStored(start->position);
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

Result<void> RecordLoader::Replay(Position position, std::string_view events) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  CHECK(position > 0);
  p_.journal.BeginReplay(position);
  ByteReader in(events);
  std::uint64_t count = 0;
  while (!in.AtEnd()) {
    ++count;
    if (!ReplayOne(position, in)) return Corrupt("a journal entry");
  }
  if (!in.ok()) return Corrupt("a journal entry");
  p_.journal.EndReplay(count);
  return {};
}

bool RecordLoader::ReplayOne(Position position, ByteReader& in) {
  const auto type = static_cast<EventType>(in.U8());
  switch (type) {
    case EventType::kSubmit: {
      const JobId id{in.Varint()};
      const auto count = static_cast<std::uint32_t>(in.Varint());
      JobHeader header;
      if (!in.ok() || !id || !GetHeader(in, stored_exprs_, header)) return false;
      if (p_.jobs.Find(id) != nullptr) return true;  // in its record, as this or as something later
      EngineJob& job = p_.jobs.Add(id, count);
      ApplyHeader(job, std::move(header));
      p_.journal.MarkJob(job);
      return true;
    }
    case EventType::kHeader: {
      EngineJob* job = p_.jobs.Find(JobId{in.Varint()});
      JobHeader header;
      if (!GetHeader(in, stored_exprs_, header)) return false;
      if (job == nullptr || job->stored() >= position) return true;
      ApplyHeader(*job, std::move(header));
      p_.journal.MarkJob(*job);
      return true;
    }
    case EventType::kState: {
      EngineJob* job = p_.jobs.Find(JobId{in.Varint()});
      const std::uint8_t state = in.U8();
      const std::uint8_t reason = in.U8();
      const WallTime ended_at = FromMillis(static_cast<std::int64_t>(in.Varint()));
      const bool reviving = in.U8() != 0;
      const auto revive_from = static_cast<std::uint32_t>(in.Varint());
      if (!in.ok() || state > static_cast<std::uint8_t>(JobState::kCancelled)) return false;
      if (job == nullptr || job->stored() >= position) return true;
      job->state = static_cast<JobState>(state);
      job->reason = static_cast<JobReason>(reason);
      job->Course().ended_at = ended_at;
      job->reviving = reviving;
      job->Course().revive_from = revive_from;
      p_.journal.MarkJob(*job);
      return true;
    }
    case EventType::kRemoved: {
      const JobId id{in.Varint()};
      if (!in.ok()) return false;
      p_.journal.MarkQueue();
      p_.queue.highest_id = std::max(p_.queue.highest_id, id.value);
      EngineJob* job = p_.jobs.Find(id);
      if (job == nullptr) return true;
      p_.flow.Drop(*job);
      return true;
    }
    case EventType::kQueuePaused:
      p_.queue.paused = in.U8() != 0;
      p_.journal.MarkQueue();
      return in.ok();
    default:
      return ReplayTask(position, type, in);
  }
}

bool RecordLoader::ReplayTask(Position position, EventType type, ByteReader& in) {
  EngineJob* job = p_.jobs.Find(JobId{in.Varint()});
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
    p_.leases.SkipTo(serial + 1);
    p_.queue.highest_id = std::max(p_.queue.highest_id, worker.value);
    p_.journal.MarkQueue();
  }
  if (job == nullptr) return true;  // removed later on
  if (type == EventType::kGrant && job->stored() < position) {
    job->picked = job->RecentAfter(Stamp{ToMillis(time), serial});
    p_.journal.MarkJob(*job);
  }
  const std::uint32_t page = type == EventType::kRevive ? index : PageOf(index);
  if (page >= std::max(1u, job->tasks.pages()) || (type != EventType::kRevive && index >= job->tasks.count()))
    return false;
  if (type == EventType::kGrant && job->stored() < position && job->started_at() == WallTime{}) {
    job->Course().started_at = time;
    p_.journal.MarkJob(*job);
  }
  Position stored = job->stored();
  if (!job->one_page()) {
    stored = 0;
    if (stored_pages_) {
      if (const auto found = stored_pages_->find(PageKey{job->id().value, page}); found != stored_pages_->end())
        stored = found->second;
    }
  }
  if (stored >= position) return true;
  p_.journal.MarkPage(*job, page);
  if (type == EventType::kRevive) {
    job->tasks.RevivePage(page);
    return true;
  }
  const TaskState state = job->tasks.State(index);
  if (type == EventType::kGrant) {
    // That a retry became due is not logged: it was, or it could not have been granted.
    if (state == TaskState::kRetrying) job->tasks.Promote(index);
    if (job->tasks.State(index) != TaskState::kQueued || p_.leases.FindSerial(serial) != nullptr) return false;
    job->tasks.Claim(index);
    RestoreLease(*job, {index, serial, worker, attempt, time});
    return true;
  }
  if (serial != 0) {
    Lease* lease = p_.leases.FindSerial(serial);
    if (lease == nullptr || lease->task.job != job->id() || lease->task.index != index || state != TaskState::kRunning)
      return false;
    p_.leasing.End(*lease);
  }
  switch (type) {
    case EventType::kDone:
      if (state == TaskState::kDone || state == TaskState::kFailed) return false;
      job->tasks.Finish(index);
      return true;
    case EventType::kFailed:
      if (state != TaskState::kRunning) return false;
      job->tasks.Fail(index);
      return true;
    case EventType::kWait:
      if (state != TaskState::kRunning) return false;
      job->tasks.Wait(index, attempt, time);
      return true;
    case EventType::kRelease:
      if (state != TaskState::kRunning) return false;
      job->tasks.Release(index, attempt);
      return true;
    default:
      return false;
  }
}

void RecordLoader::Finish(Duration grace) {
  MemoryPool::Scope scope(&p_.memory.jobs);
  stored_pages_.reset();
  stored_exprs_.clear();
  p_.jobs.Compact();
  const auto by_serial = [](const Lease& a, const Lease& b) { return a.task.lease.serial < b.task.lease.serial; };
  // Whoever holds nothing any more is known only from the journal's past.
  for (auto it = p_.workers.begin(); it != p_.workers.end();) {
    EngineWorker& worker = *(it++)->second;
    worker.leases.sort(by_serial);
    if (worker.leases.empty()) p_.leasing.Remove(worker);
  }
  p_.dealing.Begin(grace);
  for (std::size_t place = 0; place < p_.jobs.places(); ++place) {
    EngineJob* job = p_.jobs.At(place);
    job->SetStored(0);  // nothing is counted yet
    if (job->course) job->course->leases.sort(by_serial);
    if (job->state == JobState::kScheduled && job->key.scheduled_for <= p_.clock.now.wall)
      job->state = JobState::kActive;
    if (!Ended(job->state)) p_.matching.Enter(*job);
    p_.orders.Know(*job);
    job->known = true;
    p_.tallies.Came(*job);
    p_.lists.Append(*job, place);
    if (job->reviving && !Ended(job->state)) p_.reviving.Add(*job);
    p_.timers.Start(*job);
    if (job->course) {
      for (Lease& lease : job->course->leases) {
        lease.granted = p_.clock.time - std::max<Duration>(Duration(0), p_.clock.now.wall - lease.granted_at);
        lease.stop_requested = Ended(job->state);
      }
    }
    p_.flow.Refresh(*job);
  }
  p_.tallies.Loaded();
  for (auto& [id, worker] : p_.workers) {
    p_.leasing.Seen(*worker);
    worker->away_until = p_.clock.time + grace;
    p_.leasing.Arm(*worker, std::min(worker->away_until, p_.leasing.NextCheck(*worker)));
  }
  p_.wakes.opened.clear();
  if (p_.tallies.queued_tasks() == 0) p_.dealing.End();
  if (grace.count() <= 0) {
    std::vector<WorkerId> all;
    for (const auto& [id, worker] : p_.workers) all.push_back(id);
    for (const WorkerId id : all) p_.leasing.Check(*p_.workers.Find(id));
  }
  p_.wakes.opened.clear();
}

}  // namespace allot
