// SPDX-License-Identifier: Apache-2.0
// No standstill: whatever a client asks, the engine thread serves others within 20 ms.
//
// One server with a large backlog and many workers; a prober that submits and pulls all the time; and one abuse after
// the other. What is asserted is the longest round of the engine thread, in CPU time of that thread, as the server
// measures it: that is what a pull waits for at most.
//
// ALLOT_STALL_JOBS and ALLOT_STALL_WORKERS set the size; a soak runs it with a million jobs and 10,000 workers.
#include "stall/large_backlog.h"

namespace allot::testing {
namespace {

class StallTest : public LargeBacklog {
 protected:
  static void SetUpTestSuite() { Begin({}); }
};

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
    // Workers that ask meet what it blocks.
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
                                 R"(},"requirements":"TARGET.lot % )" + std::to_string(i % 3 + 2) + R"( != )" +
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
