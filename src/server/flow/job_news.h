// SPDX-License-Identifier: Apache-2.0
// Waiting for a job, on the engine thread of its queue (queue/wait_table.h).
//
//   CO_TRY_OK(round->waits.Admit(*round, id));
//   co_await JobEnd(round, id, until);  // still the engine thread, in a later round
//
// Where the queue is deleted meanwhile, the flow ends with the error that says so.
#pragma once

#include <memory>
#include <optional>

#include "base/ids.h"
#include "base/time.h"
#include "engine/looks/views.h"
#include "server/flow/flow.h"

namespace allot {

class NewsHop final : public HopAwaiter {
 public:
  NewsHop(JobId job, Instant until, std::optional<TaskIndex> task) : job_(job), until_(until), task_(task) {}
  void await_resume() const noexcept {}
  void Leave(FlowPtr flow) override;

 private:
  JobId job_;
  Instant until_;
  std::optional<TaskIndex> task_;  // also its end is news
};

// Until the job has ended, or until then.
inline NewsHop JobEnd(RoundHere, JobId job, Instant until) { return NewsHop(job, until, std::nullopt); }
// Until this task of it has ended, or as above.
inline NewsHop TaskEnd(RoundHere, JobId job, TaskIndex task, Instant until) { return NewsHop(job, until, task); }

// A state in which a task is at its end.
inline bool HasEnded(TaskState state) {
  return state == TaskState::kDone || state == TaskState::kFailed || state == TaskState::kSkipped;
}

// On the network thread, before a flow may wait: should the client go away, it waits no more.
void WaitNoLongerThanClient(Call& call);

}  // namespace allot
