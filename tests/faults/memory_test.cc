// SPDX-License-Identifier: Apache-2.0
// The memory budget over the wire, and a stop that does not wait for memory to be taken apart.
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

// Time of processors in seconds: of one that runs, and of all that have ended.
double CpuOf(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::istringstream fields(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}
double CpuOfEnded() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::string Batch(int jobs, const std::string& fields) {
  std::string body = "{\"jobs\":[";
  for (int i = 0; i < jobs; ++i) body += (i == 0 ? "{" : ",{") + fields + "}";
  return body + "]}";
}

TEST(Memory, WhatExceedsTheBudgetIsRefusedAndShownWithWhatUsesIt) {
  LiveServer server;
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  const Document free(http.Get("/v1/queues/default").body);
  EXPECT_GT(free.Int("/memory/budget_bytes"), 64 << 20);
  if (free.Int("/memory/used_bytes") == 0) GTEST_SKIP() << "memory is not counted in this build";
  const auto set = [&](const std::string& bytes) {
    return http.Call("PATCH", "/v1/queues/default", R"({"settings":{"memory_budget_bytes":)" + bytes + "}}");
  };
  EXPECT_EQ(set("1000").ErrorCode(), "bad_value");
  ASSERT_EQ(set("16777216").status, 200);
  const std::string batch = Batch(100, R"("tag":"nobody","meta":{"text":")" + std::string(1000, 'x') + "\"}");
  Answer answer;
  for (int i = 0; i < 1000; ++i) {
    answer = http.Post(std::string(kJobs) + "/batch", batch);
    if (answer.status != 201) break;
  }
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.ErrorCode(), "memory_full") << answer.body;
  EXPECT_NE(answer.body.find("jobs 1"), std::string::npos) << answer.body;
  const Document full(http.Get("/v1/queues/default").body);
  EXPECT_EQ(full.Int("/memory/budget_bytes"), 16 << 20);
  EXPECT_LE(full.Int("/memory/used_bytes"), 16 << 20);
  EXPECT_GT(full.Int("/memory/parts/jobs"), 8 << 20);
  const std::string metrics = http.Get("/metrics").body;
  EXPECT_NE(metrics.find("allotter_queue_memory_bytes{part=\"jobs\",queue=\"default\"}"), std::string::npos);
  EXPECT_NE(metrics.find("allotter_queue_memory_budget_bytes{queue=\"default\"} 16777216"), std::string::npos);
  // Work goes on, also after a restart.
  ASSERT_EQ(server.Stop().value_or(-1), 0);
  ASSERT_TRUE(server.Start()) << server.Log();
  Http again = server.http();
  // Jobs that were loaded may lie closer than those that came one by one; but it is soon full again.
  for (int i = 0; i < 100; ++i) {
    answer = again.Post(std::string(kJobs) + "/batch", batch);
    if (answer.status != 201) break;
  }
  EXPECT_EQ(answer.ErrorCode(), "memory_full");
  const HttpWorker worker(again, "nobody");
  const Document got(worker.Pull(again, R"(,"pull":1)").body);
  const Answer done = worker.Pull(again, R"(,"done":[)" + RefOf(got.At("/tasks/0")) + R"(,"result":1}])");
  EXPECT_EQ(done.status, 200) << done.body;
}

TEST(Memory, AStopDoesNotTakeApartWhatTheProcessLeavesAnyway) {
  LiveServer server({.flags = {"--stop-timeout", "400ms"}});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  const double ended = CpuOfEnded();
  const std::string batch = Batch(1000, R"("tag":"nobody","user":"u","requirements":"TARGET.a > 1")");
  for (int i = 0; i < 50; ++i) ASSERT_EQ(http.Post(std::string(kJobs) + "/batch", batch).status, 201);
  for (int i = 0; i < 20; ++i) {
    const std::string strategy =
        "fair(user, prefer_distinct(job, 1, select_only(n = " + std::to_string(i) + ", newest)))";
    const Answer worker =
        http.Post("/v1/queues/default/workers", R"({"name":"w","tags":["nobody"],"strategy":")" + strategy + "\"}");
    ASSERT_EQ(worker.status, 201) << worker.body;
  }
  for (std::int64_t before = -1;;) {  // until they are built
    const std::int64_t now = Document(http.Get("/v1/queues/default").body).Int("/memory/parts/strategies");
    if (now == before) break;
    before = now;
    std::this_thread::sleep_for(milliseconds(300));
  }
  const double before = CpuOf(server.pid());
  ASSERT_EQ(server.Stop().value_or(-1), 0);
  EXPECT_LT(CpuOfEnded() - ended - before, 1.5);
  // What was not folded in time is in the journal.
  ASSERT_TRUE(server.Start()) << server.Log();
  Http again = server.http();
  EXPECT_EQ(Document(again.Get("/v1/queues/default").body).Int("/jobs/active"), 50'000);
}

}  // namespace
}  // namespace allot::testing
