// SPDX-License-Identifier: Apache-2.0
// What a limit would apply to, before it is set.
//
// Use:       Looks::Collect() until it says that it is through. After four seconds it is, with what was seen by then.
// Threading: Collect() on the engine thread, and what was found on any one after that; it holds nothing of the engine
//            between the steps, so jobs and workers may come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/types.h"

namespace allot {

class LimitTrial {
 public:
  // `cost` may be null: 1.
  LimitTrial(ExprPtr expr, ExprPtr cost);
  ~LimitTrial();
  LimitTrial(const LimitTrial&) = delete;
  LimitTrial& operator=(const LimitTrial&) = delete;

  struct User {
    std::string user;
    std::uint64_t jobs = 0, tasks = 0;
  };
  struct Worker {
    WorkerId id;
    std::string name;
  };
  bool job_only() const { return job_only_; }  // it reads nothing of the worker
  bool complete() const { return complete_; }  // all jobs were looked at
  std::uint64_t jobs_seen() const { return jobs_seen_; }
  // With waiting tasks, to whose start it applies: on any worker, or on some. And what one of them costs.
  std::uint64_t jobs() const { return jobs_; }
  std::uint64_t tasks() const { return tasks_; }
  double least_cost() const { return least_cost_; }
  double most_cost() const { return most_cost_; }
  bool cost_failed() const { return cost_failed_; }  // of some it could not be evaluated, and counts as 1
  // Those with most tasks, at most 100. Looks at all of them: not for the engine thread.
  std::vector<User> users() const;
  // Registered ones, on which it applies to a start of some waiting job: how many, and the first 100 of them.
  std::uint64_t worker_count() const { return worker_count_; }
  const std::vector<Worker>& workers() const { return workers_; }

 private:
  friend class Looks;
  struct State;

  std::unique_ptr<State> state_;
  bool job_only_ = true, complete_ = false, cost_failed_ = false;
  std::uint64_t jobs_seen_ = 0, jobs_ = 0, tasks_ = 0, worker_count_ = 0;
  double least_cost_ = 0, most_cost_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace allot
