// No standstill: whatever a client asks, the engine thread serves others within 20 ms.
//
// One server with a large backlog and many workers; a prober that submits and pulls all the time; and one abuse after
// the other. What is asserted is the longest round of the engine thread, in CPU time of that thread, as the server
// measures it: that is what a pull waits for at most, and it does not depend on what else the machine does.
//
// ALLOT_STALL_JOBS and ALLOT_STALL_WORKERS set the size; a soak runs it with a million jobs and 10,000 workers.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizers.h"
#include "support/json.h"
#include "support/live_server.h"

namespace allot::testing {
namespace {

using std::chrono::milliseconds;

// Of a round, and so of each step in it; and with how many jobs (12,000 at least) and workers.
#if ALLOT_SANITIZED
constexpr double kMostSeconds = 0.4;
constexpr std::size_t kUsualJobs = 20'000, kUsualWorkers = 200;
#else
constexpr double kMostSeconds = 0.02;
constexpr std::size_t kUsualJobs = 100'000, kUsualWorkers = 2'000;
#endif

const std::string kQueue = "/v1/queues/default";
const std::string kJobs = kQueue + "/jobs";
const std::string kWorkers = kQueue + "/workers";
const std::string kLimits = kQueue + "/limits";

std::size_t FromEnv(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}
const std::size_t kJobCount = FromEnv("ALLOT_STALL_JOBS", kUsualJobs);
const std::size_t kWorkerCount = FromEnv("ALLOT_STALL_WORKERS", kUsualWorkers);
constexpr std::size_t kFatJobs = 1000;
constexpr std::size_t kBatch = 1000;

std::string FatMeta() {
  std::string meta = R"({"customer":"acme")";
  for (int i = 0; i < 3; ++i) meta += ",\"text" + std::to_string(i) + "\":\"" + std::string(1000, 'x') + "\"";
  return meta + "}";
}

// Runs `ask` on so many connections at once, each `times` times.
void InParallel(std::uint16_t port, int connections, int times, const std::function<void(Http&, int)>& ask) {
  std::vector<std::thread> threads;
  for (int i = 0; i < connections; ++i) {
    threads.emplace_back([&, i] {
      Http http(port);
      for (int n = 0; n < times; ++n) ask(http, i * times + n);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

class StallTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = std::make_unique<LiveServer>();
    ASSERT_TRUE(server_->Start()) << server_->Log();
    Http http = server_->http();
    ASSERT_EQ(http.Call("PATCH", kQueue, R"({"settings":{"worker_grace_ms":86400000}})").status, 200);
    // First those with much to tell: the last pages of all lists.
    const std::string meta = FatMeta();
    SubmitMany(http, kFatJobs, [&](std::size_t) { return R"({"tag":"fat","user":"ann","meta":)" + meta + "}"; });
    SubmitMany(http, kJobCount, [](std::size_t i) {
      std::string spec = R"({"tag":"t)" + std::to_string(i % 100) + R"(","user":"u)" + std::to_string(i % 1000) +
                         R"(","priority":)" + std::to_string(i % 10) + R"(,"meta":{"size":)" + std::to_string(i + 1) +
                         R"(,"site":"s)" + std::to_string(i % 20) + "\"}";
      if (i % 7 == 0) spec += R"(,"requirements":"TARGET.Mem > 10")";
      return spec + "}";
    });
    InParallel(server_->port(), 4, static_cast<int>(kWorkerCount / 4), [](Http& own, int i) {
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
    for (const auto& [kind, seconds] : StepsDuring(abuse)) EXPECT_LE(seconds, kMostSeconds) << kind;
  }

  // Seconds of the longest step of each kind meanwhile.
  static std::map<std::string, double> StepsDuring(const std::function<void()>& abuse) {
    Http http = server_->http();
    std::atomic<bool> over{false};
    std::size_t pulls = 0;
    milliseconds slowest{0};
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
        slowest = std::max(slowest, std::chrono::duration_cast<milliseconds>(SteadyNow() - began));
        done.clear();
        got.ForEach("/tasks", [&](const Json& task) {
          done = R"({"job":)" + task.Dump("/job") + R"(,"index":)" + task.Dump("/index") + R"(,"lease":)" +
                 task.Dump("/lease") + "}";
        });
        ++pulls;
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
    std::printf("  longest steps, in ms of CPU time:%s; %zu pulls, the slowest %lld ms by the clock\n", figures.c_str(),
                pulls, static_cast<long long>(slowest.count()));
    EXPECT_GT(pulls, 0u);
    Settle();
    return steps;
  }

  static void WaitUntil(const std::function<bool()>& holds) {
    for (int i = 0; i < 600 && !holds(); ++i) std::this_thread::sleep_for(milliseconds(100));
    EXPECT_TRUE(holds());
  }
  static std::uint16_t port() { return server_->port(); }

  static std::unique_ptr<LiveServer> server_;
  static std::string newest_;
};
std::unique_ptr<LiveServer> StallTest::server_;
std::string StallTest::newest_;

TEST_F(StallTest, SixteenExplanationsAtOnce) {
  ExpectNoStall([] {
    InParallel(port(), 16, 3,
               [](Http& http, int) { EXPECT_EQ(http.Get(kJobs + "/" + newest_ + "/explain").status, 200); });
  });
}

TEST_F(StallTest, SixteenExplanationsOfASpecWithManyRegularExpressions) {
  std::string requirements;
  for (int i = 0; i < 48; ++i) {
    if (i > 0) requirements += " || ";
    requirements += "regexp(\\\"^host-" + std::to_string(i) + "[0-9]*x.*(a|b)+c$\\\", TARGET.Host)";
  }
  const std::string spec = R"({"tag":"fat","requirements":")" + requirements + "\"}";
  ExpectNoStall([&] {
    InParallel(port(), 16, 2, [&](Http& http, int) {
      const Answer answer = http.Post(kQueue + "/explain", spec);
      EXPECT_EQ(answer.status, 200) << answer.body.substr(0, 300);
    });
  });
}

TEST_F(StallTest, ListsOfJobsWithMuchMeta) {
  ExpectNoStall([] {
    InParallel(port(), 8, 4, [](Http& http, int) {
      const Answer answer = http.Get(kJobs + "?limit=1000&tag=fat");
      EXPECT_EQ(answer.status, 200);
      EXPECT_LT(answer.body.size(), 2u << 20) << "a page ends where it is large";
    });
  });
}

TEST_F(StallTest, ManyDifferentLiveViewsOfSuchLists) {
  ExpectNoStall([] {
    std::vector<Socket> watchers;
    for (int i = 0; i < 240; ++i) {
      Socket& socket = watchers.emplace_back(port());
      ASSERT_TRUE(socket.connected());
      ASSERT_TRUE(socket.Send("GET " + kJobs + "?tag=fat&limit=" + std::to_string(1000 - i) +
                              " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"));
    }
    std::string bytes;
    const auto until = SteadyNow() + milliseconds(4000);
    while (SteadyNow() < until) {
      for (Socket& socket : watchers) {
        bytes.clear();
        socket.ReadSome(bytes, SteadyNow() + milliseconds(1));
      }
    }
  });
}

TEST_F(StallTest, ListsOfWorkersWithManyAttributes) {
  Http http = server_->http();
  std::string attributes;
  for (int i = 0; i < 120; ++i) attributes += ",\"a" + std::to_string(i) + "\":\"" + std::string(1000, 'y') + "\"";
  for (int i = 0; i < 100; ++i) {
    const Answer answer =
        http.Post(kWorkers, R"({"name":"large","tags":["large"],"attributes":{"z":1)" + attributes + "}}");
    ASSERT_EQ(answer.status, 201) << answer.body;
  }
  ExpectNoStall([] {
    InParallel(port(), 8, 4, [](Http& own, int) {
      std::string after;
      do {
        const Answer answer = own.Get(kWorkers + "?limit=1000" + after);
        EXPECT_EQ(answer.status, 200);
        EXPECT_LT(answer.body.size(), 3u << 20);
        after = Document(answer.body).Text("/next");
        if (!after.empty()) after = "&after=" + after;
      } while (!after.empty());
    });
  });
}

TEST_F(StallTest, UsersErrorsReceiptsPicturesAndTheRest) {
  ExpectNoStall([] {
    InParallel(port(), 8, 4, [](Http& http, int) {
      for (const std::string& path :
           {kQueue + "/users?limit=1000", kQueue + "/receipts?limit=1000",
            kJobs + "/" + newest_ + "/picture?parts=1000", kJobs + "/" + newest_ + "/errors", kQueue + "/overview",
            kQueue + "/history", std::string("/metrics"), kJobs + "?user=nobody&limit=1000",
            kJobs + "/" + newest_ + "/tasks", std::string("/v1/queues")}) {
        EXPECT_EQ(http.Get(path).status, 200) << path;
      }
    });
  });
}

TEST_F(StallTest, TryingStrategies) {
  ExpectNoStall([] {
    InParallel(port(), 4, 1, [](Http& http, int) {
      const Answer answer = http.Post(
          kQueue + "/strategy/try",
          R"x({"strategy":"fair(user, prefer_distinct(site, oldest))","worker":{"tags":["t1"]},"count":100})x");
      EXPECT_TRUE(answer.status == 200 || answer.status == 503) << answer.body;
    });
  });
}

TEST_F(StallTest, TryingLimits) {
  ExpectNoStall([] {
    InParallel(port(), 4, 1, [](Http& http, int) {
      const Answer answer =
          http.Post(kLimits + "/try", R"({"expr":"MY.size % 3 == 1 && MY.User != \"nobody\"","cost":"MY.size / 7.0"})");
      EXPECT_TRUE(answer.status == 200 || answer.status == 503) << answer.body;
    });
  });
}

TEST_F(StallTest, AskingForTheDemand) {
  ExpectNoStall([] {
    InParallel(port(), 4, 1, [](Http& http, int) {
      const Answer answer = http.Get(kQueue + "/demand?limit=10000");
      EXPECT_TRUE(answer.status == 200 || answer.status == 503) << answer.body;
    });
  });
}

TEST_F(StallTest, SwitchingToBalancedAndBack) {
  Http http = server_->http();
  const auto set = [&](const std::string& mode) {
    const Answer answer = http.Call("PATCH", kQueue, R"({"settings":{"dispatch":")" + mode + "\"}}");
    EXPECT_EQ(answer.status, 200) << answer.body;
  };
  ExpectNoStall([&] {
    for (int i = 0; i < 2; ++i) {
      set("balanced");
      std::this_thread::sleep_for(milliseconds(1500));
      set("fanout");
      std::this_thread::sleep_for(milliseconds(300));
    }
  });
}

TEST_F(StallTest, ALimitWithManyDistinctCosts) {
  Http http = server_->http();
  ExpectNoStall([&] {
    const Answer made = http.Post(
        kLimits,
        R"({"tag":"stall","name":"costs","expr":"true","cost":"MY.size","count":1,"window_ms":1000,"burst":1,"expires_in_ms":60000})");
    EXPECT_EQ(made.status, 201) << made.body;
    // Workers that ask meet what it holds back.
    InParallel(port(), 4, 5, [](Http& own, int i) {
      const Document hello(
          own.Post(kWorkers, R"({"name":"asks","tags":["t)" + std::to_string(i % 100) + R"("],"slots":4})").body);
      own.Post(kWorkers + "/" + hello.Text("/worker") + "/pull",
               R"({"key":")" + hello.Text("/key") + R"(","pull":4,"wait_ms":500})");
      own.Call("DELETE", kWorkers + "/" + hello.Text("/worker"), R"({"key":")" + hello.Text("/key") + "\"}");
    });
    InParallel(port(), 4, 1, [](Http& own, int) {
      const Answer answer = own.Get(kQueue + "/demand?limit=10000");
      EXPECT_TRUE(answer.status == 200 || answer.status == 503) << answer.body;
    });
    http.Call("DELETE", kLimits + "/" + Document(made.body).Text("/uuid"));
    std::this_thread::sleep_for(milliseconds(500));
  });
}

TEST_F(StallTest, FlipsOfAValueWithManyCells) {
  // Each job is a cell of its own, and all of a site fill up and open with each start and end.
  const std::string strategy = "max_simultaneous(site, 1, fair(size, oldest))";
  ExpectNoStall([&] {
    InParallel(port(), 4, 3, [&](Http& own, int i) {
      const Document hello(own.Post(kWorkers, R"({"name":"flips","tags":["t)" + std::to_string(i) +
                                                  R"("],"slots":4,"strategy":")" + strategy + "\"}")
                               .body);
      const std::string pull = kWorkers + "/" + hello.Text("/worker") + "/pull";
      const std::string key = R"({"key":")" + hello.Text("/key") + "\"";
      std::string done;
      for (int n = 0; n < 20; ++n) {
        const Document got(own.Post(pull, key + R"(,"pull":1,"wait_ms":2000,"done":[)" + done + "]}").body);
        done.clear();
        got.ForEach("/tasks", [&](const Json& task) {
          done = R"({"job":)" + task.Dump("/job") + R"(,"index":)" + task.Dump("/index") + R"(,"lease":)" +
                 task.Dump("/lease") + "}";
        });
      }
      own.Call("DELETE", kWorkers + "/" + hello.Text("/worker"), key + "}");
    });
  });
}

// Before workers read more of jobs: for a minute after, few classes are left.
TEST_F(StallTest, LargestBatchesOfSubmitsAndReports) {
  const std::string meta = FatMeta();
  ExpectNoStall([&] {
    InParallel(port(), 8, 2, [&](Http& http, int n) {
      SubmitMany(http, kBatch, [&](std::size_t i) {
        return R"({"tag":"batch","user":"u)" + std::to_string(i) + R"(","meta":)" + meta + R"(,"priority":)" +
               std::to_string(n) + "}";
      });
    });
    InParallel(port(), 2, 1, [&](Http& http, int i) {
      const std::string tag = "many" + std::to_string(i);
      EXPECT_EQ(http.Post(kJobs, R"({"tag":")" + tag + R"(","count":10000})").status, 201);
      const Document hello(http.Post(kWorkers, R"({"name":"many","slots":10000,"tags":[")" + tag + "\"]}").body);
      const std::string pull = kWorkers + "/" + hello.Text("/worker") + "/pull";
      const std::string key = R"({"key":")" + hello.Text("/key") + "\"";
      const Document got(http.Post(pull, key + R"(,"pull":10000,"wait_ms":2000})").body);
      std::string done;
      std::size_t count = 0;
      got.ForEach("/tasks", [&](const Json& task) {
        if (count++ > 0) done.push_back(',');
        done += R"({"job":)" + task.Dump("/job") + R"(,"index":)" + task.Dump("/index") + R"(,"lease":)" +
                task.Dump("/lease") + R"(,"result":[)" + std::string(50, '1') + "]}";
      });
      EXPECT_GT(count, 1000u);
      EXPECT_EQ(http.Post(pull, key + R"(,"done":[)" + done + "]}").status, 200);
    });
  });
}

TEST_F(StallTest, RegisteringWorkersThatReadMoreOfJobs) {
  ExpectNoStall([] {
    InParallel(port(), 4, 25, [](Http& own, int i) {
      const std::string n = std::to_string(i);
      const Answer answer =
          own.Post(kWorkers, R"({"name":"new-)" + n + R"(","tags":["t1","t2"],"attributes":{"Mem":)" + n +
                                 R"(},"requirements":"TARGET.size % )" + std::to_string(i % 3 + 2) + R"( != )" +
                                 std::to_string(i % 2) + "\"}");
      EXPECT_EQ(answer.status, 201) << answer.body;
      const Document hello(answer.body);
      own.Call("DELETE", kWorkers + "/" + hello.Text("/worker"), R"({"key":")" + hello.Text("/key") + "\"}");
    });
    std::this_thread::sleep_for(milliseconds(1000));
  });
}

TEST_F(StallTest, TenThousandWaitsInOneMessage) {
  Http http = server_->http();
  std::vector<std::string> ids;
  for (std::string before; ids.size() < 12'000;) {
    const Document page(http.Get(kJobs + "?state=active&limit=1000" + before).body);
    page.ForEach("/jobs", [&](const Json& job) { ids.push_back(job.Text("/id")); });
    before = "&before=" + page.Text("/next");
  }
  // Not the newest: those of the prober end meanwhile.
  ids.erase(ids.begin(), ids.begin() + 2'000);
  ids.resize(10'000);
  std::string message = R"({"wait":[)";
  for (const std::string& id : ids) message += (message.back() == '[' ? "\"" : ",\"") + id + "\"";
  message += "]}";
  ExpectNoStall([&] {
    std::vector<WebSocket> waiters;
    for (int i = 0; i < 8; ++i) {
      WebSocket& waiter = waiters.emplace_back(port(), kQueue + "/wait");
      ASSERT_TRUE(waiter.open());
      ASSERT_TRUE(waiter.Send(message));
      ASSERT_TRUE(waiter.Send(R"({"wait":["1"]})"));
    }
    // The first is refused for being more than fit, after all before it were taken.
    for (WebSocket& waiter : waiters) {
      const std::optional<std::string> said = waiter.Receive();
      ASSERT_TRUE(said.has_value());
      EXPECT_NE(said->find("too_many_waits"), std::string::npos) << *said;
    }
    waiters.clear();
    std::this_thread::sleep_for(milliseconds(300));
  });
}

}  // namespace
}  // namespace allot::testing
