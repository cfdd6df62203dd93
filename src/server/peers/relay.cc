// SPDX-License-Identifier: Apache-2.0
// A whole request and its answer.
#include <algorithm>
#include <utility>

#include "server/net/serve.h"
#include "server/peers/peers_inner.h"

namespace allot {
namespace {

constexpr std::size_t kMaxCollected = 1024 * 1024;  // longer answers go on in pieces

}  // namespace

struct Peers::Job {
  Job(Call its_call, std::string its_queue, Thread& its_thread)
      : call(std::move(its_call)), queue(std::move(its_queue)), thread(its_thread) {}
  Call call;
  const std::string queue;
  Thread& thread;
  UpstreamPtr upstream;  // while an answer is waited for
  UpstreamHead head;     // of the answer
  bool client_gone = false;

  bool Looks() const { return call.request.method == Method::kGet; }
};

void Peers::Forward(Call call, const std::string& queue) {
  NetThread& net = call.reply.net();
  const auto job = std::make_shared<Job>(std::move(call), queue, ThreadOf(net));
  job->call.reply.OnAbort(Closure([weak = std::weak_ptr<Job>(job)] {
    const std::shared_ptr<Job> aborted = weak.lock();
    if (aborted == nullptr) return;
    aborted->client_gone = true;
    if (aborted->upstream != nullptr) aborted->upstream->Close();
  }));
  asio::co_spawn(net.io(), Relay(job), asio::detached);
}

asio::awaitable<void> Peers::Relay(std::shared_ptr<Job> job) {
  const Running running(*this);
  Call& call = job->call;
  Waiting waiting = BeginWaiting();
  for (;;) {
    Result<Place> place = co_await Find(job->queue, call.request, waiting);
    if (job->client_gone || !call.reply.alive()) break;
    if (!place.ok()) {
      call.Fail(place.error());
      break;
    }
    if (place->kind == Place::Kind::kHere) {
      call.reply.OnAbort({});
      Serve(server_, std::move(call.request), std::move(call.reply));
      break;
    }
    if (call.request.redirect) {
      const std::string target =
          call.request.query.empty() ? call.request.path : call.request.path + "?" + call.request.query;
      const std::string extra =
          "Location: " + place->node.address + target + "\r\nAllot-Node: " + place->node.name + "\r\n";
      Response response;
      response.status = 307;
      response.extra = extra;
      call.reply.Send(response);
      break;
    }
    const bool over = co_await Try(*job, place->node);
    job->upstream.reset();
    if (over || job->client_gone) break;
    co_await PauseBetween(waiting);
  }
  EndWaiting(waiting);
}

asio::awaitable<bool> Peers::Try(Job& job, const cluster::NodeRow& node) {
  for (bool fresh = false;; fresh = true) {
    const UpstreamPtr upstream = co_await Connect(job.thread, node, fresh);
    if (upstream == nullptr) co_return false;
    if (job.client_gone) co_return true;
    job.upstream = upstream;
    const Watched watched(*this, job.thread, {upstream, job.queue, node.incarnation, std::nullopt});
    const Request& request = job.call.request;
    const bool has_body = !request.body.empty() || request.method != Method::kGet;
    std::string text = HeadFor(request, upstream->address(),
                               has_body ? "Content-Length: " + std::to_string(request.body.size()) + "\r\n" : "");
    text += request.body;
    const bool written = co_await upstream->Write(text);
    std::optional<UpstreamHead> head;
    if (written) head = co_await ReadHead(*upstream);
    if (job.client_gone) co_return true;
    if (head) {
      forwarded_.fetch_add(1);
      job.head = std::move(*head);
      const bool over = co_await Answer(job);
      co_return over;
    }
    // One that was kept may have been closed meanwhile; what only looks may be asked twice.
    if (job.Looks() && upstream->used) continue;
    if (job.Looks()) co_return false;
    job.call.reply.Lose();  // it may be done, or not
    co_return true;
  }
}

asio::awaitable<bool> Peers::Answer(Job& job) {
  const UpstreamHead& head = job.head;
  if (!head.length || *head.length > kMaxCollected) {
    co_await PassOn(job);
    co_return true;
  }
  std::string body;
  const std::size_t length = *head.length;
  const bool complete = co_await ReadBody(*job.upstream, length, body);
  if (job.client_gone) co_return true;
  if (!complete) {
    if (job.Looks()) co_return false;
    job.call.reply.Lose();  // it may be done, or not
    co_return true;
  }
  if (head.keep_alive) {
    GiveBack(job.thread, job.upstream);
  } else {
    job.upstream->Close();
  }
  if (SaysStopping(head.status, body)) co_return false;
  Response response;
  response.status = head.status;
  response.body = body;
  response.type = head.type;
  response.cache = head.cache;
  response.extra = head.extra;
  job.call.reply.Send(response);
  co_return true;
}

asio::awaitable<void> Peers::PassOn(Job& job) {
  const UpstreamPtr upstream = job.upstream;
  const UpstreamHead& head = job.head;
  const bool head_only = job.call.request.head;
  const std::shared_ptr<OpenResponse> out = job.call.reply.Hijack();
  if (out == nullptr) {
    upstream->Close();
    co_return;
  }
  ResponseHead text;
  text.status = head.status;
  text.type = head.type;
  text.length = head.length;
  text.chunked = head.chunked;
  text.close = true;
  text.cache = head.cache;
  text.extra = head.extra;
  std::string bytes;
  AppendHead(text, bytes);
  out->Write(bytes);
  const auto gone = std::make_shared<bool>(false);
  out->OnDrained([gone, upstream](bool there) {
    if (there) return;
    *gone = true;
    upstream->Close();
  });
  std::size_t left = head_only ? 0 : head.length.value_or(static_cast<std::size_t>(-1));
  bool complete = left == 0;
  while (!*gone && left > 0) {
    if (upstream->in.size() == 0) {
      const bool more = co_await upstream->Read();
      if (!more) {
        complete = !head.length;
        break;
      }
    }
    const std::size_t n = std::min(left, upstream->in.size());
    out->Write({static_cast<const char*>(upstream->in.data().data()), n});
    upstream->in.consume(n);
    left -= head.length ? n : 0;
    complete = left == 0;
    while (!*gone && out->unsent() > kMaxUnsent) co_await Pause(std::chrono::milliseconds(5));
  }
  upstream->Close();
  if (*gone) co_return;
  if (complete) {
    out->EndResponse();
  } else {
    out->BreakResponse();
  }
}

}  // namespace allot
