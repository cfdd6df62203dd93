// SPDX-License-Identifier: Apache-2.0
// How jobs come in: whether there is room, idempotency keys; one, many, and many in parts.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/jobs/job.h"
#include "engine/jobs/job_batch.h"
#include "engine/stages/stage.h"
#include "engine/types.h"

namespace allot {

struct EngineParts;

class Staging final : public EngineStage {
 public:
  explicit Staging(EngineParts& parts) : p_(parts) {}

  // As the commands of Engine, without the time.
  Result<std::vector<SubmitAnswer>> SubmitAll(std::span<const JobId> ids, JobBatch& batch);
  Result<bool> StageSome(JobBatch& batch);
  void Unstage(JobBatch& batch);
  // Bytes that those which are still to be made may take.
  std::uint64_t promised_bytes() const { return promised_; }

  void AfterCommand(std::size_t& budget) override;
  void AddWakes(NextTick& next) const override;
  bool busy() const override { return !unstaged_.empty(); }

 private:
  struct StagedJob {
    TermsPtr terms;  // null: not made yet
    std::unique_ptr<JobExtras> extras;
    ClassId cls = kNoClass;  // of which it is one
  };
  struct Staged {
    std::vector<StagedJob> jobs;
    std::uint64_t promised = 0;  // bytes, at most, of those that are still to be made
  };
  // Is there room for so many jobs?
  Result<void> AdmitJobs(std::span<const JobSpec> specs) const;
  Result<void> MaySubmit(const JobBatch& batch) const;
  // Is there one that is not known by its key yet? kIdempotencyConflict.
  Result<bool> AnyFresh(const JobBatch& batch) const;
  Result<std::optional<SubmitAnswer>> Known(const JobSpec& spec) const;
  StagedJob Prepare(const JobSpec& spec, const JobFold* fold);
  SubmitAnswer Insert(JobId id, const JobSpec& spec, const JobFold* fold, StagedJob& staged);
  // Classes of what was given up.
  bool StepUnstaged(std::size_t& budget);

  EngineParts& p_;
  std::unordered_map<std::uint64_t, Staged> staged_;
  std::uint64_t last_stage_ = 0, promised_ = 0, staged_jobs_ = 0;
  std::deque<ClassId> unstaged_;  // to be left
};

}  // namespace allot
