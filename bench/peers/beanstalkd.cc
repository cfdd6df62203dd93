// Measures beanstalkd with the load that `allot bench` puts on our own server: same loop, same payloads, same shape.
//
//   peer_beanstalkd none|f0|f50 [--seconds S] [--jobs N] [--samples N] [put] [drain] [latency]
//
// Starts a beanstalkd of its own on a free port of 127.0.0.1, without a log, or with one in a temporary directory that
// is synced at every write (f0) or every 50 ms (f50), and prints figures as JSON.
#include <cstdio>
#include <cstdlib>
#include <deque>
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
  std::string durability = "none";
  double seconds = 3;
  std::uint64_t jobs = 100'000;
  std::size_t samples = 5'000;
  std::set<std::string> scenarios;
};

// Splits what came in into lines and, after RESERVED, bodies.
class BeanstalkLink : public Link {
 public:
  using Link::Link;
  bool opened = false;

 protected:
  virtual void OnReply(std::string_view line) = 0;
  void OnOpen() override { opened = true; }

  std::size_t OnData(std::string_view data) override {
    std::size_t used = 0;
    for (;;) {
      const std::string_view rest = data.substr(used);
      const std::size_t end = rest.find("\r\n");
      if (end == std::string_view::npos) return used;
      const std::string_view line = rest.substr(0, end);
      std::size_t size = end + 2;
      if (line.starts_with("RESERVED ")) {
        const std::size_t body = std::strtoul(line.substr(line.rfind(' ') + 1).data(), nullptr, 10);
        size += body + 2;
        if (rest.size() < size) return used;
      }
      used += size;
      OnReply(line);
    }
  }
};

std::string PutMessage() {
  return "put 0 0 60 " + std::to_string(kPayloadBytes) + "\r\n" + std::string(kPayloadBytes, 'x') + "\r\n";
}

class Putter final : public BeanstalkLink {
 public:
  Putter(Loop& loop, std::uint64_t& answered, const bool& go_on)
      : BeanstalkLink(loop), answered_(answered), go_on_(go_on) {}
  void Put() { Send(message_); }
  bool idle = true;

 protected:
  void OnReply(std::string_view line) override {
    if (!line.starts_with("INSERTED ")) throw Failure("beanstalkd says: " + std::string(line));
    ++answered_;
    idle = !go_on_;
    if (go_on_) Put();
  }

 private:
  const std::string message_ = PutMessage();
  std::uint64_t& answered_;
  const bool& go_on_;
};

class Reserver final : public BeanstalkLink {
 public:
  Reserver(Loop& loop, std::uint64_t& deleted) : BeanstalkLink(loop), deleted_(deleted) {}
  void Reserve() { Send("reserve\r\n"); }

 protected:
  void OnReply(std::string_view line) override {
    if (line.starts_with("RESERVED ")) {
      const std::string_view id = line.substr(9, line.find(' ', 9) - 9);
      // The next reserve travels with the delete, in one write.
      message_.assign("delete ").append(id).append("\r\nreserve\r\n");
      Send(message_);
      if (on_start) on_start();
    } else if (line == "DELETED") {
      ++deleted_;
    } else {
      throw Failure("beanstalkd says: " + std::string(line));
    }
  }

 public:
  std::function<void()> on_start;

 private:
  std::uint64_t& deleted_;
  std::string message_;
};

template <typename T, typename... Args>
std::vector<std::unique_ptr<T>> ConnectAll(Loop& loop, std::uint16_t port, std::size_t count, Args&... args) {
  std::vector<std::unique_ptr<T>> links;
  for (std::size_t i = 0; i < count; ++i) {
    links.push_back(std::make_unique<T>(loop, args...));
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

class Beanstalkd {
 public:
  explicit Beanstalkd(const std::string& durability) : port_(FreePort()) {
    std::vector<std::string> command = {"beanstalkd", "-l", "127.0.0.1", "-p", std::to_string(port_)};
    if (durability != "none") {
      command.insert(command.end(), {"-b", directory_.path(), durability == "f0" ? "-f0" : "-f50"});
    }
    child_.Start(command, directory_.path() + "/server.log");
    Probe();
  }
  std::uint16_t port() const { return port_; }
  Child& child() { return child_; }
  const TemporaryDirectory& directory() const { return directory_; }

 private:
  class ProbeLink final : public BeanstalkLink {
   public:
    using BeanstalkLink::BeanstalkLink;
    bool closed = false;

   protected:
    void OnReply(std::string_view) override {}
    void OnClosed() override { closed = true; }
  };
  void Probe() {
    const auto begun = SteadyClock::now();
    while (SteadyClock::now() - begun < 5s) {
      Loop loop;
      ProbeLink link(loop);
      link.Connect(port_);
      loop.RunUntil([&] { return link.opened || link.closed; }, 5s, "starting beanstalkd");
      if (link.opened) return;
      child_.CheckAlive();
      std::this_thread::sleep_for(5ms);
    }
    throw Failure("beanstalkd did not start");
  }

  const std::uint16_t port_;
  TemporaryDirectory directory_;
  Child child_;
};

// Puts for a time (seconds > 0) or a number of jobs; returns the rate.
double Put(std::uint16_t port, std::size_t clients, double seconds, std::uint64_t jobs) {
  Loop loop;
  std::uint64_t answered = 0;
  bool go_on = true;
  auto links = ConnectAll<Putter>(loop, port, clients, answered, go_on);
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

void MeasurePut(const Options& options, std::size_t clients, Figures& figures) {
  Beanstalkd server(options.durability);
  figures.Add("put/clients=" + std::to_string(clients), Put(server.port(), clients, options.seconds, 0), "jobs/s");
}

void MeasureDrain(const Options& options, std::size_t workers, std::uint64_t jobs, Figures& figures) {
  Beanstalkd server(options.durability);
  Put(server.port(), 64, 0, jobs + 64);
  Loop loop;
  std::uint64_t deleted = 0;
  auto links = ConnectAll<Reserver>(loop, server.port(), workers, deleted);
  const double own_before = OwnCpuSeconds();
  const double cpu_before = server.child().CpuSeconds();
  const auto begun = SteadyClock::now();
  for (auto& link : links) link->Reserve();
  loop.RunUntil([&] { return deleted >= jobs; }, kLimit, "draining");
  const double seconds = SecondsSince(begun);
  const std::string name = "drain/workers=" + std::to_string(workers);
  const auto done = static_cast<double>(deleted);
  figures.Add(name, done / seconds, "jobs/s");
  figures.Add(name + "/server_cpu", (server.child().CpuSeconds() - cpu_before) * 1e6 / done, "us/job");
  figures.Add(name + "/client_cpu", (OwnCpuSeconds() - own_before) * 1e6 / done, "us/job");
}

void MeasureLatency(const Options& options, Figures& figures) {
  Beanstalkd server(options.durability);
  Loop loop;
  std::uint64_t deleted = 0;
  std::uint64_t answered = 0;
  const bool go_on = false;
  auto reservers = ConnectAll<Reserver>(loop, server.port(), 1, deleted);
  auto putters = ConnectAll<Putter>(loop, server.port(), 1, answered, go_on);
  SteadyClock::time_point started;
  reservers[0]->on_start = [&] { started = SteadyClock::now(); };
  reservers[0]->Reserve();
  std::vector<double> micros;
  const auto begun = SteadyClock::now();
  for (std::uint64_t i = 1; i <= options.samples && SecondsSince(begun) < 30; ++i) {
    const auto submitted = SteadyClock::now();
    putters[0]->Put();
    loop.RunUntil([&] { return deleted >= i && answered >= i; }, 10s, "a put and its delete");
    micros.push_back(std::chrono::duration<double, std::micro>(started - submitted).count());
  }
  figures.AddPercentiles("latency", micros, "us");
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::strtod(argv[++i], nullptr) : 0; };
    if (word == "none" || word == "f0" || word == "f50") {
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
      std::fprintf(stderr, "usage: %s none|f0|f50 [--seconds S] [--jobs N] [--samples N] [put] [drain] [latency]\n",
                   argv[0]);
      return 2;
    }
  }
  if (options.scenarios.empty()) options.scenarios = {"put", "drain", "latency"};
  Figures figures;
  try {
    RaiseFileLimit(1024);
    if (options.scenarios.contains("put")) {
      MeasurePut(options, 1, figures);
      MeasurePut(options, 64, figures);
    }
    if (options.scenarios.contains("drain")) {
      MeasureDrain(options, 1, options.jobs / 4, figures);
      MeasureDrain(options, 8, options.jobs / 2, figures);
      MeasureDrain(options, 64, options.jobs, figures);
    }
    if (options.scenarios.contains("latency")) MeasureLatency(options, figures);
  } catch (const Failure& failure) {
    std::fprintf(stderr, "peer_beanstalkd: %s\n", failure.what());
    return 1;
  }
  std::string out;
  figures.AppendJson(out);
  std::fputs(out.c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace allot::bench

int main(int argc, char** argv) { return allot::bench::Main(argc, argv); }
