// SPDX-License-Identifier: Apache-2.0
// What could start if workers were there: the list that a provisioner or autoscaler reads.
//
// One row for every class of jobs and user with queued tasks. How many of them could start is bounded by what limits
// can pay within the lookahead, and by the maxima of the policy; a limit that reads the worker, and that is or was in
// the way of that user's jobs, adds to the requirements that a worker it applies to is of no use.
//
// What several rows have in common, a maximum or a limit, goes to those whose jobs came first; in sum it is what would
// start, if not always of the same rows. Rows that are filtered out have their share all the same, so that the others
// say what they would say in the whole list. Percentages of the policy do not count: they grow with the workers. That
// running tasks end within the lookahead, and make room, is not counted on.
//
// Use:       PreparedLooks::Collect() until it says that it is through, or until that is enough; then rows().
// Threading: Collect() on the engine thread, rows() on any, one at a time; it holds nothing of the engine between the
//            steps, so jobs may come and go.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/types.h"

namespace allot {

struct DemandRequest {
  std::optional<std::string> user;  // of these jobs alone
  std::optional<std::string> tag;   // of jobs that want that tag
  Duration lookahead = bounds::kDefaultLookahead;
};

struct DemandRow {
  std::string user;
  std::vector<std::string> tags;
  std::vector<Properties> constraints;
  std::vector<std::string> constraint_tags;
  std::string requirements;  // the jobs', and what limits add; empty: none
  std::uint64_t jobs = 0;    // with queued tasks
  std::uint64_t queued = 0, running = 0;
  std::uint64_t startable = 0;    // of those that wait, within the lookahead, if workers were there
  WallTime oldest{};              // when the first of the jobs came
  std::vector<LimitName> limits;  // that are in the way
};

class DemandWalk {
 public:
  explicit DemandWalk(DemandRequest request);
  ~DemandWalk();
  DemandWalk(const DemandWalk&) = delete;
  DemandWalk& operator=(const DemandWalk&) = delete;

  // The oldest first. Of what was seen, where Collect() was not through: there is no going on then.
  const std::vector<DemandRow>& rows() const;
  // All tasks that run, of jobs that were asked for: also of those of which nothing waits, and which have no row.
  std::uint64_t running() const { return running_; }
  const DemandRequest& request() const { return request_; }
  bool paused() const { return paused_; }      // the queue: nothing can start
  bool complete() const { return complete_; }  // all jobs were looked at

 private:
  friend class PreparedLooks;
  struct State;

  DemandRequest request_;
  std::unique_ptr<State> state_;  // null: not begun
  std::uint64_t running_ = 0;
  bool paused_ = false;
  bool complete_ = false;
};

}  // namespace allot
