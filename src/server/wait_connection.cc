#include "server/wait_connection.h"

#include <utility>

#include "base/bounds.h"
#include "server/access.h"
#include "server/context.h"
#include "server/reply_json.h"
#include "server/request_json.h"
#include "server/wait_table.h"

namespace allot {
namespace {

class EndNotice final : public JobWatcher {
 public:
  EndNotice(Home& home, std::shared_ptr<WaitConnection> to) : home_(home), to_(std::move(to)) {}
  Next Look(Turn& turn, JobId job, News news) override {
    if (news != News::kEnded) return Next::kStay;
    Result<JobView> view = turn.engine.Describe(job);
    if (view.ok()) turn.Send(home_, [to = to_, view = std::move(*view)] { to->OnEnded(view); });
    return Next::kGo;
  }

 private:
  Home& home_;
  std::shared_ptr<WaitConnection> to_;
};

}  // namespace

WaitConnection::WaitConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal)
    : WsConnection(net, server),
      queue_(std::move(queue)),
      principal_(std::move(principal)),
      id_(server.next_connection.fetch_add(1)) {}

WsConnection::Reading WaitConnection::OnMessage(std::string_view text) {
  Result<std::vector<JobId>> jobs = ParseWaitMessage(text);
  if (!jobs.ok()) {
    Say(jobs.error());
    return Reading::kPause;
  }
  net().Tell(
      queue_, Command::Look([self = std::static_pointer_cast<WaitConnection>(shared_from_this()),
                             jobs = std::move(*jobs)](Turn& turn) {
        Home& home = self->net();
        if (turn.waits.CountOf(self->id_) + jobs.size() > bounds::kMaxWaitsPerConnection) {
          turn.Send(home, [self] {
            self->Say({Code::kTooManyWaits,
                       "one connection waits for at most " + std::to_string(bounds::kMaxWaitsPerConnection) + " jobs",
                       ""});
          });
          return;
        }
        std::vector<JobId> unknown;
        for (const JobId job : jobs) {
          Result<JobView> view = turn.engine.Describe(job);
          if (!view.ok() || !Sees(*self->principal_, view->user)) {
            unknown.push_back(job);
          } else if (Ended(view->state)) {
            turn.Tells(job);
            turn.Send(home, [self, view = std::move(*view)] { self->OnEnded(view); });
          } else {
            turn.waits.Add(turn.engine, job, self->id_, std::make_unique<EndNotice>(home, self), false);
          }
        }
        turn.Send(home, [self, unknown = std::move(unknown)] {
          if (!unknown.empty()) self->OnUnknown(unknown);
          self->ResumeReading();
        });
      }));
  // One message at a time: what it asks for is bounded before the next is read.
  return Reading::kPause;
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
  out.swap(error_);
  error_.clear();
  return true;
}

void WaitConnection::OnGone() {
  net().Tell(queue_, Command::Look([id = id_](Turn& turn) { turn.waits.RemoveOwner(turn.engine, id); }));
}

}  // namespace allot
