// SPDX-License-Identifier: Apache-2.0
#include "server/flow/job_news.h"

#include <utility>

#include "server/queue/wait_table.h"

namespace allot {
namespace {

// Resumes a flow when there is news for it.
class FlowWatcher final : public JobWatcher {
 public:
  FlowWatcher(FlowPtr flow, Instant until, std::optional<TaskIndex> task)
      : flow_(std::move(flow)), until_(until), task_(task) {}
  Next Look(Round& round, JobId job, News news) override {
    if (news == News::kProgress) {
      const Result<TaskState> state = round.engine.looks().StateOf(job, task_.value_or(0));
      if (state.ok() && !HasEnded(*state)) return Next::kStay;
    }
    FlowState::GoOn(std::move(flow_), round);
    return Next::kGo;
  }
  void OnQueueGone(Round& round, const Error& why) override { FlowState::End(std::move(flow_), round, why); }
  std::optional<Instant> deadline() const override { return until_; }

 private:
  FlowPtr flow_;
  const Instant until_;
  const std::optional<TaskIndex> task_;
};

}  // namespace

void NewsHop::Leave(FlowPtr flow) {
  Round* const round = flow->round();
  CHECK(round != nullptr);
  const std::uint64_t owner = flow->call().reply.owner();
  const JobId job = job_;
  const bool progress = task_.has_value();
  flow->Wait();
  round->waits.Add(*round, job, owner, std::make_unique<FlowWatcher>(std::move(flow), until_, task_), progress);
}

void WaitNoLongerThanClient(Call& call) {
  call.reply.OnAbort([queue = call.queue, &net = call.reply.net(), owner = call.reply.owner(), asker = call.asker()] {
    net.Post(queue, Command::Look([owner](Round& round) { round.waits.RemoveOwner(round.engine, owner); }).By(asker));
  });
}

}  // namespace allot
