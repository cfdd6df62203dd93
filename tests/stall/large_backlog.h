// SPDX-License-Identifier: Apache-2.0
// A server with a large backlog and many workers, and a client that submits and pulls beside whatever goes on.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/sanitizers.h"
#include "support/json.h"
#include "support/live_server.h"

namespace allot::testing {

using std::chrono::milliseconds;

// Of a round, and so of each step in it; and with how many jobs (12,000 at least) and workers.
#if ALLOT_SANITIZED
inline constexpr double kMostSeconds = 0.4;
inline constexpr std::size_t kUsualJobs = 20'000, kUsualWorkers = 200;
#else
inline constexpr double kMostSeconds = 0.02;
inline constexpr std::size_t kUsualJobs = 100'000, kUsualWorkers = 2'000;
#endif

inline const std::string kQueue = "/v1/queues/default";
inline const std::string kJobs = kQueue + "/jobs";
inline const std::string kWorkers = kQueue + "/workers";
inline const std::string kLimits = kQueue + "/limits";

inline std::size_t FromEnv(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
inline const std::size_t kJobCount = FromEnv("ALLOT_STALL_JOBS", kUsualJobs);
inline const std::size_t kWorkerCount = FromEnv("ALLOT_STALL_WORKERS", kUsualWorkers);
inline constexpr std::size_t kFatJobs = 1000;
inline constexpr std::size_t kBatch = 1000;

inline std::string FatMeta() {
  std::string meta = R"({"customer":"acme")";
  for (int i = 0; i < 3; ++i) meta += ",\"text" + std::to_string(i) + "\":\"" + std::string(1000, 'x') + "\"";
  return meta + "}";
}

// Runs `ask` on so many connections at once, each `times` times.
inline void InParallel(std::uint16_t port, int connections, int times, const std::function<void(Http&, int)>& ask) {
  std::vector<std::thread> threads;
  for (int i = 0; i < connections; ++i) {
    threads.emplace_back([&, i] {
      Http http(port);
      for (int n = 0; n < times; ++n) ask(http, i * times + n);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// A virtual machine's memory may be its host's until it is used first, and then each page costs the thread that touches
// it 50 to 100 µs of what counts as its own CPU time, instead of some 3: 25 to 50 ms for 2 MiB. That is no step of the
// engine's: the server has as much as it needs in use before it begins.
inline const std::size_t kMemoryReady = std::max<std::size_t>(std::size_t{3} << 29, kJobCount * 6144);

class LargeBacklog : public ::testing::Test {
 protected:
  static void Begin(std::vector<std::string> flags, std::size_t jobs = kJobCount, std::size_t workers = kWorkerCount,
                    std::size_t ready = kMemoryReady) {
    flags.insert(flags.end(), {"--memory-ready", std::to_string(ready)});
    log_read_ = 0;
    server_ = std::make_unique<LiveServer>(LiveServer::Options{.flags = std::move(flags)});
    ASSERT_TRUE(server_->Start()) << server_->Log();
    Http http = server_->http();
    ASSERT_EQ(http.Call("PATCH", kQueue, R"({"settings":{"worker_grace_ms":86400000}})").status, 200);
    // First those with much to tell: the last pages of all lists.
    const std::string meta = FatMeta();
    SubmitMany(http, kFatJobs, [&](std::size_t) { return R"({"tag":"fat","user":"ann","meta":)" + meta + "}"; });
    // Each has a size of its own, as many as there are jobs; and one of 100,000 lots, since kinds of jobs are bounded.
    SubmitMany(http, jobs, [](std::size_t i) {
      std::string spec = R"({"tag":"t)" + std::to_string(i % 100) + R"(","user":"u)" + std::to_string(i % 1000) +
                         R"(","priority":)" + std::to_string(i % 10) + R"(,"meta":{"size":)" + std::to_string(i + 1) +
                         R"(,"lot":)" + std::to_string(i % 100'000) + R"(,"site":"s)" + std::to_string(i % 20) + "\"}";
      if (i % 7 == 0) spec += R"(,"requirements":"TARGET.Mem > 10")";
      return spec + "}";
    });
    InParallel(server_->port(), 4, static_cast<int>(workers / 4), [](Http& own, int i) {
      const std::string n = std::to_string(i);
      const Answer answer =
          own.Post(kWorkers, R"({"name":"host-)" + n + R"(","tags":["t)" + std::to_string(i % 100) +
                                 R"(","fat"],"slots":4,)" + R"("attributes":{"Mem":)" + n + R"(,"Host":"host-)" + n +
                                 R"(.example.org","Site":"s)" + std::to_string(i % 20) + "\"}}");
      ASSERT_EQ(answer.status, 201) << answer.body;
    });
    newest_ = Document(http.Get(kJobs + "?limit=1").body).Text("/jobs/0/id");
    Settle();
  }
  static void TearDownTestSuite() {
    if (server_ != nullptr) server_->Stop();
    server_.reset();
  }

  template <typename Spec>
  static void SubmitMany(Http& http, std::size_t count, Spec spec) {
    for (std::size_t from = 0; from < count; from += kBatch) {
      std::string body = R"({"jobs":[)";
      for (std::size_t i = from; i < std::min(count, from + kBatch); ++i) {
        if (i > from) body.push_back(',');
        body += spec(i);
      }
      const Answer answer = http.Post(kJobs + "/batch", body + "]}");
      ASSERT_EQ(answer.status, 201) << answer.body.substr(0, 500);
    }
  }

  // Larger work that is still under way is not the next abuse's.
  static void Settle() {
    Http http = server_->http();
    for (int i = 0; i < 100; ++i) {
      Longest(http);
      std::this_thread::sleep_for(milliseconds(100));
      const auto steps = Longest(http);
      if (steps.at("round") < 0.002) return;
    }
  }

  // Seconds of the longest step of each kind since the last time.
  static std::map<std::string, double> Longest(Http& http) {
    std::map<std::string, double> longest;
    const std::string text = http.Get("/metrics").body;
    constexpr std::string_view kName = "allotter_engine_longest_step_seconds{queue=\"default\",kind=\"";
    constexpr std::string_view kOther = "allotter_engine_longest_step_seconds{kind=\"";
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      const std::string_view name = line.starts_with(kName) ? kName : kOther;
      if (!line.starts_with(name)) continue;
      const std::string kind = line.substr(name.size(), line.find('"', name.size()) - name.size());
      longest[kind] = std::strtod(line.c_str() + line.rfind(' '), nullptr);
    }
    EXPECT_EQ(longest.size(), 6u) << text.substr(0, 2000);
    return longest;
  }

  // No round is long while `abuse` goes on beside a client that submits, pulls and reports. Not even once: what grows a
  // table, or frees a large walk, stalls the first time alone.
  static void ExpectNoStall(const std::function<void()>& abuse) {
    ExpectNoneLong(StepsDuring(abuse));
    Settle();
  }

  // What the machine does to a thread comes and goes: a host that takes its processor away, or looks for memory, is
  // seen as 20 to 40 ms of CPU time here and there. What the engine does comes again. So a case that fails is run again
  // with a server of its own (run.sh), and the least of all runs counts, for each kind of step.
  static void ExpectNoneLong(const std::map<std::string, double>& steps) {
    static std::map<std::string, int> checks;
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    const std::string check = name + "#" + std::to_string(++checks[name]);
    const char* const file = std::getenv("ALLOT_STALL_LEAST");
    std::map<std::string, double> least;
    if (file != nullptr) {
      std::ifstream in(file);
      double seconds = 0;
      for (std::string key; in >> key >> seconds;) least[key] = seconds;
    }
    for (const auto& [kind, seconds] : steps) {
      const auto [at, first] = least.try_emplace(check + "/" + kind, seconds);
      at->second = std::min(at->second, seconds);
      EXPECT_LE(at->second, kMostSeconds) << kind << (first ? "" : ", in each run so far");
    }
    if (file == nullptr) return;
    std::ofstream out(file);
    for (const auto& [key, seconds] : least) out << key << ' ' << seconds << '\n';
  }

  // Seconds of the longest step of each kind meanwhile.
  static std::map<std::string, double> StepsDuring(const std::function<void()>& abuse) {
    Http http = server_->http();
    std::atomic<bool> over{false};
    std::vector<double> pulls;  // milliseconds by the clock
    std::thread prober([&] {
      Http own = server_->http();
      const Document hello(own.Post(kWorkers, R"({"name":"prober","tags":["probe"],"slots":100})").body);
      const std::string pull = kWorkers + "/" + hello.Text("/worker") + "/pull";
      const std::string key = R"({"key":")" + hello.Text("/key") + "\"";
      std::string done;
      while (!over) {
        own.Post(kJobs, R"({"tag":"probe"})");
        const auto began = SteadyNow();
        const Document got(own.Post(pull, key + R"(,"pull":1,"done":[)" + done + "]}").body);
        pulls.push_back(std::chrono::duration<double, std::milli>(SteadyNow() - began).count());
        done.clear();
        got.ForEach("/tasks", [&](const Json& task) {
          done = R"({"job":)" + task.Dump("/job") + R"(,"index":)" + task.Dump("/index") + R"(,"lease":)" +
                 task.Dump("/lease") + "}";
        });
      }
      own.Call("DELETE", kWorkers + "/" + hello.Text("/worker"), key + "}");
    });
    std::this_thread::sleep_for(milliseconds(100));
    Longest(http);
    abuse();
    const auto steps = Longest(http);
    over = true;
    prober.join();
    std::string figures;
    for (const auto& [kind, seconds] : steps) figures += " " + kind + " " + std::to_string(seconds * 1000);
    EXPECT_FALSE(pulls.empty());
    std::sort(pulls.begin(), pulls.end());
    const auto of_pulls = [&](std::size_t percent) {
      return pulls.empty() ? 0 : pulls[std::min(pulls.size() - 1, pulls.size() * percent / 100)];
    };
    std::printf("  longest steps, in ms of CPU time:%s; %zu pulls, by the clock p50 %.1f p99 %.1f longest %.1f ms\n",
                figures.c_str(), pulls.size(), of_pulls(50), of_pulls(99), of_pulls(100));
    PrintLongSteps();
    return steps;
  }

  // What the server has logged of steps that were too long, since the last time; with the request that each served.
  static void PrintLongSteps() {
    const std::string log = server_->Log();
    for (std::size_t& at = log_read_; at < log.size();) {
      const std::size_t end = std::min(log.find('\n', at), log.size());
      const std::string line = log.substr(at, end - at);
      if (line.find("a step of the engine thread took long") != std::string::npos) std::printf("  %s\n", line.c_str());
      at = end + 1;
    }
  }

  static void WaitUntil(const std::function<bool()>& holds) {
    for (int i = 0; i < 600 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(100));
    EXPECT_TRUE(holds());
  }
  static std::uint16_t port() { return server_->port(); }

  inline static std::unique_ptr<LiveServer> server_;
  inline static std::string newest_;
  inline static std::size_t log_read_ = 0;
};

}  // namespace allot::testing
