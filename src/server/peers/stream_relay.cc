// SPDX-License-Identifier: Apache-2.0
// A request whose body comes as lines, and is passed on as it comes.
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "server/net/serve.h"
#include "server/peers/peers_inner.h"

namespace allot {
namespace {

constexpr std::size_t kMaxStreamHeld = 256 * 1024;
constexpr auto kStreamPause = std::chrono::milliseconds(2);
constexpr std::size_t kMaxStreamAnswer = 1024 * 1024;

// As the node has put it.
Error ErrorIn(const std::string& body) {
  Error error{Code::kUnavailable, "the node that has the queue refused the stream", ""};
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  std::string_view code, message, hint;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || root["error"]["code"].get(code) != simdjson::SUCCESS ||
      root["error"]["message"].get(message) != simdjson::SUCCESS)
    return error;
  if (root["error"]["hint"].get(hint) != simdjson::SUCCESS) hint = {};
  return {CodeFromText(code), std::string(message), std::string(hint)};
}

}  // namespace

class Peers::StreamRelay final : public BodySink {
 public:
  struct State {
    State(Peers& its_peers, Thread& its_thread, Request its_request, std::string its_queue,
          std::shared_ptr<BodySource> its_source)
        : peers(its_peers),
          thread(its_thread),
          request(std::move(its_request)),
          queue(std::move(its_queue)),
          source(std::move(its_source)) {}
    Peers& peers;
    Thread& thread;
    const Request request;
    const std::string queue;
    std::shared_ptr<BodySource> source;
    std::string held;  // not sent yet
    bool paused = false, ended = false, broken = false;
    std::optional<Reply> reply;       // once it has ended
    std::unique_ptr<BodySink> inner;  // the queue has come here
    UpstreamPtr upstream;
    std::uint64_t lines = 0;
    // What the node has answered.
    bool answered = false, lost = false;
    UpstreamHead head;
    std::string body;

    void Fail(const Error& error) {
      if (reply) {
        std::exchange(reply, std::nullopt)->Fail(error);
      } else if (!broken && !std::exchange(refused, true)) {
        source->BreakBody(error);
      }
    }
    bool refused = false;
  };

  explicit StreamRelay(std::shared_ptr<State> state) : state_(std::move(state)) {}

  Result<bool> OnBody(std::string_view bytes) override {
    State& s = *state_;
    if (s.inner) return s.inner->OnBody(bytes);
    s.lines += static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
    s.held.append(bytes);
    s.paused = s.held.size() >= kMaxStreamHeld;
    return !s.paused;
  }
  void OnEnd(Reply reply) override {
    State& s = *state_;
    if (s.inner) return s.inner->OnEnd(std::move(reply));
    s.ended = true;
    s.reply.emplace(std::move(reply));
  }
  void OnBroken() override {
    State& s = *state_;
    s.broken = true;
    if (s.inner) return s.inner->OnBroken();
    if (s.upstream != nullptr) s.upstream->Close();
  }
  std::uint64_t complete() const override { return state_->inner ? state_->inner->complete() : state_->lines; }

  static asio::awaitable<void> Run(std::shared_ptr<State> state);

 private:
  static asio::awaitable<void> ReadAnswer(std::shared_ptr<State> state);
  static asio::awaitable<bool> SendAll(State& s);
  static void TakeHere(Peers& peers, State& s);
  static void Finish(State& s);

  const std::shared_ptr<State> state_;
};

asio::awaitable<void> Peers::StreamRelay::ReadAnswer(std::shared_ptr<State> state) {
  State& s = *state;
  std::optional<UpstreamHead> head = co_await ReadHead(*s.upstream);
  if (head && head->length && *head->length <= kMaxStreamAnswer) {
    const bool complete = co_await ReadBody(*s.upstream, *head->length, s.body);
    s.answered = complete;
    s.head = std::move(*head);
  }
  s.lost = !s.answered;
}

void Peers::StreamRelay::TakeHere(Peers& peers, State& s) {
  Result<std::unique_ptr<BodySink>> sink = allot::OpenSink(peers.server_, s.source, s.request);
  if (!sink.ok()) return s.Fail(sink.error());
  if (*sink == nullptr) return s.Fail(Stopping());
  s.inner = std::move(*sink);
  const Result<bool> more = s.inner->OnBody(std::exchange(s.held, {}));
  if (!more.ok()) return s.Fail(more.error());
  if (s.ended) return s.inner->OnEnd(*std::exchange(s.reply, std::nullopt));
  if (*more && std::exchange(s.paused, false)) s.source->ResumeBody();
}

asio::awaitable<bool> Peers::StreamRelay::SendAll(State& s) {
  while (!s.broken && !s.answered && !s.lost) {
    if (!s.held.empty()) {
      std::string chunk;
      AppendChunk(std::exchange(s.held, {}), chunk);
      const bool written = co_await s.upstream->Write(chunk);
      if (!written) co_return false;
      if (std::exchange(s.paused, false)) s.source->ResumeBody();
    } else if (s.ended) {
      std::string last;
      AppendChunk({}, last);
      const bool written = co_await s.upstream->Write(last);
      co_return written;
    } else {
      co_await Pause(kStreamPause);
    }
  }
  co_return true;
}

void Peers::StreamRelay::Finish(State& s) {
  if (s.broken) return;
  if (!s.answered && s.reply) return std::exchange(s.reply, std::nullopt)->Lose();  // it may be done, or not
  if (!s.answered) {
    return s.Fail({Code::kUnavailable, "the node that has the queue went away", "a stream that breaks leaves nothing"});
  }
  if (!s.reply) {
    // Refused before its end: the rest need not come.
    return s.Fail(ErrorIn(s.body));
  }
  Response response;
  response.status = s.head.status;
  response.body = s.body;
  response.type = s.head.type;
  response.cache = s.head.cache;
  response.extra = s.head.extra;
  std::exchange(s.reply, std::nullopt)->Send(response);
}

asio::awaitable<void> Peers::StreamRelay::Run(std::shared_ptr<State> state) {
  State& s = *state;
  Peers& peers = s.peers;
  Thread& thread = s.thread;
  const Running running(peers);
  Waiting waiting = peers.BeginWaiting();
  while (!s.broken) {
    Result<Place> place = co_await peers.Find(s.queue, s.request, waiting);
    if (s.broken) break;
    if (!place.ok()) {
      s.Fail(place.error());
      break;
    }
    if (place->kind == Place::Kind::kHere) {
      TakeHere(peers, s);
      break;
    }
    s.upstream = co_await peers.Connect(thread, place->node, true);
    if (s.upstream == nullptr) {
      co_await peers.PauseBetween(waiting);
      continue;
    }
    const Watched watched(peers, thread, {s.upstream, s.queue, place->node.incarnation, std::nullopt});
    const std::string head = peers.HeadFor(s.request, s.upstream->address(), "Transfer-Encoding: chunked\r\n");
    const bool begun = co_await s.upstream->Write(head);
    asio::co_spawn(thread.net->io(), ReadAnswer(state), asio::detached);
    if (begun) {
      const bool sent = co_await SendAll(s);
      static_cast<void>(sent);
    }
    // A refusal may have come before the rest could be sent.
    while (!s.answered && !s.lost && !s.broken) co_await Pause(kStreamPause);
    peers.forwarded_.fetch_add(1);
    Finish(s);
    s.upstream->Close();
    break;
  }
  peers.EndWaiting(waiting);
}

Result<std::unique_ptr<BodySink>> Peers::OpenSink(std::shared_ptr<BodySource> source, const Request& request,
                                                  const std::string& queue) {
  NetThread& net = source->home();
  auto state = std::make_shared<StreamRelay::State>(*this, ThreadOf(net), request, queue, std::move(source));
  std::unique_ptr<BodySink> sink = std::make_unique<StreamRelay>(state);
  // Not at once: the sink is to be there first.
  asio::post(net.io(), [&net, state] { asio::co_spawn(net.io(), StreamRelay::Run(state), asio::detached); });
  return sink;
}

}  // namespace allot
