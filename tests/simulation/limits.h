// SPDX-License-Identifier: Apache-2.0
// A queue under limits on starts: every start is compared with what each limit could pay at that instant, and whoever
// waits against what could start, both found by asking every limit about every job and worker. In virtual time, with
// books kept by hand, and crashes that take all limits away.
//
// Everything follows from the seed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/limit_ledger.h"
#include "simulation/world.h"

namespace allot::simulation {

class Limits : public World {
 public:
  explicit Limits(std::uint64_t seed);

  // One thing that happens. False once something was wrong; wrong() says what.
  bool Step();
  // All limits go away; then everything that waits may start.
  bool Finish();

 private:
  struct Job {
    JobSpec spec;  // as it is by now
    std::uint32_t looks = 0;
  };
  struct Limit {
    std::string uuid;
    LimitSpec spec;
    std::uint32_t version = 0;  // another whenever expr or cost may be
    Instant expires;
    bool kept = false;  // renewed every second
    LimitLedger ledger;
  };

  // Things that happen.
  void Submit(bool one_of_many);
  void PullOne();
  void PullAndVanish();
  void Undeliver();
  void Report();
  void Register();
  void ComeBack(Worker& worker);
  void WorkerLeaves();
  void WorkerChanges();
  void ChangeJob();
  void FailedCommand();
  void SetPolicy();
  void CreateLimit();
  void UpdateLimit();
  void EndLimit();
  void RenewKept();
  void Time(Duration most);
  void Late();
  void Crash();

  void Pass(Duration time);
  // Takes what came out, and compares it with the books.
  void Settle();
  void Start(const Worker& worker, const Grant& grant);
  void Close(std::size_t limit);
  void CheckLimits();
  void CheckReasons(const std::vector<JobView>& open);
  // Nobody waits who could start something, or would if it asked again.
  void CheckWaiting();
  // What the worker could start now, as far as limits go. For those alone whose order blocks nothing.
  bool Plain(const Worker& worker) const;
  // One that surely could, or might, by what limits have.
  std::optional<JobId> CouldStart(const Worker& worker, const std::vector<JobView>& open, bool surely = true);
  std::vector<JobView> Open() const;
  // What a start costs that limit, in millionths; none: it does not apply.
  std::optional<std::int64_t> CostOf(const Limit& limit, const Job& job, const Worker& worker);

  StrategyPtr SomeStrategy() { return OneOf(strategies_); }
  LimitSpec SomeLimit();
  void SomeRate(LimitSpec& spec);
  Meta SomeMeta(bool distinct);
  Meta SomeAttributes();
  // Jobs and workers as expressions see them; alike ones have one number.
  std::uint32_t Looks(expr::Ad ad);
  std::uint32_t LooksOf(const JobSpec& spec);
  std::uint32_t LooksOf(const Worker& worker);

  bool large_;  // hundreds of jobs, of which no two look alike
  bool plain_;  // no order blocks anything
  std::vector<StrategyPtr> strategies_, policies_;
  std::map<JobId, Job> jobs_;
  std::vector<Limit> limits_;                          // in order of creation
  std::vector<std::pair<WorkerId, TaskRef>> started_;  // the last time that something came out
  Instant next_renewal_;

  expr::Evaluator evaluator_;
  std::map<std::string, std::uint32_t> look_ids_;
  std::vector<expr::Ad> looks_;
  std::unordered_map<std::uint64_t, std::optional<std::int64_t>> costs_;  // by version and looks

  std::uint32_t last_version_ = 0;
  std::uint64_t last_uuid_ = 0;
  std::map<JobId, Instant> unlike_;  // jobs of which lists say what is not so, since when
};

}  // namespace allot::simulation
