// SPDX-License-Identifier: Apache-2.0
#include "server/peers/peers.h"

#include <algorithm>
#include <future>
#include <thread>
#include <utility>

#include "server/ops/log.h"
#include "server/peers/peers_inner.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kBetweenTries = 20ms;
constexpr auto kWatchEvery = 250ms;
constexpr auto kElsewhereFor = 1s;    // then a node that has lost the queue is not waited for any more
constexpr std::size_t kMaxIdle = 64;  // connections to a node, of each network thread
constexpr auto kMaxIdleTime = 30s;
constexpr auto kPeersStopPatience = 2s;
constexpr auto kAddressPatience = 3s;

}  // namespace

std::string_view MethodText(const Request& request) {
  switch (request.method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
    case Method::kOther:
      break;
  }
  return "OPTIONS";  // as good as any other that no path has
}

bool SaysStopping(int status, std::string_view body) {
  return status == 503 && body.find(R"("code":"stopping")") != std::string_view::npos;
}

Peers::Peers(ServerContext& server, cluster::Node& node, const std::vector<std::unique_ptr<NetThread>>& nets)
    : server_(server), node_(node) {
  for (const auto& net : nets) threads_[net.get()].net = net.get();
  tls_.emplace(asio::ssl::context::tls_client);
  error_code ec;
  tls_->set_default_verify_paths(ec);
  // Nodes that have one certificate, or one authority, need no more than their own file.
  if (server.config.tls()) tls_->load_verify_file(server.config.tls_cert, ec);
}

Peers::~Peers() { Stop(); }

void Peers::Stop() {
  if (stopping_.exchange(true)) return;
  for (auto& [net, thread] : threads_) {
    net->Post(Closure([t = &thread] {
      for (Watch& watch : t->watches) watch.upstream->Close();
      for (auto& [authority, idle] : t->idle) {
        for (const UpstreamPtr& upstream : idle) upstream->Close();
      }
    }));
  }
  const auto until = Clock::now() + kPeersStopPatience;
  while (running_ > 0 && Clock::now() < until) std::this_thread::sleep_for(5ms);
}

Result<void> Peers::CheckAddress(NetThread& net, const std::string& url, const std::string& node_line) {
  Result<NodeAddress> address = NodeAddress::Parse(url);
  if (!address.ok()) return address.error();
  const auto upstream = std::make_shared<Upstream>(net.io(), *address, tls_ ? &*tls_ : nullptr);
  std::promise<std::string> answered;
  std::future<std::string> answer = answered.get_future();
  // By value: it may go on after this has given up.
  const auto ask = [](UpstreamPtr to, std::shared_ptr<std::promise<std::string>> said) -> asio::awaitable<void> {
    const bool connected = co_await to->Connect(kAddressPatience);
    const std::string request = "GET /livez HTTP/1.1\r\nHost: " + to->address().authority + "\r\n\r\n";
    bool written = false;
    if (connected) written = co_await to->Write(request);
    std::optional<UpstreamHead> head;
    if (written) head = co_await ReadHead(*to);
    to->Close();
    said->set_value(head ? "\r\n" + head->extra : std::string());
  };
  asio::co_spawn(net.io(), ask(upstream, std::make_shared<std::promise<std::string>>(std::move(answered))),
                 asio::detached);
  const bool ready = answer.wait_for(2 * kAddressPatience) == std::future_status::ready;
  const std::string lines = ready ? answer.get() : std::string();
  if (lines.find("\r\n" + node_line) != std::string::npos) return {};
  return Error{Code::kBadValue,
               lines.empty() ? "this server cannot reach itself at " + url + ", so others cannot either"
                             : "another server answers at " + url,
               "`advertise` is the URL by which other nodes reach this one: check host, port and certificate"};
}

Peers::Watched::Watched(Peers& peers, Thread& thread, Watch watch) : thread_(thread) {
  at_ = thread.watches.insert(thread.watches.end(), std::move(watch));
  if (peers.stopping_) at_->upstream->Close();
  if (std::exchange(thread.sweeping, true)) return;
  asio::co_spawn(thread.net->io(), peers.Sweep(thread), asio::detached);
}

bool Peers::Is(const std::string& queue, std::string_view incarnation) const {
  const cluster::PicturePtr picture = node_.picture();
  const cluster::QueueRow* const row = picture->Find(queue);
  const cluster::NodeRow* const owner = row == nullptr ? nullptr : picture->OwnerOf(*row);
  return owner != nullptr && owner->incarnation == incarnation;
}

asio::awaitable<void> Peers::Sweep(Thread& thread) {
  const Running running(*this);
  while (!stopping_ && !thread.watches.empty()) {
    for (Watch& watch : thread.watches) {
      if (Is(watch.queue, watch.incarnation)) {
        watch.elsewhere_since.reset();
      } else if (!watch.elsewhere_since) {
        watch.elsewhere_since = Clock::now();
      } else if (Clock::now() - *watch.elsewhere_since >= kElsewhereFor) {
        watch.upstream->Close();
      }
    }
    for (auto& [authority, idle] : thread.idle) {
      std::erase_if(idle,
                    [](const UpstreamPtr& upstream) { return Clock::now() - upstream->idle_since > kMaxIdleTime; });
    }
    co_await Pause(kWatchEvery);
  }
  thread.sweeping = false;
}

Peers::Waiting Peers::BeginWaiting() const {
  return {.since = cluster::ReadLeaseClock(),
          .until = Clock::now() + kParkTime,
          .away_until = Clock::now() + kAwayTime,
          .parked = false};
}

void Peers::EndWaiting(Waiting& waiting) {
  if (std::exchange(waiting.parked, false)) parked_.fetch_sub(1);
}

asio::awaitable<Result<Place>> Peers::Find(const std::string& queue, const Request& request, Waiting& waiting) {
  for (;;) {
    Place place = PlaceOf(server_, node_, queue, waiting.since);
    const bool ending = stopping_ || server_.stopping.load(std::memory_order_relaxed);
    std::optional<Error> error;
    if (place.kind == Place::Kind::kUnknown) {
      error = Error{Code::kUnknownQueue, "there is no queue " + queue, "GET /v1/queues lists them"};
    } else if (place.kind == Place::Kind::kAway && Clock::now() >= waiting.away_until) {
      error = ErrorOf(Stall::kUnavailable);
    } else if (ending) {
      error = Stopping();
    } else if (place.kind == Place::Kind::kAt && request.hops > 0) {
      // Whoever sent it here looks again: it must not go round in circles.
      error = Error{Code::kStopping, "another server has the queue " + queue + " now", "try again soon"};
    } else if (Clock::now() >= waiting.until) {
      gave_up_.fetch_add(1);
      error = Error{Code::kUnavailable, "no server has the queue " + queue + " at the moment", "try again soon"};
    } else if (place.kind == Place::Kind::kHere || place.kind == Place::Kind::kAt) {
      EndWaiting(waiting);
      co_return place;
    } else if (!waiting.parked && parked_.load() >= kMaxParked) {
      error = Error{Code::kUnavailable, "too many requests wait for queues that no server has", "try again soon"};
    }
    if (error) {
      EndWaiting(waiting);
      co_return *error;
    }
    co_await PauseBetween(waiting);
  }
}

asio::awaitable<void> Peers::PauseBetween(Waiting& waiting) {
  if (!std::exchange(waiting.parked, true)) parked_.fetch_add(1);
  co_await Pause(kBetweenTries);
}

asio::awaitable<UpstreamPtr> Peers::Connect(Thread& thread, const cluster::NodeRow& node, bool fresh) {
  Result<NodeAddress> address = NodeAddress::Parse(node.address);
  if (!address.ok()) co_return nullptr;
  std::vector<UpstreamPtr>& idle = thread.idle[address->authority];
  while (!fresh && !idle.empty()) {
    UpstreamPtr upstream = std::move(idle.back());
    idle.pop_back();
    if (upstream->Alive() && Clock::now() - upstream->idle_since < kMaxIdleTime) co_return upstream;
  }
  UpstreamPtr upstream = std::make_shared<Upstream>(thread.net->io(), *address, tls_ ? &*tls_ : nullptr);
  const bool connected = co_await upstream->Connect(kConnectPatience);
  co_return connected ? upstream : nullptr;
}

void Peers::GiveBack(Thread& thread, UpstreamPtr upstream) {
  std::vector<UpstreamPtr>& idle = thread.idle[upstream->address().authority];
  if (!upstream->open() || upstream->in.size() != 0 || idle.size() >= kMaxIdle || stopping_) return upstream->Close();
  upstream->used = true;
  upstream->idle_since = Clock::now();
  idle.push_back(std::move(upstream));
}

std::string Peers::HeadFor(const Request& request, const NodeAddress& address, std::string_view more) const {
  const std::string target = request.query.empty() ? request.path : request.path + "?" + request.query;
  std::string head(MethodText(request));
  head += " " + target + " HTTP/1.1\r\nHost: " + address.authority + "\r\n";
  const auto line = [&head](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    head.append(name).append(": ").append(value).append("\r\n");
  };
  line(cluster::kForwardedHeader,
       server_.signer->Sign({request.peer, request.hops + 1}, {MethodText(request), target, request.authorization}));
  line("Authorization", request.authorization);
  line("Content-Type", request.media);
  if (request.events) line("Accept", kEventsType);
  if (request.gzip) line("Accept-Encoding", "gzip");
  line("If-None-Match", request.if_none_match);
  head.append(more).append("\r\n");
  return head;
}

}  // namespace allot
