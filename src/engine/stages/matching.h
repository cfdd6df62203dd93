// SPDX-License-Identifier: Apache-2.0
// Who may run what: the classes of jobs, which users they belong to, and what changes when workers read more of jobs.
//
// Invariants: a job that has not ended has a class; a class belongs to the user, and token, whose job made it.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/quota_pool.h"
#include "engine/jobs/job_table.h"
#include "engine/stages/stage.h"
#include "engine/types.h"
#include "match/class_table.h"

namespace allot {

struct EngineParts;

// Changed verdicts change the order, and may open something to whoever waits.
class Verdicts : public ClassTable::Listener {
 public:
  explicit Verdicts(EngineParts& parts) : p_(parts) {}
  void OnWidth() override;
  void OnClass(ClassId cls) override;
  void OnKind(KindId kind) override;
  void OnMoved(KindId from) override;

 private:
  EngineParts& p_;
};

class Matching final : public EngineStage {
 public:
  explicit Matching(EngineParts& parts) : p_(parts) {}

  ClassTable::Terms ClassTerms(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                               const JobFold* fold = nullptr) const;
  // The job gets a class, or leaves its own.
  void Enter(EngineJob& job, std::string_view token = {}, const JobFold* fold = nullptr);
  ClassId Enter(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                std::string_view token, const JobFold* fold);
  void Leave(EngineJob& job);
  ClassId JoinClass(ClassTable::Terms terms, std::string_view user, std::string_view token);
  void LeaveClass(ClassId cls);
  std::string_view TokenOf(ClassId cls) const;

  // Is there room for its class, or for so many? kTooManyClasses.
  Result<void> AdmitClass(const ClassTable::Terms& terms, std::string_view user, std::string_view token = {}) const;
  Result<void> AdmitClasses(std::string_view user, std::size_t of_user, std::string_view token,
                            std::size_t of_token) const;
  Result<void> AdmitClasses(std::span<const JobSpec> specs, std::span<const JobFold> folds) const;
  // Would such a worker make too many classes, by what it reads of jobs?
  Result<void> AdmitReads(const WorkerTraits& traits) const;

  // That job came with a class that was made before workers read more of jobs, and all others have new ones.
  void RegroupFrom(JobId job);

  void AfterCommand(std::size_t& budget) override;
  void Tick(TickBudget& tick) override;
  void AddWakes(NextTick& next) const override;
  std::size_t works() const override;
  bool busy() const override;

 private:
  // Verdicts that read the time are renewed once a second.
  bool StepRenewal(std::size_t& budget);
  // Jobs are put into new classes when workers read more of them.
  bool StepRegrouping(std::size_t& budget);

  EngineParts& p_;
  struct ClassOwner {
    QuotaPool::Owner* user = nullptr;
    QuotaPool::Owner* token = nullptr;  // an empty one is not known
  };
  std::vector<ClassOwner> class_owners_;  // by class
  QuotaPool class_users_{bounds::kMaxClasses}, class_tokens_{bounds::kMaxClasses};
  std::uint64_t grouped_epoch_ = 1;  // all jobs are in classes of that epoch
  std::uint64_t regroup_epoch_ = 1;  // while that is not the table's own: jobs before the cursor are in classes
  JobCursor regrouping_;             // of this one
  std::int64_t renewed_at_ = 0;      // the second for which verdicts that read the time were renewed
};

}  // namespace allot
