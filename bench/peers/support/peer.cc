// SPDX-License-Identifier: Apache-2.0
#include "peers/support/peer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/bench/child.h"
#include "cli/bench/figures.h"
#include "cli/bench/loop.h"

namespace allot::bench {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr std::size_t kPayloadBytes = 100;
constexpr milliseconds kLimit = 120s;

struct Options {
  std::string durability;
  double seconds = 3;
  std::uint64_t jobs = 100'000;
  std::size_t samples = 5'000;
  std::set<std::string> scenarios;
};

// Splits what came in into replies.
class PeerLink : public Link {
 public:
  PeerLink(Loop& loop, const Peer& peer) : Link(loop), peer_(peer) {}
  bool opened = false;

 protected:
  const Peer& peer() const { return peer_; }
  virtual void OnReply(const Peer::Reply& reply) = 0;
  [[noreturn]] void Unexpected(const Peer::Reply& reply) const {
    throw Failure(std::string(peer_.name()) + " says: " + std::string(reply.what));
  }
  void OnOpen() override { opened = true; }

  std::size_t OnData(std::string_view data) override {
    std::size_t used = 0;
    for (;;) {
      const Peer::Reply reply = peer_.Next(data.substr(used));
      if (reply.size == 0) return used;
      used += reply.size;
      OnReply(reply);
    }
  }

 private:
  const Peer& peer_;
};

class Putter final : public PeerLink {
 public:
  Putter(Loop& loop, const Peer& peer, std::uint64_t& answered, const bool& go_on)
      : PeerLink(loop, peer), message_(peer.Put(std::string(kPayloadBytes, 'x'))), answered_(answered), go_on_(go_on) {}
  void Put() { Send(message_); }
  bool idle = true;

 protected:
  void OnReply(const Peer::Reply& reply) override {
    if (reply.kind != Peer::Kind::kOk) Unexpected(reply);
    ++answered_;
    idle = !go_on_;
    if (go_on_) Put();
  }

 private:
  const std::string message_;
  std::uint64_t& answered_;
  const bool& go_on_;
};

class Taker final : public PeerLink {
 public:
  Taker(Loop& loop, const Peer& peer, std::uint64_t& finished) : PeerLink(loop, peer), finished_(finished) {}
  void Take() { Send(peer().Take()); }
  std::function<void()> on_start;

 protected:
  void OnReply(const Peer::Reply& reply) override {
    if (reply.kind == Peer::Kind::kTaken) {
      message_.clear();
      peer().FinishAndTake(reply.what, message_);
      Send(message_);
      if (on_start) on_start();
    } else if (reply.kind == Peer::Kind::kOk) {
      ++finished_;
    } else {
      Unexpected(reply);
    }
  }

 private:
  std::uint64_t& finished_;
  std::string message_;
};

template <typename T, typename... Args>
std::vector<std::unique_ptr<T>> ConnectAll(Loop& loop, const Peer& peer, std::uint16_t port, std::size_t count,
                                           Args&... args) {
  std::vector<std::unique_ptr<T>> links;
  for (std::size_t i = 0; i < count; ++i) {
    links.push_back(std::make_unique<T>(loop, peer, args...));
    links.back()->Connect(port);
  }
  loop.RunUntil(
      [&] {
        for (const auto& link : links) {
          if (!link->opened) return false;
        }
        return true;
      },
      10s, "connecting");
  return links;
}

class PeerServer {
 public:
  PeerServer(const Peer& peer, const std::string& durability) : peer_(peer), port_(FreePort()) {
    child_.Start(peer.Command(durability, port_, directory_.path()), directory_.path() + "/server.log");
    Probe();
  }
  const Peer& peer() const { return peer_; }
  std::uint16_t port() const { return port_; }
  Child& child() { return child_; }

 private:
  class ProbeLink final : public PeerLink {
   public:
    using PeerLink::PeerLink;
    bool closed = false;

   protected:
    void OnReply(const Peer::Reply&) override {}
    void OnClosed() override { closed = true; }
  };
  void Probe() {
    const std::string what = "starting " + std::string(peer_.name());
    const auto begun = SteadyClock::now();
    while (SteadyClock::now() - begun < 5s) {
      Loop loop;
      ProbeLink link(loop, peer_);
      link.Connect(port_);
      loop.RunUntil([&] { return link.opened || link.closed; }, 5s, what);
      if (link.opened) return;
      child_.CheckAlive();
      std::this_thread::sleep_for(5ms);
    }
    throw Failure(what + " took too long");
  }

  const Peer& peer_;
  const std::uint16_t port_;
  TemporaryDirectory directory_;
  Child child_;
};

// Puts for a time (seconds > 0) or a number of jobs; returns the rate.
double Put(PeerServer& server, std::size_t clients, double seconds, std::uint64_t jobs) {
  Loop loop;
  std::uint64_t answered = 0;
  bool go_on = true;
  auto links = ConnectAll<Putter>(loop, server.peer(), server.port(), clients, answered, go_on);
  const auto begun = SteadyClock::now();
  for (auto& link : links) {
    link->idle = false;
    link->Put();
  }
  loop.RunUntil([&] { return seconds > 0 ? SecondsSince(begun) >= seconds : answered + links.size() >= jobs; }, kLimit,
                "putting");
  go_on = false;
  loop.RunUntil(
      [&] {
        for (const auto& link : links) {
          if (!link->idle) return false;
        }
        return true;
      },
      kLimit, "putting");
  return static_cast<double>(answered) / SecondsSince(begun);
}

void MeasurePut(const Peer& peer, const Options& options, std::size_t clients, Figures& figures) {
  PeerServer server(peer, options.durability);
  figures.Add("put/clients=" + std::to_string(clients), Put(server, clients, options.seconds, 0), "jobs/s");
}

void MeasureDrain(const Peer& peer, const Options& options, std::size_t workers, std::uint64_t jobs, Figures& figures) {
  PeerServer server(peer, options.durability);
  Put(server, 64, 0, jobs + 64);
  Loop loop;
  std::uint64_t finished = 0;
  auto links = ConnectAll<Taker>(loop, server.peer(), server.port(), workers, finished);
  const double own_before = OwnCpuSeconds();
  const double cpu_before = server.child().CpuSeconds();
  const auto begun = SteadyClock::now();
  for (auto& link : links) link->Take();
  loop.RunUntil([&] { return finished >= jobs; }, kLimit, "draining");
  const double seconds = SecondsSince(begun);
  const std::string name = "drain/workers=" + std::to_string(workers);
  const auto done = static_cast<double>(finished);
  figures.Add(name, done / seconds, "jobs/s");
  figures.Add(name + "/server_cpu", (server.child().CpuSeconds() - cpu_before) * 1e6 / done, "us/job");
  figures.Add(name + "/client_cpu", (OwnCpuSeconds() - own_before) * 1e6 / done, "us/job");
}

void MeasureLatency(const Peer& peer, const Options& options, Figures& figures) {
  PeerServer server(peer, options.durability);
  Loop loop;
  std::uint64_t finished = 0;
  std::uint64_t answered = 0;
  const bool go_on = false;
  auto takers = ConnectAll<Taker>(loop, server.peer(), server.port(), 1, finished);
  auto putters = ConnectAll<Putter>(loop, server.peer(), server.port(), 1, answered, go_on);
  SteadyClock::time_point started;
  takers[0]->on_start = [&] { started = SteadyClock::now(); };
  takers[0]->Take();
  std::vector<double> micros;
  const auto begun = SteadyClock::now();
  for (std::uint64_t i = 1; i <= options.samples && SecondsSince(begun) < 30; ++i) {
    const auto submitted = SteadyClock::now();
    putters[0]->Put();
    loop.RunUntil([&] { return finished >= i && answered >= i; }, 10s, "a put and its end");
    micros.push_back(std::chrono::duration<double, std::micro>(started - submitted).count());
  }
  figures.AddPercentiles("latency", micros, "us");
}

}  // namespace

int PeerMain(const Peer& peer, int argc, char** argv) {
  Options options;
  const std::vector<std::string_view> durabilities = peer.durabilities();
  options.durability = durabilities.front();
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::strtod(argv[++i], nullptr) : 0; };
    if (std::find(durabilities.begin(), durabilities.end(), word) != durabilities.end()) {
      options.durability = word;
    } else if (word == "put" || word == "drain" || word == "latency") {
      options.scenarios.insert(word);
    } else if (word == "--seconds") {
      options.seconds = value();
    } else if (word == "--jobs") {
      options.jobs = static_cast<std::uint64_t>(value());
    } else if (word == "--samples") {
      options.samples = static_cast<std::size_t>(value());
    } else {
      std::string words;
      for (const std::string_view each : durabilities) words += (words.empty() ? "" : "|") + std::string(each);
      std::fprintf(stderr, "usage: %s [%s] [--seconds S] [--jobs N] [--samples N] [put] [drain] [latency]\n", argv[0],
                   words.c_str());
      return 2;
    }
  }
  if (options.scenarios.empty()) options.scenarios = {"put", "drain", "latency"};
  Figures figures;
  try {
    RaiseFileLimit(1024);
    if (options.scenarios.contains("put")) {
      MeasurePut(peer, options, 1, figures);
      MeasurePut(peer, options, 64, figures);
    }
    if (options.scenarios.contains("drain")) {
      MeasureDrain(peer, options, 1, options.jobs / 4, figures);
      MeasureDrain(peer, options, 8, options.jobs / 2, figures);
      MeasureDrain(peer, options, 64, options.jobs, figures);
    }
    if (options.scenarios.contains("latency")) MeasureLatency(peer, options, figures);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", argv[0], failure.what());
    return 1;
  }
  std::string out;
  figures.AppendJson(out);
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace allot::bench
