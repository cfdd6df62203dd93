// SPDX-License-Identifier: Apache-2.0
#include "server/net/worker_connection.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "server/net/context.h"
#include "server/ops/log.h"
#include "server/queue/asker.h"
#include "server/wire/grants_json.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "wire/workers.h"
#include "wire/writer.h"

namespace allot {
namespace {

// A message is not made longer than this by another task; payloads of more than that come alone.
constexpr std::size_t kGoodMessageBytes = 256 * 1024;
// Messages of one worker that may be in the engine's hands before it is not read from any more.
constexpr std::size_t kMaxUnanswered = 256;
constexpr std::size_t kMaxNews = 1024;
// Longer messages are taken one at a time.
constexpr std::size_t kLongMessageBytes = 64 * 1024;
constexpr std::size_t kLightMessageBytes = 16 * 1024;

bool HasMore(const WorkerNews& news) {
  return news.ack || !news.stale.empty() || !news.grants.empty() || !news.stop_requests.empty() || news.drain ||
         news.set || news.error;
}

}  // namespace

WorkerConnection::WorkerConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal,
                                   std::string peer)
    : WsConnection(net, server),
      WorkerLink(net),
      queue_(std::move(queue)),
      principal_(std::move(principal)),
      peer_(std::move(peer)),
      asker_(AskerOf(*principal_, peer_)) {}

WsConnection::Reading WorkerConnection::OnMessage(std::string_view text) {
  if (!worker_) {
    if (greeted_) return Reading::kPause;  // cannot be: reading was paused
    OnHello(text);
    return Reading::kPause;
  }
  MessageOptions options;
  options.max_result_bytes = queue_->max_result_bytes();
  options.vocabulary = queue_->vocabulary();
  const Result<void> parsed = ParseWorkerMessage(text, options, message_);
  if (!parsed.ok()) {
    Say(parsed.error(), message_.seq);
    if (message_.seq) return HasRoom() ? Reading::kGoOn : Reading::kPause;
    CloseSoon();
    return Reading::kPause;
  }
  ++unanswered_;
  // What it wants from now on may have to be matched anew, and many reports take their time.
  const bool light = !message_.set && !message_.strategy && text.size() <= kLightMessageBytes;
  PostToQueue([link = Link(), worker = worker_, input = ToInput(message_)](
                  Round& round) mutable { round.workers.OnMessage(round, worker, link, std::move(input)); },
              light);
  return text.size() <= kLongMessageBytes && HasRoom() ? Reading::kGoOn : Reading::kPause;
}

void WorkerConnection::OnHello(std::string_view text) {
  Result<Hello> hello = ParseHello(text, true, queue_->vocabulary());
  if (!hello.ok()) {
    Say(hello.error(), std::nullopt);
    return CloseSoon();
  }
  if (server().stopping.load(std::memory_order_relaxed)) {
    Say({Code::kStopping, "the server is going down", "try again soon"}, std::nullopt);
    return CloseSoon();
  }
  greeted_ = true;
  QueueWorkers::Origin origin;
  origin.address = peer_;
  origin.user = principal_->user.value_or("");
  origin.token = principal_->id;
  origin.connected = true;
  PostToQueue([self = std::static_pointer_cast<WorkerConnection>(shared_from_this()), link = Link(),
               hello = std::move(*hello), origin = std::move(origin)](Round& round) mutable {
    Result<RegisterAnswer> answer = round.workers.Register(round, hello, origin, link);
    round.Send(link->executor(), [self, answer = std::move(answer)]() mutable { self->OnWelcome(std::move(answer)); });
  });
}

void WorkerConnection::OnWelcome(Result<RegisterAnswer> answer) {
  Guard("a welcome", [&] { Welcome(std::move(answer)); });
}

void WorkerConnection::Welcome(Result<RegisterAnswer> answer) {
  if (!answer.ok()) {
    Say(answer.error(), std::nullopt);
    return CloseSoon();
  }
  worker_ = answer->worker;
  if (gone()) {
    PostToQueue(
        [link = Link(), worker = worker_](Round& round) { round.workers.OnGone(round, worker, link.get(), {}); });
    return;
  }
  JsonWriter json(said_);
  AppendWelcome(*answer, server().config.heartbeat, wire::Writer<wire::kWorkerNews>(json).Place("welcome"));
  AllowLargeMessages();
  net().MarkDirty(*this);
  ResumeReading();
}

void WorkerConnection::Say(const Error& error, std::optional<std::uint64_t> seq) {
  WorkerNews news;
  news.error = error;
  news.seq = seq;
  news_.push_back(std::move(news));
  net().MarkDirty(*this);
}

void WorkerConnection::OnSign() {
  if (!worker_) return;
  PostToQueue(
      [worker = worker_](Round& round) { static_cast<void>(round.engine.workers().Heartbeat(round.now, worker)); },
      true);
}

void WorkerConnection::Deliver(WorkerNews news) {
  // A worker that misses news would keep leases that it does not know of: it has to come anew.
  Guard("news for a worker", [&] { TakeNews(std::move(news)); });
}

void WorkerConnection::TakeNews(WorkerNews news) {
  unanswered_ -= std::min<std::size_t>(unanswered_, news.answers);
  if (gone()) {
    std::vector<TaskRef> unsent;
    for (const Grant& grant : news.grants) unsent.push_back(grant.task);
    if (unsent.empty()) return;
    PostToQueue([unsent = std::move(unsent)](Round& round) { round.workers.GiveBack(round, unsent); });
    return;
  }
  if (news.close) CloseSoon(queue_->gone() ? ws::CloseCode::kRestart : ws::CloseCode::kNormal);
  if (HasMore(news)) {
    if (news_.empty() || !news_.back().Join(news)) news_.push_back(std::move(news));
    net().MarkDirty(*this);
  }
  if (worker_ && HasRoom()) ResumeReading();
}

bool WorkerConnection::HasRoom() const { return unanswered_ < kMaxUnanswered && news_.size() < kMaxNews; }

void WorkerConnection::OnSent() {
  if (worker_ && HasRoom()) ResumeReading();
}

void WorkerConnection::OnRefused() { refused_ = std::move(named_); }

void WorkerConnection::OnSweep() {
  // What it waits for will not come.
  if (!queue_->gone() || closes_soon()) return;
  Say(queue_->WhyFinished(), std::nullopt);
  CloseSoon(ws::CloseCode::kRestart);
}

bool WorkerConnection::NextMessage(std::string& out) {
  named_.clear();
  if (!said_.empty()) {
    out.append(said_);
    std::string().swap(said_);
    return true;
  }
  if (news_.empty()) return false;
  WorkerNews& news = news_.front();
  if (news.error) {
    AppendError(*news.error, news.seq, out);
    news_.pop_front();
    return true;
  }
  out.push_back('{');
  const auto field = [&out](std::string_view name) {
    if (out.size() > 1) out.push_back(',');
    out.push_back('"');
    out.append(name);
    out.append("\":");
  };
  if (news.ack) {
    field("ack");
    out.append(std::to_string(*news.ack));
    news.ack.reset();
  }
  if (!news.stale.empty()) {
    field("stale");
    out.push_back('[');
    for (const auto& [task, verdict] : news.stale) {
      if (out.back() != '[') out.push_back(',');
      AppendStale(task, verdict, out);
    }
    out.push_back(']');
    news.stale.clear();
  }
  if (!news.stop_requests.empty()) {
    field("cancel");
    out.push_back('[');
    for (const StopRequest& stop : news.stop_requests) {
      if (out.back() != '[') out.push_back(',');
      AppendCancel(stop, out);
    }
    out.push_back(']');
    news.stop_requests.clear();
  }
  if (news.drain) {
    field("drain");
    out.append("true");
    news.drain = false;
  }
  if (news.set) {
    field("set");
    AppendWorkerChange(*news.set, out);
    news.set.reset();
  }
  if (next_grant_ < news.grants.size()) {
    field("tasks");
    out.push_back('[');
    GrantTexts texts{out};
    const Result<std::size_t> end =
        AppendGrants(queue_->store(), {news.grants, news.headers}, next_grant_, kGoodMessageBytes, texts);
    if (!end.ok() && end.error().code == Code::kUnavailable) {
      // The database is away. What it was to be given goes back, and it may come again.
      out.clear();
      AppendError(end.error(), std::nullopt, out);
      std::vector<TaskRef> unsent;
      for (const WorkerNews& other : news_) {
        for (std::size_t i = &other == &news_.front() ? next_grant_ : 0; i < other.grants.size(); ++i)
          unsent.push_back(other.grants[i].task);
      }
      net().Post(queue_, [unsent = std::move(unsent)](Round& round) { round.workers.GiveBack(round, unsent); });
      news_.clear();
      next_grant_ = 0;
      CloseSoon();
      return true;
    }
    if (!end.ok()) {
      if (!queue_->finished()) queue_->Fatal(end.error());
      // The queue was deleted, and its file is gone: this connection ends, and only it.
      out.clear();
      AppendError({Code::kUnknownQueue, "the queue " + queue_->name() + " is gone", ""}, std::nullopt, out);
      news_.clear();
      next_grant_ = 0;
      CloseSoon();
      return true;
    }
    if (!texts.damaged.empty()) {
      net().Post(queue_, [worker = worker_, damaged = std::move(texts.damaged)](Round& round) {
        round.workers.FailDamaged(round, worker, damaged);
      });
    }
    for (; next_grant_ < *end; ++next_grant_) named_.push_back(news.grants[next_grant_].task);
    out.push_back(']');
    if (!texts.headers.empty()) {
      field("jobs");
      out.append("[").append(texts.headers).append("]");
    }
  }
  if (next_grant_ >= news.grants.size()) {
    news_.pop_front();
    next_grant_ = 0;
  }
  out.push_back('}');
  return true;
}

void WorkerConnection::OnGone() {
  if (!worker_) return;  // OnWelcome() sees to it
  // Only what no write has begun with surely never left. Of a message that was being written the worker may have all,
  // even if the write failed: the end of the connection overtakes the news that the kernel took it.
  std::vector<TaskRef> unsent = std::move(refused_);
  for (const WorkerNews& news : news_) {
    for (std::size_t i = &news == &news_.front() ? next_grant_ : 0; i < news.grants.size(); ++i) {
      unsent.push_back(news.grants[i].task);
    }
  }
  news_.clear();
  PostToQueue([link = Link(), worker = worker_, unsent = std::move(unsent)](Round& round) mutable {
    round.workers.OnGone(round, worker, link.get(), std::move(unsent));
  });
}

}  // namespace allot
