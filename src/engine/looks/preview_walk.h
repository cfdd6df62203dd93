// SPDX-License-Identifier: Apache-2.0
// What a worker with some strategy would get, found without an order for it: a walk over all jobs of an engine, in
// steps between which others are served, then picking, which needs the engine no more.
//
// Use:       PreparedLooks::Collect() until it says that it has seen all (or until that is enough), Pick(),
//            Looks::Resolve().
// Threading: Collect() and Resolve() on the engine thread, Pick() on any; one at a time. It holds nothing of the
//            engine: jobs and workers may come and go between the steps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/jobs/job_table.h"
#include "engine/types.h"
#include "expr/expr.h"
#include "limits/limit_forecast.h"
#include "match/class_table.h"
#include "strategy/preview.h"

namespace allot {

struct PreviewRequest {
  StrategyPtr strategy;            // null: `priority`
  StrategyPtr policy;              // null: the queue's own
  std::optional<WorkerId> worker;  // a registered one,
  std::optional<WorkerSpec> like;  // or one that might register; neither: one that may run every job
  std::uint32_t count = 20;        // picks
  std::uint64_t seed = 1;          // of `random`
  // Leaves out jobs that limits block now, and what they block once the picks before have drawn from them: on
  // that worker, or one like it; for one that may run every job, limits that do not read the worker.
  bool by_limits = false;
  // For where this job stands, on a registered worker: what the picks themselves would draw is not counted, and jobs
  // blocked by nothing else than blocks this one are not left out, as if that were lifted.
  std::optional<JobId> focus = std::nullopt;
};

class PreviewWalk {
 public:
  explicit PreviewWalk(PreviewRequest request);
  ~PreviewWalk();
  PreviewWalk(const PreviewWalk&) = delete;
  PreviewWalk& operator=(const PreviewWalk&) = delete;

  // The picks, from what was collected. `enough` is asked now and then; true ends it.
  void Pick(std::function<bool()> enough = nullptr);

  struct Task {
    PreviewPick pick;
    std::optional<TaskIndex> index;  // none: there is no such task any more
    std::string user;
    std::vector<std::string> tags;
  };
  const std::vector<Task>& tasks() const { return tasks_; }
  const PreviewRequest& request() const { return request_; }
  const StrategyPtr& strategy() const { return strategy_; }
  const StrategyPtr& policy() const { return policy_; }
  bool paused() const { return paused_; }      // the queue: nothing would be given
  bool draining() const { return draining_; }  // the worker: the same
  std::uint64_t jobs_seen() const { return jobs_seen_; }
  // That the worker may run and that have a queued task, and those tasks; before the picks.
  std::uint64_t jobs() const { return jobs_; }
  std::uint64_t queued_tasks() const { return queued_tasks_; }
  // Left out because of limits, and one of them.
  std::uint64_t blocked_jobs() const { return blocked_jobs_; }
  std::uint64_t blocked_tasks() const { return blocked_tasks_; }
  JobId one_blocked() const { return one_blocked_; }
  // There are fewer picks than asked for, and limits block others: after these, or from the start.
  bool ran_out() const { return ran_out_; }
  // Whether the job `focus` comes first is left to chance.
  bool focus_by_chance() const { return focus_by_chance_; }
  bool complete() const { return complete_; }  // all jobs were looked at, and for all picks

 private:
  friend class Looks;
  friend class PreparedLooks;

  // What is left of limits after the picks so far.
  struct Purses : PreviewGate {
    Purses(const LimitTable& table, const Now& now) : left(table, Duration(0), now) {}
    bool Open(std::uint32_t group) override;
    void Take(std::uint32_t group) override;

    LimitForecast left;
    std::vector<LimitForecast::Group> groups{1};  // the first: to which no limit applies
    std::vector<std::int8_t> open;                // of each group: 1 yes, 0 no, -1 not known
    // By id and serial: ids are used again.
    std::map<std::pair<GroupId, std::uint64_t>, std::uint32_t> places;
  };

  // Limits block it.
  void LeaveOut(const PickJob& job) {
    ++blocked_jobs_;
    blocked_tasks_ += job.queued;
    one_blocked_ = job.id();
  }

  PreviewRequest request_;
  StrategyPtr strategy_, policy_;
  bool begun_ = false;
  std::shared_ptr<const WorkerTraits> traits_;  // null: it may run every job
  bool reads_more_ = false;                     // of jobs than their classes tell
  bool paused_ = false, draining_ = false;
  bool own_first_ = false;    // what the worker was promised comes first
  std::int64_t seconds_ = 0;  // what time() gives
  JobCursor cursor_;
  std::uint64_t jobs_seen_ = 0, jobs_ = 0, queued_tasks_ = 0;
  std::uint64_t blocked_jobs_ = 0, blocked_tasks_ = 0;
  JobId one_blocked_;
  std::vector<std::string> focus_limits_;  // that block the job of the request, by uuid
  bool seen_all_ = false, complete_ = false, focus_by_chance_ = false, ran_out_ = false;
  expr::Evaluator evaluator_;
  // By the serial of a class; none: not for this worker.
  std::unordered_map<std::uint64_t, std::optional<double>> verdicts_;
  std::function<bool()> enough_;
  std::unique_ptr<Purses> purses_;  // null: limits are not looked at, or there are none
  std::unique_ptr<Preview> preview_;
  std::vector<Task> tasks_;
};

}  // namespace allot
