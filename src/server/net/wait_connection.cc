// SPDX-License-Identifier: Apache-2.0
#include "server/net/wait_connection.h"

#include <algorithm>
#include <utility>

#include "base/bounds.h"
#include "server/net/context.h"
#include "server/ops/access.h"
#include "server/queue/asker.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

// Waits that are taken, or forgotten, in one step.
constexpr std::size_t kWaitsInAStep = 500;

class EndNotice final : public JobWatcher {
 public:
  EndNotice(Executor& executor, std::shared_ptr<WaitConnection> to) : executor_(executor), to_(std::move(to)) {}
  Next Look(Round& round, JobId job, News news) override {
    if (news != News::kEnded) return Next::kStay;
    Result<JobView> view = round.engine.looks().Describe(job);
    if (view.ok()) {
      round.Send(executor_, [to = to_, view = std::move(*view)] { to->OnEnded(view); });
    } else {
      round.Send(executor_, [to = to_, job] { to->OnUnknown({job}); });  // it was not kept
    }
    return Next::kGo;
  }

 private:
  Executor& executor_;
  std::shared_ptr<WaitConnection> to_;
};

}  // namespace

WaitConnection::WaitConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal,
                               std::string_view peer)
    : WsConnection(net, server),
      queue_(std::move(queue)),
      principal_(std::move(principal)),
      id_(server.next_connection.fetch_add(1)),
      asker_(AskerOf(*principal_, peer)) {}

WsConnection::Reading WaitConnection::OnMessage(std::string_view text) {
  Result<std::vector<JobId>> jobs = ParseWaitMessage(text);
  if (!jobs.ok()) {
    Say(jobs.error());
    return Reading::kPause;
  }
  net().Post(queue_, Command::Browse(asker_, [self = std::static_pointer_cast<WaitConnection>(shared_from_this()),
                                              jobs = std::make_shared<const std::vector<JobId>>(std::move(*jobs))](
                                                 Round& round) { self->Take(round, jobs, 0); }));
  // One message at a time: what it asks for is bounded before the next is read.
  return Reading::kPause;
}

void WaitConnection::Take(Round& round, const std::shared_ptr<const std::vector<JobId>>& jobs, std::size_t from) {
  if (left_.load()) return;
  const auto self = std::static_pointer_cast<WaitConnection>(shared_from_this());
  Executor& executor = net();
  const auto refuse = [&](Error error) {
    round.Send(executor, [self, error = std::move(error)] { self->Say(error); });
  };
  if (from == 0 && round.waits.CountOf(id_) + jobs->size() > bounds::kMaxWaitsPerConnection) {
    return refuse({Code::kTooManyWaits,
                   "one connection waits for at most " + std::to_string(bounds::kMaxWaitsPerConnection) + " jobs", ""});
  }
  std::vector<JobId> unknown;
  const std::size_t end = std::min(jobs->size(), from + kWaitsInAStep);
  for (std::size_t i = from; i < end; ++i) {
    const JobId job = (*jobs)[i];
    Result<JobView> view = round.engine.looks().Describe(job);
    if (!view.ok() || !Sees(*principal_, view->user)) {
      unknown.push_back(job);
    } else if (Ended(view->state)) {
      round.DependsOn(job);
      round.Send(executor, [self, view = std::move(*view)] { self->OnEnded(view); });
    } else {
      Result<void> admitted = round.waits.Admit(round, job);
      if (!admitted.ok()) return refuse(admitted.error());
      round.waits.Add(round, job, id_, std::make_unique<EndNotice>(executor, self), false);
    }
  }
  const bool all = end == jobs->size();
  round.Send(executor, [self, unknown = std::move(unknown), all] {
    if (!unknown.empty()) self->OnUnknown(unknown);
    if (all) self->ResumeReading();
  });
  if (!all) queue_->Post(Command::Browse(asker_, [self, jobs, end](Round& next) { self->Take(next, jobs, end); }));
}

void WaitConnection::Forget(Round& round, const QueuePtr& queue, std::uint64_t id) {
  if (round.waits.RemoveOwner(round.engine, id, kWaitsInAStep)) return;
  queue->Post(Command::Look([queue, id](Round& next) { Forget(next, queue, id); }).By(round.asker));
}

void WaitConnection::OnEnded(const JobView& job) {
  if (gone()) return;
  if (!ended_.empty()) ended_.push_back(',');
  AppendEnded(job, ended_);
  net().MarkDirty(*this);
}

void WaitConnection::OnUnknown(const std::vector<JobId>& jobs) {
  if (gone()) return;
  for (const JobId job : jobs) {
    if (!unknown_.empty()) unknown_.push_back(',');
    unknown_.append("\"" + ToText(job) + "\"");
  }
  net().MarkDirty(*this);
}

void WaitConnection::Say(const Error& error) {
  AppendError(error, error_);
  CloseSoon();
}

bool WaitConnection::NextMessage(std::string& out) {
  if (!ended_.empty() || !unknown_.empty()) {
    out.push_back('{');
    if (!ended_.empty()) out.append("\"ended\":[").append(ended_).append("]");
    if (!unknown_.empty()) out.append(ended_.empty() ? "" : ",").append("\"unknown\":[").append(unknown_).append("]");
    out.push_back('}');
    ended_.clear();
    unknown_.clear();
    return true;
  }
  if (error_.empty()) return false;
  out.append(error_);
  std::string().swap(error_);
  return true;
}

void WaitConnection::OnSweep() {
  // What it waits for will not come.
  if (queue_->gone() && !closes_soon()) Say(queue_->WhyFinished());
}

void WaitConnection::OnGone() {
  left_.store(true);
  net().Post(queue_, Command::Look([queue = queue_, id = id_](Round& round) { Forget(round, queue, id); }).By(asker_));
}

}  // namespace allot
