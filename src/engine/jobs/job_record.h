// SPDX-License-Identifier: Apache-2.0
// A job as it is stored: in records, and in the journal's events of submits and changes.
//
// Changing it: kRecordVersion is the first byte of every record, and readers know all versions there ever were. The
// header stands in the journal too, which has no versions. A new field of a job goes into the header's extension: a
// row with a number in base/job_details.h. One that is not given is not written; numbers that are not known are passed
// over, so that an older program reads what a newer one wrote, without its new fields.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "engine/jobs/job.h"

namespace allot {

inline constexpr std::uint8_t kRecordVersion = 2;

// All of a job but its tasks, and what follows from others.
struct JobHeader {
  JobState state = JobState::kActive;
  JobReason reason = JobReason::kNone;
  bool reviving = false;
  std::uint32_t revive_from = 0;
  OrderKey key;
  WallTime submitted_at{}, started_at{}, ended_at{};
  PayloadRef payload;
  JobTerms terms;
  std::unique_ptr<JobExtras> extras;
};

// Expressions of jobs that are read, each parsed once.
class StoredExprs {
 public:
  // False where the text cannot have been an expression. One that this version does not read becomes an unreadable one,
  // which is ERROR: it must not make the whole queue unreadable. An empty text leaves `expr` as it is.
  bool Read(std::string_view text, ExprPtr& expr);
  void clear() { parsed_.clear(); }

 private:
  std::unordered_map<std::string, ExprPtr> parsed_;
};

void PutHeader(const EngineJob& job, ByteWriter& out);
// False where it cannot be read.
bool GetHeader(ByteReader& in, StoredExprs& exprs, JobHeader& header);

// What every record begins with.
struct RecordStart {
  std::uint8_t version = kRecordVersion;
  Position position = 0;  // events up to here are in it
};
void PutStart(Position position, ByteWriter& out);
// None: of a version that is not known.
std::optional<RecordStart> GetStart(ByteReader& in);

// A lease as pages have it.
struct StoredLease {
  TaskIndex index = 0;
  std::uint64_t serial = 0;
  WorkerId worker;
  std::uint32_t attempt = 0;
  WallTime granted_at{};
};

// One page of a job's tasks, with its leases.
void PutPage(const EngineJob& job, std::uint32_t page, ByteWriter& out);
// The tasks that were running are queued, and `leases` says who had them. False where it cannot be read.
bool GetPage(EngineJob& job, std::uint32_t page, ByteReader& in, std::vector<StoredLease>& leases);

// The job's own record: header, when it was picked, and its page, where it has only one.
std::string JobRecord(const EngineJob& job, Position position);
std::string PageRecord(const EngineJob& job, std::uint32_t page, Position position);
// What stands behind the header in a job's own record of that version.
bool GetRest(EngineJob& job, std::uint8_t version, ByteReader& in, std::vector<StoredLease>& leases);

// The queue's own.
struct QueueRecord {
  bool paused = false;
  std::uint64_t next_serial = 0;
  std::uint64_t highest_id = 0;
};
std::string ToRecord(const QueueRecord& queue, Position position);
bool GetQueue(ByteReader& in, QueueRecord& queue);

}  // namespace allot
