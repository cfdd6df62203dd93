// SPDX-License-Identifier: Apache-2.0
// Everything that bounds allow, at once: memory stays within its budget, and the engine thread serves others.
//
// Clients without manners fill the queue with jobs, requirements, strategies and limits until they are refused, while
// others ask for all that is dear to answer. What is asserted is what the process holds in memory, and how long rounds
// of the engine thread are: no more than that is between a pull and its answer, whatever else the machine does.
#include <cinttypes>

#include "stall/large_backlog.h"

namespace allot::testing {
namespace {

// Room for the backlog and about as much again. What the process needs beside queues is within a tenth of it.
const std::uint64_t kBudget = std::max<std::uint64_t>(1ull << 30, kJobCount * 3072);
constexpr auto kFor = milliseconds(12'000);
constexpr double kUsualSeconds = ALLOT_SANITIZED ? 0.2 : 0.005;  // of 99 in 100 rounds

class EverythingTest : public LargeBacklog {
 protected:
  static void SetUpTestSuite() {
    // What the process has in use is held against the budget, too.
    Begin({"--memory-budget", std::to_string(kBudget)}, kJobCount, kWorkerCount, kBudget / 3);
  }

  struct Rounds {
    double all = 0, usual = 0;  // so many, and of them so many that were short
  };
  static Rounds RoundsOf(Http& http) {
    const std::string name = "allotter_engine_step_seconds_";
    const std::string usual = ALLOT_SANITIZED ? "0.2" : "0.005";
    return {MetricOf(http, name + R"(count{kind="round",queue="default"})"),
            MetricOf(http, name + R"(bucket{kind="round",queue="default",le=")" + usual + "\"}")};
  }
};

TEST_F(EverythingTest, AtOnceStaysWithinTheBudgetAndStallsNobody) {
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> most_memory{0}, refused{0}, answered{0};
  std::vector<std::thread> clients;
  // So many clients that do this one after the other.
  const auto all_the_time = [&](int count, const std::function<Answer(Http&, int)>& ask) {
    for (int i = 0; i < count; ++i) {
      clients.emplace_back([&, i, count, ask] {
        Http http(port());
        for (int n = i; !over; n += count) {
          const Answer answer = ask(http, n);
          ++(answer.status < 300 ? answered : refused);
          EXPECT_TRUE(answer.status < 300 || answer.status == 429 || answer.status == 503) << answer.body;
        }
      });
    }
  };
  const auto abuse = [&] {
    clients.emplace_back([&] {
      while (!over) {
        most_memory = std::max(most_memory.load(), ResidentBytes(server_->pid()));
        std::this_thread::sleep_for(milliseconds(20));
      }
    });
    // To fill it.
    all_the_time(1, [meta = FatMeta()](Http& http, int) {
      std::string body = R"({"jobs":[)";
      for (int i = 0; i < static_cast<int>(kBatch); ++i)
        body += (i == 0 ? "" : ",") + (R"({"tag":"more","user":"bob","meta":)" + meta + "}");
      return http.Post(kJobs + "/batch", body + "]}");
    });
    all_the_time(1, [](Http& http, int n) {
      std::string body = R"({"jobs":[)";
      for (int i = 0; i < static_cast<int>(kBatch); ++i) {
        const std::string number = std::to_string(n * static_cast<int>(kBatch) + i);
        body += (i == 0 ? "" : ",") + (R"({"tag":"t1","user":"eve","requirements":"TARGET.Mem > )" + number +
                                       R"( && TARGET.Host != \"host-)" + number + R"(\""})");
      }
      return http.Post(kJobs + "/batch", body + "]}");
    });
    all_the_time(1, [](Http& http, int n) {
      return http.Post(kWorkers, R"({"name":"s","tags":["t1"],"strategy":"fair(user, prefer_distinct(site, 1, )"
                                 R"(select_only(n = )" +
                                     std::to_string(n % 500) + R"x(, newest)))"})x");
    });
    all_the_time(1, [](Http& http, int n) {
      return http.Post(kLimits, R"({"tag":"l)" + std::to_string(n % 500) +
                                    R"(","name":"x","expr":"true","cost":"MY.size % )" + std::to_string(n % 500 + 7) +
                                    R"(","count":1000,"window_ms":1000,"burst":1000,"expires_in_ms":60000})");
    });
    // To look at it.
    all_the_time(4, [](Http& http, int) { return http.Get(kJobs + "/" + newest_ + "/explain"); });
    all_the_time(2, [](Http& http, int) { return http.Get(kJobs + "?limit=1000&tag=fat"); });
    all_the_time(1, [](Http& http, int) { return http.Get(kWorkers + "?limit=1000"); });
    all_the_time(2, [](Http& http, int) { return http.Get(kQueue + "/demand?limit=10000"); });
    all_the_time(1, [](Http& http, int) { return http.Get(kQueue + "/users?limit=1000"); });
    all_the_time(2, [](Http& http, int) {
      return http.Post(kQueue + "/strategy/try",
                       R"x({"strategy":"fair(user, oldest)","worker":{"tags":["t1"]},"count":100})x");
    });
    all_the_time(2, [](Http& http, int) {
      return http.Post(kLimits + "/try", R"({"expr":"MY.size % 3 == 1","cost":"MY.size / 7.0"})");
    });
    // To work on it.
    all_the_time(2, [](Http& http, int n) {
      const Answer made = http.Post(kWorkers, R"({"name":"asks","tags":["t)" + std::to_string(n % 100) +
                                                  R"("],"slots":4,"strategy":"max_simultaneous(site, 1, )"
                                                  R"x(fair(size, oldest))"})x");
      if (made.status != 201) return made;
      const Document hello(made.body);
      const std::string path = kWorkers + "/" + hello.Text("/worker"), key = R"({"key":")" + hello.Text("/key") + "\"";
      const Answer got = http.Post(path + "/pull", key + R"(,"pull":4,"wait_ms":100})");
      http.Call("DELETE", path, key + "}");
      return got;
    });
    std::this_thread::sleep_for(kFor);
    over = true;
    for (std::thread& client : clients) client.join();
  };
  Http http = server_->http();
  const Rounds before = RoundsOf(http);
  const auto steps = StepsDuring(abuse);
  const Rounds after = RoundsOf(http);
  const double all = after.all - before.all, usual = after.usual - before.usual;
  std::printf("  %" PRIu64 " answered, %" PRIu64 " refused; memory %.0f MB of %.0f; rounds within %.0f ms: %.3f %%\n",
              answered.load(), refused.load(), static_cast<double>(most_memory) / 1e6,
              static_cast<double>(kBudget) / 1e6, kUsualSeconds * 1000, 100 * usual / all);
  ExpectNoneLong(steps);
  // In a soak the bar itself; every day, beside whatever else the machine does, that it is near.
  EXPECT_GE(usual, (std::getenv("ALLOT_STALL_JOBS") != nullptr ? 0.99 : 0.95) * all);
  EXPECT_GT(refused, 0u);
  if (!ALLOT_SANITIZED) {
    EXPECT_LE(static_cast<double>(most_memory), 1.1 * static_cast<double>(kBudget));
  }
}

}  // namespace
}  // namespace allot::testing
