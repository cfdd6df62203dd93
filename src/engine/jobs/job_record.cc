// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_record.h"

#include "base/bounds.h"
#include "base/json.h"
#include "expr/unreadable.h"
#include "match/constraints.h"

namespace allot {
namespace {

constexpr std::uint8_t kWithoutPicks = 1;  // records of jobs do not say when they were picked
constexpr std::uint8_t kExtended = 128;    // in the byte of the reason: an extension follows the header

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

// Of those that have no place of their own in the header.
std::string ExtensionOf(const EngineJob& job) {
  std::string text;
  if (job.extras) PutNumbered(kJobDetails, *job.extras, text);
  return text;
}

bool ReadExtension(std::string_view text, JobHeader& header) {
  JobDetails none;
  return GetNumbered(kJobDetails, text, header.extras ? *header.extras : none);
}

}  // namespace

void PutHeader(const EngineJob& job, ByteWriter& out) {
  out.U8(static_cast<std::uint8_t>(job.state));
  const std::string extension = ExtensionOf(job);
  out.U8(static_cast<std::uint8_t>(job.reason) | (extension.empty() ? 0 : kExtended));
  const bool extras = job.extras && !job.extras->empty();
  const std::uint8_t flags = (job.key.no_priority ? 1 : 0) | (job.terms->async ? 2 : 0) | (job.payload_common ? 4 : 0) |
                             (job.payload_per_task ? 8 : 0) | (job.reviving ? 16 : 0) | (extras ? 32 : 0) |
                             (job.terms->max_failed_tasks.percent ? 64 : 0) | (Demanding(*job.terms) ? 128 : 0);
  out.U8(flags);
  out.Signed(job.key.priority);
  PutTime(out, job.submitted_at);
  PutTime(out, job.key.scheduled_for);
  PutTime(out, job.started_at());
  PutTime(out, job.ended_at());
  out.Varint(job.payload_set().value);
  out.Varint(job.revive_from());
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
  if (extras) {
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
  if (!extension.empty()) out.Text(extension);
}

bool StoredExprs::Read(std::string_view text, ExprPtr& expr) {
  if (text.empty()) return true;
  ExprPtr& known = parsed_[std::string(text)];
  if (!known) known = expr::Expr::Parse(text).expr;
  if (!known && text.size() <= bounds::kMaxExpressionBytes && IsUtf8(text)) known = expr::Unreadable(std::string(text));
  expr = known;
  return expr != nullptr;
}

bool GetHeader(ByteReader& in, StoredExprs& exprs, JobHeader& header) {
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
    header.extras->meta = Interned<Meta>(GetMeta(in));
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
    if (!exprs.Read(in.Text(), terms.requirements) || !exprs.Read(in.Text(), terms.rank)) return false;
  }
  if ((reason & kExtended) != 0 && !ReadExtension(in.Text(), header)) return false;
  return in.ok();
}

void PutStart(Position position, ByteWriter& out) {
  out.U8(kRecordVersion);
  out.Varint(position);
}

std::optional<RecordStart> GetStart(ByteReader& in) {
  RecordStart start;
  start.version = in.U8();
  if (start.version == 0 || start.version > kRecordVersion) return std::nullopt;
  start.position = in.Varint();
  return start;
}

void PutPage(const EngineJob& job, std::uint32_t page, ByteWriter& out) {
  job.tasks.SavePage(page, out);
  std::uint64_t here = 0;
  for (const Lease& lease : job.leases()) here += PageOf(lease.task.index) == page ? 1 : 0;
  out.Varint(here);
  for (const Lease& lease : job.leases()) {
    if (PageOf(lease.task.index) != page) continue;
    out.Varint(lease.task.index);
    out.Varint(lease.task.lease.serial);
    out.Varint(lease.worker.value);
    out.Varint(lease.attempt);
    PutTime(out, lease.granted_at);
  }
}

bool GetPage(EngineJob& job, std::uint32_t page, ByteReader& in, std::vector<StoredLease>& leases) {
  if (!job.tasks.LoadPage(page, in)) return false;
  const std::uint64_t here = in.Varint();
  for (std::uint64_t i = 0; i < here && in.ok(); ++i) {
    StoredLease& lease = leases.emplace_back();
    lease.index = static_cast<TaskIndex>(in.Varint());
    lease.serial = in.Varint();
    lease.worker = WorkerId{in.Varint()};
    lease.attempt = static_cast<std::uint32_t>(in.Varint());
    lease.granted_at = GetTime(in);
    if (!in.ok() || lease.index >= job.tasks.count() || PageOf(lease.index) != page) return false;
  }
  return in.ok();
}

std::string JobRecord(const EngineJob& job, Position position) {
  std::string blob;
  ByteWriter out(blob);
  PutStart(position, out);
  out.Varint(job.tasks.count());
  PutHeader(job, out);
  out.Signed(job.picked.ms);
  out.Varint(job.picked.serial);
  const bool with_page = job.tasks.count() > 0 && job.one_page() && !job.tasks.Untouched(0);
  out.U8(with_page ? 1 : 0);
  if (with_page) PutPage(job, 0, out);
  return blob;
}

std::string PageRecord(const EngineJob& job, std::uint32_t page, Position position) {
  std::string blob;
  ByteWriter out(blob);
  PutStart(position, out);
  PutPage(job, page, out);
  return blob;
}

bool GetRest(EngineJob& job, std::uint8_t version, ByteReader& in, std::vector<StoredLease>& leases) {
  if (version > kWithoutPicks) {
    job.picked.ms = in.Signed();
    job.picked.serial = in.Varint();
  }
  if (in.U8() != 0 && !GetPage(job, 0, in, leases)) return false;
  return in.ok();
}

std::string ToRecord(const QueueRecord& queue, Position position) {
  std::string blob;
  ByteWriter out(blob);
  PutStart(position, out);
  out.U8(queue.paused ? 1 : 0);
  out.Varint(queue.next_serial);
  out.Varint(queue.highest_id);
  return blob;
}

bool GetQueue(ByteReader& in, QueueRecord& queue) {
  queue.paused = in.U8() != 0;
  queue.next_serial = in.Varint();
  queue.highest_id = in.Varint();
  return in.ok();
}

}  // namespace allot
