// SPDX-License-Identifier: Apache-2.0
// From records and journal back to jobs, after a start. How they are written is in job_record.h.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/bytes.h"
#include "engine/jobs/job_record.h"
#include "engine/jobs/journal.h"

namespace allot {

struct EngineParts;

class RecordLoader {
 public:
  explicit RecordLoader(EngineParts& parts) : p_(parts) {}

  Result<void> Load(JobId job, std::uint32_t page, std::string_view blob);
  Result<void> Replay(Position position, std::string_view events);
  // All are there: they take part from now on. Leases found are kept for `grace`.
  void Finish(Duration grace);

 private:
  void ApplyHeader(EngineJob& job, JobHeader header);
  bool RestoreLeases(EngineJob& job, std::span<const StoredLease> leases);
  void RestoreLease(EngineJob& job, const StoredLease& stored);
  bool ReplayOne(Position position, ByteReader& in);
  bool ReplayTask(Position position, EventType type, ByteReader& in);

  EngineParts& p_;
  StoredExprs stored_exprs_;
  std::unique_ptr<boost::unordered_flat_map<PageKey, Position>> stored_pages_;
};

}  // namespace allot
