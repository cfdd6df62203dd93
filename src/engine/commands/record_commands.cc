// SPDX-License-Identifier: Apache-2.0
#include "engine/commands/record_commands.h"

#include "base/check.h"
#include "engine/jobs/job_record.h"
#include "engine/parts.h"

namespace allot {

FoldStep RecordCommands::Fold(std::size_t max_bytes) {
  CHECK(p_.journal.effects().events.empty());
  FoldStep step;
  std::size_t bytes = 0;
  while (step.records.empty() || bytes < max_bytes) {
    const std::optional<Journal::Dirty> next = p_.journal.TakeDirty();
    if (!next) break;
    if (next->job == kQueueRecord) {
      const QueueRecord queue{p_.queue.paused, p_.leases.next_serial(), p_.queue.highest_id};
      step.records.push_back(Record{kQueueRecord, kJobPage, ToRecord(queue, p_.journal.stored())});
    } else {
      EngineJob* job = p_.jobs.Find(next->job);
      if (job == nullptr) continue;  // removed since, with all that was stored
      const bool whole = next->page == kJobPage;
      if (whole) job->dirty = false;
      step.records.push_back(
          Record{next->job, next->page,
                 whole ? JobRecord(*job, p_.journal.stored()) : PageRecord(*job, next->page, p_.journal.stored())});
    }
    bytes += step.records.back().blob.size() + 16;
  }
  step.floor = p_.journal.Floor();
  return step;
}

Result<void> RecordCommands::Load(JobId job, std::uint32_t page, std::string_view blob) {
  return p_.loader.Load(job, page, blob);
}

Result<void> RecordCommands::Replay(Position position, std::string_view events) {
  return p_.loader.Replay(position, events);
}

void RecordCommands::FinishLoad(const Now& now, Duration grace) {
  p_.Begin(now);
  p_.loader.Finish(grace);
}

}  // namespace allot
