// SPDX-License-Identifier: Apache-2.0
// Requests for queues of other nodes: they go there, and what comes back goes to the client as it is. While nobody has
// a queue they wait, for kParkTime at most.
//
// Threading: Forward(), OpenSink() and OpenWebSocket() on the client's network thread, where all the rest of a request
//            stays; Stop() once, from none of them.
// Coroutines here await in statements of their own: of one with `if (!co_await …)` in a loop GCC 12 made a frame whose
// size caller and body did not agree on.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "cluster/node.h"
#include "server/net/call.h"
#include "server/net/net_thread.h"
#include "server/net/request.h"
#include "server/net/ws_connection.h"
#include "server/peers/route.h"
#include "server/peers/upstream.h"

namespace allot {

class Peers {
 public:
  // All outlive it.
  Peers(ServerContext& server, cluster::Node& node, const std::vector<std::unique_ptr<NetThread>>& nets);
  ~Peers();

  // A complete request: answers it, here if the queue comes here meanwhile.
  void Forward(Call call, const std::string& queue);
  // At a request's head: takes its body as it comes.
  Result<std::unique_ptr<BodySink>> OpenSink(std::shared_ptr<BodySource> source, const Request& request,
                                             const std::string& queue);
  // At a request's head: takes the connection over.
  std::shared_ptr<UpgradeTarget> OpenWebSocket(NetThread& net, const Request& request, const std::string& queue);
  // What each other node that is alive answers to this, of a request that only looks: within a second, and none that
  // fails. `done` runs on the same thread.
  struct NodeAnswer {
    std::string node;
    std::string body;  // empty: none
  };
  void AskAll(NetThread& net, const Request& request, UniqueFunction<void(std::vector<NodeAnswer>)> done);
  cluster::Node& node() { return node_; }
  // Whether this very server is reached at that URL: its answers have `node_line`. kBadValue with what to do. Waits, so
  // not on a network thread.
  Result<void> CheckAddress(NetThread& net, const std::string& url, const std::string& node_line);
  // Ends everything that is under way, and waits for it.
  void Stop();

  struct Stats {
    std::uint64_t parked = 0;     // requests that wait for a queue
    std::uint64_t forwarded = 0;  // since the start
    std::uint64_t gave_up = 0;    // of those that waited
  };
  Stats stats() const { return {parked_.load(), forwarded_.load(), gave_up_.load()}; }

 private:
  class StreamRelay;
  class Splice;
  // What goes to a node: cut off where that one has lost the queue.
  struct Watch {
    UpstreamPtr upstream;
    std::string queue, incarnation;
    std::optional<std::chrono::steady_clock::time_point> elsewhere_since;
  };
  // What a network thread has.
  struct Thread {
    NetThread* net = nullptr;
    std::map<std::string, std::vector<UpstreamPtr>> idle;  // by authority
    std::list<Watch> watches;
    bool sweeping = false;
  };
  // Keeps a watch as long as it lives.
  class Watched {
   public:
    Watched(Peers& peers, Thread& thread, Watch watch);
    ~Watched() { thread_.watches.erase(at_); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    Thread& thread_;
    std::list<Watch>::iterator at_;
  };
  struct Job;
  // Counts coroutines, so that Stop() can wait for them.
  struct Running;

  asio::awaitable<void> Relay(std::shared_ptr<Job> job);
  // One try with that node. False: nothing was done, and another try may be made.
  asio::awaitable<bool> Try(Job& job, const cluster::NodeRow& node);
  // With what job.head says that comes.
  asio::awaitable<bool> Answer(Job& job);
  asio::awaitable<void> PassOn(Job& job);

  // Until the queue is somewhere, or the error that it is not. `from`: since when it is waited for.
  struct Waiting {
    Instant since{};
    std::chrono::steady_clock::time_point until{}, away_until{};
    bool parked = false;
  };
  Waiting BeginWaiting() const;
  asio::awaitable<Result<Place>> Find(const std::string& queue, const Request& request, Waiting& waiting);
  // Between two tries.
  asio::awaitable<void> PauseBetween(Waiting& waiting);
  void EndWaiting(Waiting& waiting);

  // A connection to the node; null if it cannot be reached.
  asio::awaitable<UpstreamPtr> Connect(Thread& thread, const cluster::NodeRow& node, bool fresh);
  void GiveBack(Thread& thread, UpstreamPtr upstream);
  asio::awaitable<void> Sweep(Thread& thread);
  struct Asking;
  asio::awaitable<void> AskOne(std::shared_ptr<Asking> asking, std::size_t which);
  // The head of the request as it goes on; `more` are further lines.
  std::string HeadFor(const Request& request, const NodeAddress& address, std::string_view more) const;
  Thread& ThreadOf(NetThread& net) { return threads_.at(&net); }
  bool Is(const std::string& queue, std::string_view incarnation) const;

  ServerContext& server_;
  cluster::Node& node_;
  std::optional<asio::ssl::context> tls_;
  std::unordered_map<NetThread*, Thread> threads_;
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> parked_{0}, forwarded_{0}, gave_up_{0}, running_{0};
};

}  // namespace allot
