// SPDX-License-Identifier: Apache-2.0
// Commands on jobs: submit, change, cancel, pause, resume, retry; one, or all that a filter finds.
//
// Each but SubmitAll() and what goes with it fails with kUnknownJob where there is none of that id.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/jobs/job_batch.h"
#include "engine/types.h"

namespace allot {

struct EngineJob;
struct EngineParts;
class JobSweep;
enum class SweepAction : std::uint8_t;

class JobCommands {
 public:
  explicit JobCommands(EngineParts& parts) : p_(parts) {}

  // Takes the job as `id`, which must be above all before it. With an idempotency key that the job's user has used
  // before: answers with that job (kIdempotencyConflict for other content). kTooManyJobs, kTooManyClasses at the
  // bounds, kMemoryFull where the budget is used up.
  Result<SubmitAnswer> Submit(const Now& now, JobId id, const JobSpec& spec);
  // All of them, or none. Same ids and order as single submits. `folds`: FoldOf() each, where that was done before.
  Result<std::vector<SubmitAnswer>> SubmitAll(const Now& now, std::span<const JobId> ids,
                                              std::span<const JobSpec> specs, std::span<const JobFold> folds = {});
  // For a thousand large jobs, which take long: makes the next ones ready; true once all are. Nobody sees any of them
  // before SubmitAll(). Fails as that does. Unless it has failed, SubmitAll() or Unstage() must follow.
  Result<bool> Stage(const Now& now, JobBatch& batch);
  Result<std::vector<SubmitAnswer>> SubmitAll(const Now& now, std::span<const JobId> ids, JobBatch& batch);
  void Unstage(JobBatch& batch);

  // Leased tasks stay; the others are matched and ordered anew. kJobEnded.
  Result<void> Change(const Now& now, JobId job, const JobChange& change);
  // Queued and retrying tasks are skipped; workers that hold one are told. Cancelling an ended job changes nothing.
  Result<void> Cancel(const Now& now, JobId job);
  // No grants until resumed; leases go on. kJobEnded.
  Result<void> Pause(const Now& now, JobId job);
  Result<void> Resume(const Now& now, JobId job);
  // Failed and skipped tasks become ready with fresh attempts. kJobActive while it has not ended. A task that a worker
  // was told to stop goes on if the worker finishes it all the same, and runs again otherwise.
  // Returns how many tasks are not done, and so will run again.
  Result<std::uint32_t> Retry(const Now& now, JobId job);

  // Many jobs at once, in steps like a look (engine/job_sweep.h): counts those that a filter finds, and changes each of
  // them, unless it is only to count.
  bool Sweep(const Now& now, JobSweep& sweep, std::size_t budget);

  // Asks for `progressed` effects of that job; calls nest.
  Result<void> Watch(JobId job);
  void Unwatch(JobId job);

 private:
  // True if it did something.
  bool Act(const Now& now, EngineJob& job, SweepAction action, std::int64_t& nanoseconds);

  EngineParts& p_;
};

}  // namespace allot
