// SPDX-License-Identifier: Apache-2.0
// As many strategies as a queue may have: whatever concerns a job concerns the order of each of them, so what one
// command may do is less the more there are.
#include "stall/large_backlog.h"

namespace allot::testing {
namespace {

constexpr std::size_t kFewJobs = 12'000, kFewWorkers = 100;
constexpr int kMostStrategies = 400;

class ManyStrategiesTest : public LargeBacklog {
 protected:
  static void SetUpTestSuite() {
    Begin({"--memory-budget", "8GiB"}, kFewJobs, kFewWorkers);
    Http http = server_->http();
    int made = 0;
    for (int i = 0; i < kMostStrategies; ++i) {
      const Answer answer =
          http.Post(kWorkers, R"x({"name":"s","tags":["none"],"strategy":"fair(user, prefer_distinct(site, )x" +
                                  std::to_string(i + 1) + R"x(, newest))"})x");
      if (answer.status != 201) break;
      ++made;
    }
    EXPECT_GT(made, 100);
    std::printf("  %d strategies\n", made);
    // Until all are built.
    for (std::int64_t before = -1;;) {
      const std::int64_t now = Document(http.Get(kQueue).body).Int("/memory/parts/strategies");
      if (now == before) break;
      before = now;
      std::this_thread::sleep_for(milliseconds(1000));
    }
    Settle();
  }

  static std::string Plain(const std::string& tag, std::size_t i) {
    return R"({"tag":")" + tag + R"(","user":"u)" + std::to_string(i % 100) + R"(","meta":{"size":)" +
           std::to_string(i) + R"(,"site":"s)" + std::to_string(i % 20) + "\"}}";
  }
};

TEST_F(ManyStrategiesTest, ABatch) {
  ExpectNoStall([] {
    Http http(port());
    SubmitMany(http, 2 * kBatch, [](std::size_t i) { return Plain("batch", i); });
  });
}

TEST_F(ManyStrategiesTest, APullOfManyAndTheirReport) {
  Http http(port());
  SubmitMany(http, 4 * kBatch, [](std::size_t i) { return Plain("pulled", i); });
  Settle();
  const Document hello(http.Post(kWorkers, R"({"name":"many","slots":10000,"tags":["pulled"]})").body);
  const std::string pull = kWorkers + "/" + hello.Text("/worker") + "/pull";
  const std::string key = R"({"key":")" + hello.Text("/key") + "\"";
  std::string done;
  std::size_t count = 0;
  ExpectNoStall([&] {
    // How many a pull gives depends on what else its round does; that all come does not.
    for (int in_vain = 0; in_vain < 100 && count < 4 * kBatch; ++in_vain) {
      const Document got(http.Post(pull, key + R"(,"pull":10000,"wait_ms":100})").body);
      got.ForEach("/tasks", [&](const Json& task) {
        in_vain = 0;
        if (count++ > 0) done.push_back(',');
        done += R"({"job":)" + task.Dump("/job") + R"(,"index":)" + task.Dump("/index") + R"(,"lease":)" +
                task.Dump("/lease") + "}";
      });
    }
  });
  EXPECT_EQ(count, 4 * kBatch);
  ExpectNoStall([&] { EXPECT_EQ(http.Post(pull, key + R"(,"done":[)" + done + "]}").status, 200); });
}

TEST_F(ManyStrategiesTest, ChangingManyJobs) {
  Http http(port());
  SubmitMany(http, 4 * kBatch, [](std::size_t i) { return Plain("changed", i); });
  Settle();
  for (const std::string verb : {"pause", "resume", "cancel"}) {
    ExpectNoStall([&] {
      const Answer answer = http.Call("POST", kJobs + "/" + verb, R"({"tag":"changed"})", {}, milliseconds(60'000));
      EXPECT_EQ(answer.status, 200) << answer.body;
    });
  }
}

TEST_F(ManyStrategiesTest, JobsScheduledForOneMoment) {
  Http http(port());
  ExpectNoStall([&] {
    SubmitMany(http, 2 * kBatch, [](std::size_t i) {
      return R"({"tag":"later","delay_ms":1500,"meta":{"site":"s)" + std::to_string(i % 20) + "\"}}";
    });
    std::this_thread::sleep_for(milliseconds(2500));
  });
}

TEST_F(ManyStrategiesTest, ALimitThatReadsMoreOfJobs) {
  Http http(port());
  ExpectNoStall([&] {
    const Answer made =
        http.Post(kLimits, R"({"tag":"x","name":"x","expr":"MY.size % 3 == 1","cost":"MY.size","count":)"
                           R"(1,"window_ms":1000,"burst":1,"expires_in_ms":60000})");
    EXPECT_EQ(made.status, 201) << made.body;
    std::this_thread::sleep_for(milliseconds(2000));
    http.Call("DELETE", kLimits + "/" + Document(made.body).Text("/uuid"));
    std::this_thread::sleep_for(milliseconds(2000));
  });
}

TEST_F(ManyStrategiesTest, AWorkerThatReadsMoreOfJobs) {
  Http http(port());
  ExpectNoStall([&] {
    const Answer made = http.Post(kWorkers, R"({"name":"reads","tags":["t1"],"requirements":"TARGET.site != \"s1\""})");
    EXPECT_EQ(made.status, 201) << made.body;
    std::this_thread::sleep_for(milliseconds(3000));
  });
}

TEST_F(ManyStrategiesTest, WorkersThatComeAndGo) {
  ExpectNoStall([&] {
    InParallel(port(), 4, 25, [](Http& own, int i) {
      const Answer answer = own.Post(kWorkers, R"({"name":"new","tags":["t1","k)" + std::to_string(i) + "\"]}");
      EXPECT_EQ(answer.status, 201) << answer.body;
      const Document hello(answer.body);
      own.Call("DELETE", kWorkers + "/" + hello.Text("/worker"), R"({"key":")" + hello.Text("/key") + "\"}");
    });
  });
}

}  // namespace
}  // namespace allot::testing
