// Folding: the engine's state as records, and back from records and journal.
//
// Changing it: kRecordVersion is the first byte of every record; LoadRecord() reads all versions there ever were. The
// header stands in the journal too, which has no versions, and its flags are used up. A new field of it goes into the
// extension: set kExtended in the byte of the reason, and write, behind everything else, one Text() that holds a varint
// number, which is never used for another field, and a Text(), for each field that is not at its default. What is not
// there is at its default, and numbers that are not known are passed over.
#include <algorithm>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "expr/unreadable.h"
#include "match/constraints.h"

namespace allot {
namespace {

constexpr std::uint8_t kRecordVersion = 2;
constexpr std::uint8_t kWithoutPicks = 1;  // records of jobs do not say when they were picked
constexpr std::uint8_t kExtended = 128;    // in the byte of the reason: an extension follows the header

Error Corrupt(const char* what) {
  return {Code::kStoreCorrupt, std::string("the store holds ") + what + " that cannot be read", "restore a backup"};
}

void PutTime(ByteWriter& out, WallTime time) { out.Signed(ToMillis(time)); }
WallTime GetTime(ByteReader& in) { return FromMillis(in.Signed()); }
void PutSpan(ByteWriter& out, milliseconds span) { out.Varint(static_cast<std::uint64_t>(span.count())); }
milliseconds GetSpan(ByteReader& in) { return milliseconds(static_cast<std::int64_t>(in.Varint())); }

void PutMeta(ByteWriter& out, const Meta& meta) {
  out.Varint(meta.size());
  for (const auto& [key, value] : meta) {
    out.Text(key);
    out.U8(static_cast<std::uint8_t>(value.index()));
    if (const auto* text = std::get_if<std::string>(&value)) out.Text(*text);
    if (const auto* number = std::get_if<std::int64_t>(&value)) out.Signed(*number);
    if (const auto* real = std::get_if<double>(&value)) out.Real(*real);
    if (const auto* truth = std::get_if<bool>(&value)) out.U8(*truth ? 1 : 0);
  }
}

Meta GetMeta(ByteReader& in) {
  Meta meta;
  const std::uint64_t pairs = in.Varint();
  for (std::uint64_t i = 0; i < pairs && in.ok(); ++i) {
    std::string key(in.Text());
    MetaValue value;
    switch (in.U8()) {
      case 0:
        value = std::string(in.Text());
        break;
      case 1:
        value = in.Signed();
        break;
      case 2:
        value = in.Real();
        break;
      default:
        value = in.U8() != 0;
        break;
    }
    meta.emplace_back(std::move(key), std::move(value));
  }
  return meta;
}

// Does it demand more of its workers than tags?
bool Demanding(const JobTerms& terms) { return !terms.constraints.empty() || terms.requirements || terms.rank; }

}  // namespace

void Engine::EncodeHeader(const EngineJob& job, ByteWriter& out) const {
  out.U8(static_cast<std::uint8_t>(job.state));
  out.U8(static_cast<std::uint8_t>(job.reason));
  const std::uint8_t flags = (job.key.no_priority ? 1 : 0) | (job.terms->async ? 2 : 0) | (job.payload_common ? 4 : 0) |
                             (job.payload_per_task ? 8 : 0) | (job.reviving ? 16 : 0) | (job.extras ? 32 : 0) |
                             (job.terms->max_failed_tasks.percent ? 64 : 0) | (Demanding(*job.terms) ? 128 : 0);
  out.U8(flags);
  out.Signed(job.key.priority);
  PutTime(out, job.submitted_at);
  PutTime(out, job.key.scheduled_for);
  PutTime(out, job.started_at);
  PutTime(out, job.ended_at);
  out.Varint(job.payload_set.value);
  out.Varint(job.revive_from);
  const JobTerms& terms = *job.terms;
  out.Varint(terms.tags.size());
  for (const std::string& tag : terms.tags) out.Text(tag);
  out.Text(terms.user);
  out.Varint(terms.max_attempts);
  PutSpan(out, terms.backoff.first);
  out.Real(terms.backoff.factor);
  PutSpan(out, terms.backoff.max);
  out.Real(terms.backoff.jitter);
  PutSpan(out, terms.lease);
  PutSpan(out, terms.timeout);
  out.Varint(terms.max_failed_tasks.number);
  if (terms.max_failed_tasks.percent) out.Real(*terms.max_failed_tasks.percent);
  PutSpan(out, terms.retention);
  if (job.extras) {
    PutMeta(out, job.extras->meta);
    out.Text(job.extras->payload_prefix);
    out.Text(job.extras->idempotency_key);
    out.Text(job.extras->trace);
    out.Fixed64(job.extras->content[0]);
    out.Fixed64(job.extras->content[1]);
  }
  if (Demanding(terms)) {
    out.Varint(terms.constraints.size());
    for (const Properties& alternative : terms.constraints) {
      out.Varint(alternative.size());
      for (const auto& [key, value] : alternative) {
        out.Text(key);
        out.Text(value);
      }
    }
    out.Text(terms.requirements ? terms.requirements->source() : std::string());
    out.Text(terms.rank ? terms.rank->source() : std::string());
  }
}

bool Engine::ParseStored(std::string_view text, ExprPtr& expr) {
  if (text.empty()) return true;
  ExprPtr& known = parsed_[std::string(text)];
  if (!known) known = expr::Expr::Parse(text).expr;
  // One that this version does not read must not make the whole queue unreadable.
  if (!known && text.size() <= bounds::kMaxExpressionBytes && IsUtf8(text)) known = expr::Unreadable(std::string(text));
  expr = known;
  return expr != nullptr;
}

bool Engine::ParseHeader(ByteReader& in, Header& header) {
  const std::uint8_t state = in.U8();
  const std::uint8_t reason = in.U8();
  header.reason = static_cast<JobReason>(reason & ~kExtended);
  const std::uint8_t flags = in.U8();
  if (!in.ok() || state > static_cast<std::uint8_t>(JobState::kCancelled)) return false;
  header.state = static_cast<JobState>(state);
  header.key.no_priority = (flags & 1) != 0;
  header.terms.async = (flags & 2) != 0;
  header.payload.common = (flags & 4) != 0;
  header.payload.per_task = (flags & 8) != 0;
  header.reviving = (flags & 16) != 0;
  header.key.priority = in.Signed();
  header.submitted_at = GetTime(in);
  header.key.scheduled_for = GetTime(in);
  header.started_at = GetTime(in);
  header.ended_at = GetTime(in);
  header.payload.set = JobId{in.Varint()};
  header.revive_from = static_cast<std::uint32_t>(in.Varint());
  const std::uint64_t tags = in.Varint();
  JobTerms& terms = header.terms;
  for (std::uint64_t i = 0; i < tags && in.ok(); ++i) terms.tags.emplace_back(in.Text());
  terms.user = in.Text();
  terms.max_attempts = static_cast<std::uint32_t>(in.Varint());
  terms.backoff.first = GetSpan(in);
  terms.backoff.factor = in.Real();
  terms.backoff.max = GetSpan(in);
  terms.backoff.jitter = in.Real();
  terms.lease = GetSpan(in);
  terms.timeout = GetSpan(in);
  terms.max_failed_tasks.number = static_cast<std::uint32_t>(in.Varint());
  if ((flags & 64) != 0) terms.max_failed_tasks.percent = in.Real();
  terms.retention = GetSpan(in);
  if ((flags & 32) != 0) {
    header.extras = std::make_unique<JobExtras>();
    header.extras->meta = Shared<Meta>(GetMeta(in));
    header.extras->payload_prefix = in.Text();
    header.extras->idempotency_key = in.Text();
    header.extras->trace = in.Text();
    header.extras->content[0] = in.Fixed64();
    header.extras->content[1] = in.Fixed64();
  }
  if ((flags & 128) != 0) {
    const std::uint64_t alternatives = in.Varint();
    for (std::uint64_t i = 0; i < alternatives && in.ok(); ++i) {
      Properties& alternative = terms.constraints.emplace_back();
      const std::uint64_t pairs = in.Varint();
      for (std::uint64_t j = 0; j < pairs && in.ok(); ++j) {
        std::string key(in.Text());
        alternative.emplace_back(std::move(key), std::string(in.Text()));
      }
    }
    terms.constraint_tags = ConstraintTags(terms.constraints);
    if (!ParseStored(in.Text(), terms.requirements) || !ParseStored(in.Text(), terms.rank)) return false;
  }
  if ((reason & kExtended) != 0) {
    ByteReader extension(in.Text());
    while (in.ok() && !extension.AtEnd()) {
      extension.Varint();  // no field is known yet
      extension.Text();
    }
    if (!extension.ok()) return false;
  }
  return in.ok();
}

void Engine::ApplyHeader(EngineJob& job, Header header) {
  const JobId id = job.id();
  ForgetKey(job);  // while it has the terms under which it is known
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
  job.terms = Share(std::move(header.terms));
  job.extras = std::move(header.extras);
  RememberKey(job);
  if (job.payload_set && job.payload_set != id) streamed_sets_.insert(job.payload_set);
  highest_id_ = std::max({highest_id_, id.value, job.payload_set.value});
}

void Engine::SaveLeases(const EngineJob& job, std::uint32_t page, ByteWriter& out) const {
  std::uint64_t here = 0;
  for (const Lease& lease : job.leases) here += PageOf(lease.task.index) == page ? 1 : 0;
  out.Varint(here);
  for (const Lease& lease : job.leases) {
    if (PageOf(lease.task.index) != page) continue;
    out.Varint(lease.task.index);
    out.Varint(lease.task.lease.serial);
    out.Varint(lease.worker.value);
    out.Varint(lease.attempt);
    PutTime(out, lease.granted_at);
  }
}

bool Engine::LoadLeases(EngineJob& job, std::uint32_t page, ByteReader& in) {
  const std::uint64_t here = in.Varint();
  for (std::uint64_t i = 0; i < here && in.ok(); ++i) {
    const auto index = static_cast<TaskIndex>(in.Varint());
    const std::uint64_t serial = in.Varint();
    const WorkerId worker{in.Varint()};
    const auto attempt = static_cast<std::uint32_t>(in.Varint());
    const WallTime granted_at = GetTime(in);
    if (!in.ok() || index >= job.tasks.count() || PageOf(index) != page ||
        job.tasks.State(index) != TaskState::kReady || leases_.FindSerial(serial) != nullptr) {
      return false;
    }
    job.tasks.Claim(index);
    RestoreLease(job, index, serial, worker, attempt, granted_at);
  }
  return in.ok();
}

void Engine::RestoreLease(EngineJob& job, TaskIndex index, std::uint64_t serial, WorkerId worker, std::uint32_t attempt,
                          WallTime granted_at) {
  Lease& lease = leases_.Restore(job.id(), index, serial);
  lease.job = &job;
  lease.worker = worker;
  lease.attempt = attempt;
  lease.granted_at = granted_at;
  lease.ttl = job.terms->lease;
  lease.timeout = job.terms->timeout;
  EngineWorker& holder = Stub(worker);
  holder.leases.push_back(lease);
  dispatcher_->Assigned(holder);
  job.leases.push_back(lease);
  ++job.leased;
}

std::string Engine::SaveJob(const EngineJob& job) const {
  std::string blob;
  ByteWriter out(blob);
  out.U8(kRecordVersion);
  out.Varint(position_ - 1);
  out.Varint(job.tasks.count());
  EncodeHeader(job, out);
  out.Signed(job.picked.ms);
  out.Varint(job.picked.serial);
  const bool with_page = job.tasks.count() > 0 && job.one_page() && !job.tasks.Untouched(0);
  out.U8(with_page ? 1 : 0);
  if (with_page) {
    job.tasks.SavePage(0, out);
    SaveLeases(job, 0, out);
  }
  return blob;
}

std::string Engine::SavePage(const EngineJob& job, std::uint32_t page) const {
  std::string blob;
  ByteWriter out(blob);
  out.U8(kRecordVersion);
  out.Varint(position_ - 1);
  job.tasks.SavePage(page, out);
  SaveLeases(job, page, out);
  return blob;
}

std::string Engine::SaveQueue() const {
  std::string blob;
  ByteWriter out(blob);
  out.U8(kRecordVersion);
  out.Varint(position_ - 1);
  out.U8(paused_ ? 1 : 0);
  out.Varint(leases_.next_serial());
  out.Varint(highest_id_);
  return blob;
}

bool Engine::LoadQueue(std::string_view blob) {
  ByteReader in(blob);
  if (const std::uint8_t version = in.U8(); version == 0 || version > kRecordVersion) return false;
  position_ = std::max(position_, in.Varint() + 1);
  paused_ = in.U8() != 0;
  leases_.SkipTo(in.Varint());
  highest_id_ = std::max(highest_id_, in.Varint());
  return in.ok();
}

FoldStep Engine::Fold(std::size_t max_bytes) {
  CHECK(effects_.events.empty());
  FoldStep step;
  std::size_t bytes = 0;
  while (!dirty_.empty() && (step.records.empty() || bytes < max_bytes)) {
    const Dirty next = dirty_.front();
    dirty_.pop_front();
    if (next.job == kQueueRecord) {
      queue_dirty_ = false;
      step.records.push_back(Record{kQueueRecord, kJobPage, SaveQueue()});
    } else {
      if (next.page != kJobPage) dirty_pages_.erase(PageKey{next.job.value, next.page});
      EngineJob* job = FindJob(next.job);
      if (job == nullptr) continue;  // removed since, with all that was stored
      if (next.page == kJobPage) job->dirty = false;
      step.records.push_back(
          Record{next.job, next.page, next.page == kJobPage ? SaveJob(*job) : SavePage(*job, next.page)});
    }
    bytes += step.records.back().blob.size() + 16;
  }
  step.floor = dirty_.empty() ? position_ - 1 : dirty_.front().since - 1;
  while (!event_totals_.empty() && event_totals_.front().first <= step.floor) {
    events_at_floor_ = event_totals_.front().second;
    event_totals_.pop_front();
  }
  return step;
}

std::uint64_t Engine::UnfoldedEvents() const { return events_total_ - events_at_floor_; }

EngineJob& Engine::AddLoaded(JobId id, std::uint32_t count) {
  auto owned = std::make_unique<EngineJob>(id, count);
  EngineJob& job = *owned;
  jobs_.Insert(id, std::move(owned));
  // Records come in order of id.
  if (by_id_.empty() || by_id_.back().first < id) {
    by_id_.emplace_back(id, &job);
    return job;
  }
  const auto place = std::lower_bound(by_id_.begin(), by_id_.end(), id,
                                      [](const auto& entry, JobId key) { return entry.first < key; });
  by_id_.emplace(place, id, &job);
  return job;
}

Result<void> Engine::LoadRecord(JobId id, std::uint32_t page, std::string_view blob) {
  MemoryPool::Scope scope(&memory_.jobs);
  if (id == kQueueRecord) {
    if (!LoadQueue(blob)) return Corrupt("a queue record");
    return {};
  }
  ByteReader in(blob);
  const std::uint8_t version = in.U8();
  if (version == 0 || version > kRecordVersion) return Corrupt("a record of an unknown version");
  const Position stored = in.Varint();
  position_ = std::max(position_, stored + 1);
  EngineJob* job = FindJob(id);
  if (page == kJobPage) {
    const std::uint64_t count = in.Varint();
    if (!in.ok() || job != nullptr || count > 0xFFFFFFFFu) return Corrupt("a job record");
    Header header;
    if (!ParseHeader(in, header)) return Corrupt("a job record");
    job = &AddLoaded(id, static_cast<std::uint32_t>(count));
    job->stored = stored;
    ApplyHeader(*job, std::move(header));
    if (version > kWithoutPicks) {
      job->picked.ms = in.Signed();
      job->picked.serial = in.Varint();
    }
    if (in.U8() != 0 && (!job->tasks.LoadPage(0, in) || !LoadLeases(*job, 0, in))) return Corrupt("a job record");
    if (!in.ok()) return Corrupt("a job record");
    return {};
  }
  if (job == nullptr || page >= job->tasks.pages() || !job->tasks.LoadPage(page, in) || !LoadLeases(*job, page, in)) {
    return Corrupt("a page of tasks");
  }
  if (!stored_pages_) stored_pages_ = std::make_unique<boost::unordered_flat_map<PageKey, Position>>();
  (*stored_pages_)[PageKey{id.value, page}] = stored;
  return {};
}

Result<void> Engine::Replay(Position position, std::string_view events) {
  MemoryPool::Scope scope(&memory_.jobs);
  CHECK(position > 0);
  position_ = position;
  ByteReader in(events);
  std::uint64_t count = 0;
  while (!in.AtEnd()) {
    ++count;
    if (!ReplayOne(position, in)) return Corrupt("a journal entry");
  }
  if (!in.ok()) return Corrupt("a journal entry");
  events_total_ += count;
  event_totals_.emplace_back(position, events_total_);
  position_ = position + 1;
  return {};
}

bool Engine::ReplayOne(Position position, ByteReader& in) {
  const auto type = static_cast<EventType>(in.U8());
  switch (type) {
    case EventType::kSubmit: {
      const JobId id{in.Varint()};
      const auto count = static_cast<std::uint32_t>(in.Varint());
      Header header;
      if (!in.ok() || !id || !ParseHeader(in, header)) return false;
      if (FindJob(id) != nullptr) return true;  // in its record, as this or as something later
      EngineJob& job = AddLoaded(id, count);
      ApplyHeader(job, std::move(header));
      MarkJob(job);
      return true;
    }
    case EventType::kHeader: {
      EngineJob* job = FindJob(JobId{in.Varint()});
      Header header;
      if (!ParseHeader(in, header)) return false;
      if (job == nullptr || job->stored >= position) return true;
      ApplyHeader(*job, std::move(header));
      MarkJob(*job);
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
      MarkJob(*job);
      return true;
    }
    case EventType::kRemoved: {
      const JobId id{in.Varint()};
      if (!in.ok()) return false;
      MarkQueue();
      highest_id_ = std::max(highest_id_, id.value);
      EngineJob* job = FindJob(id);
      if (job == nullptr) return true;
      Drop(*job);
      return true;
    }
    case EventType::kQueuePaused:
      paused_ = in.U8() != 0;
      MarkQueue();
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
    MarkQueue();
  }
  if (job == nullptr) return true;  // removed later on
  if (type == EventType::kGrant && job->stored < position) {
    job->picked = job->RecentAfter(Stamp{ToMillis(time), serial});
    MarkJob(*job);
  }
  const std::uint32_t page = type == EventType::kRevive ? index : PageOf(index);
  if (page >= std::max(1u, job->tasks.pages()) || (type != EventType::kRevive && index >= job->tasks.count()))
    return false;
  if (type == EventType::kGrant && job->stored < position && job->started_at == WallTime{}) {
    job->started_at = time;
    MarkJob(*job);
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
  MarkPage(*job, page);
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
    RestoreLease(*job, index, serial, worker, attempt, time);
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
  parsed_.clear();
  std::erase_if(by_id_, [](const auto& entry) { return entry.second == nullptr; });
  holes_ = 0;
  const auto by_serial = [](const Lease& a, const Lease& b) { return a.task.lease.serial < b.task.lease.serial; };
  // Whoever holds nothing any more is known only from the journal's past.
  for (auto it = workers_.begin(); it != workers_.end();) {
    EngineWorker& worker = *(it++)->second;
    worker.leases.sort(by_serial);
    if (worker.leases.empty()) Remove(worker);
  }
  BeginDealing(grace);
  std::size_t place = 0;
  for (const auto& [id, job] : by_id_) {
    job->leases.sort(by_serial);
    if (job->state == JobState::kScheduled && job->key.scheduled_for <= now_.wall) job->state = JobState::kActive;
    if (!Ended(job->state)) Enter(*job);
    orders_.Know(*job);
    job->known = true;
    ++jobs_in_state_[static_cast<std::size_t>(job->state)];
    ListJob(*job, place++);
    if (job->reviving && !Ended(job->state)) revivals_.push_back(id);
    StartTimers(*job);
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

bool Engine::UsesPayloadSet(JobId set) const {
  if (streamed_sets_.contains(set)) return true;
  const EngineJob* job = FindJob(set);
  return job != nullptr && job->payload_set == set;
}

}  // namespace allot
