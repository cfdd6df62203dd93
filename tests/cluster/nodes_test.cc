// SPDX-License-Identifier: Apache-2.0
// What several servers on one database do, one thing after the other.
#include "cluster/nodes.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <set>

namespace allot::testing {
namespace {

const std::string kDefault = "/v1/queues/default";

class NodesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::optional<std::string> missing = postgres::TestCluster::Missing()) GTEST_SKIP() << *missing;
  }
};

std::string Submit(Http& http, const std::string& queue, const std::string& spec) {
  const Answer answer = http.Post("/v1/queues/" + queue + "/jobs", spec);
  EXPECT_EQ(answer.status, 201) << answer.body;
  return Document(answer.body).Text("/job/id");
}

// One task over a WebSocket, done.
void WorkOne(std::uint16_t port, const std::string& queue, const std::string& result) {
  WebSocket socket(port, "/v1/queues/" + queue + "/work");
  ASSERT_TRUE(socket.open()) << socket.refusal().body;
  ASSERT_TRUE(socket.Send(R"({"hello":{"name":"w","tags":["t"],"slots":1}})"));
  ASSERT_TRUE(socket.Receive().has_value());
  ASSERT_TRUE(socket.Send(R"({"seq":1,"pull":1})"));
  std::string task;
  for (int i = 0; i < 3 && task.empty(); ++i) {
    const std::optional<std::string> message = socket.Receive();
    ASSERT_TRUE(message.has_value());
    if (Document(*message).Size("/tasks") > 0) task = *message;
  }
  const Document got(task);
  std::string ref;
  got.ForEach("/tasks", [&](const Json& one) {
    ref = R"({"job":")" + one.Text("/job") + R"(","index":)" + std::to_string(one.Int("/index")) + R"(,"lease":")" +
          one.Text("/lease") + R"(","result":")" + result + "\"}";
  });
  ASSERT_TRUE(socket.Send(R"({"seq":2,"done":[)" + ref + R"(],"pull":0,"bye":true})"));
  ASSERT_TRUE(socket.Receive().has_value());
}

TEST_F(NodesTest, AnyNodeServesAnyQueue) {
  Nodes nodes(3);
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  // Enough queues that each node has some.
  std::set<std::string> owners;
  std::vector<std::string> queues = {"default"};
  for (int i = 0; i < 6; ++i) {
    const std::string name = "q" + std::to_string(i);
    Http http = nodes[static_cast<std::size_t>(i) % 3].http();
    const Answer made = http.Post("/v1/queues", R"({"name":")" + name + R"(","settings":{"max_finished_jobs":7}})");
    ASSERT_EQ(made.status, 201) << made.body << nodes.Logs();
    queues.push_back(name);
  }
  Http any = nodes[0].http();
  EXPECT_EQ(any.Post("/v1/queues", R"({"name":"q1"})").ErrorCode(), "queue_exists");
  for (const std::string& queue : queues) {
    owners.insert(nodes.Owner(queue));
    for (std::size_t i = 0; i < 3; ++i) {
      Http http = nodes[i].http();
      const std::string id = Submit(http, queue, R"({"tag":"t","count":1,"payload":)" + std::to_string(i) + "}");
      WorkOne(nodes[(i + 1) % 3].port(), queue, "r" + std::to_string(i));
      Http other = nodes[(i + 2) % 3].http();
      const Answer job = other.Get("/v1/queues/" + queue + "/jobs/" + id);
      EXPECT_EQ(Document(job.body).Text("/state"), "done") << job.body;
      EXPECT_EQ(job.Header("allot-node"), nodes.Owner(queue));
      const Answer results = other.Get("/v1/queues/" + queue + "/jobs/" + id + "/results");
      EXPECT_NE(results.body.find("\"r" + std::to_string(i)), std::string::npos) << results.body;
    }
    if (queue == "default") continue;
    EXPECT_EQ(Document(any.Get("/v1/queues/" + queue).body).Int("/settings/max_finished_jobs"), 7);
  }
  EXPECT_EQ(owners.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    Http http = nodes[i].http();
    const Document listed(http.Get("/v1/queues").body);
    EXPECT_EQ(listed.Size("/queues"), queues.size());
    EXPECT_FALSE(listed.At("/missing"));
    const Document all(http.Get("/v1/nodes").body);
    EXPECT_EQ(all.Size("/nodes"), 3u);
    // A stream of tasks, and one that is refused.
    const Answer stream = http.PostStream("/v1/queues/q1/jobs", {"{\"tag\":\"s\"}\n", "1\n2\n", "3\n"});
    EXPECT_EQ(stream.status, 201) << stream.body;
    EXPECT_EQ(Document(stream.body).Int("/job/count"), 3);
    const Answer bad = http.PostStream("/v1/queues/q1/jobs", {"{\"tag\":\"s\"}\n", "1\nno json\n", "3\n"});
    EXPECT_EQ(bad.ErrorCode(), "bad_json") << bad.body;
    EXPECT_EQ(http.Get("/v1/queues/nothing").ErrorCode(), "unknown_queue");
    // A watched view, wherever the queue is.
    Socket watching(nodes[i].port());
    ASSERT_TRUE(
        watching.Send("GET /v1/queues/q1/overview HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"));
    std::string events;
    const SteadyTime until = SteadyNow() + milliseconds(5000);
    while (events.find("event: ") == std::string::npos && SteadyNow() < until) watching.ReadSome(events, until);
    EXPECT_NE(events.find("text/event-stream"), std::string::npos) << events;
    EXPECT_NE(events.find("event: "), std::string::npos) << events;
  }
  // A redirect, for those who ask.
  const std::size_t owner = nodes.IndexOfOwner("q1");
  Http http = nodes[(owner + 1) % 3].http();
  const Answer redirected = http.Call("GET", "/v1/queues/q1?x=1", {}, {{"Allot-Redirect", "yes"}});
  EXPECT_EQ(redirected.status, 307);
  EXPECT_EQ(redirected.Header("location"), nodes[owner].url() + "/v1/queues/q1?x=1");
  // What a node forwards is signed.
  const Answer forged = http.Call("GET", "/v1/queues/q1", {}, {{"Allot-Forwarded", "v1 1.2.3.4:5 1 abcd"}});
  EXPECT_EQ(forged.ErrorCode(), "forbidden");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(nodes[i].Stop().value_or(-1), 0) << nodes.Logs();
  EXPECT_EQ(nodes.database().Sql("SELECT count(*) FROM allotter.nodes"), "0");
}

TEST_F(NodesTest, AnotherNodeTakesOverFromOneThatIsKilled) {
  Nodes nodes(3);
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  ASSERT_TRUE(Eventually([&] { return !nodes.Owner("default").empty(); })) << nodes.Logs();
  for (int round = 0; round < 2; ++round) {
    const std::size_t owner = nodes.IndexOfOwner("default");
    ASSERT_LT(owner, 3u);
    Http http = nodes[(owner + 1) % 3].http();
    const std::string id = Submit(http, "default", R"({"tag":"t","count":1})");
    const SteadyTime killed = SteadyNow();
    nodes[owner].Kill();
    // It is waited for, and nothing that was acknowledged is missing.
    const Answer job = http.Get(kDefault + "/jobs/" + id);
    const auto took = std::chrono::duration_cast<milliseconds>(SteadyNow() - killed);
    EXPECT_EQ(job.status, 200) << job.body << nodes.Logs();
    std::printf("took over within %lld ms\n", static_cast<long long>(took.count()));
    EXPECT_LT(took, milliseconds(6000));
    EXPECT_NE(nodes.Owner("default"), nodes.name(owner));
    WorkOne(nodes[(owner + 2) % 3].port(), "default", "r");
    ASSERT_TRUE(nodes[owner].Start()) << nodes.Logs();
  }
}

TEST_F(NodesTest, OneThatIsStoppedForLongNeitherAnswersNorWrites) {
  Nodes nodes(2);
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  ASSERT_TRUE(Eventually([&] { return nodes.IndexOfOwner("default") < 2; })) << nodes.Logs();
  const std::size_t owner = nodes.IndexOfOwner("default");
  Http direct = nodes[owner].http();
  Http other = nodes[1 - owner].http();
  const std::string id = Submit(direct, "default", R"({"tag":"t","count":1})");
  ASSERT_EQ(kill(nodes[owner].pid(), SIGSTOP), 0);
  ASSERT_TRUE(Eventually([&] { return nodes.IndexOfOwner("default") == 1 - owner; })) << nodes.Logs();
  ASSERT_EQ(other.Post(kDefault + "/jobs/" + id + "/cancel", "").status, 200);
  // What was asked while it slept is answered when it wakes, by whoever has the queue then.
  Socket asking(nodes[owner].port());
  ASSERT_TRUE(asking.Send("GET " + kDefault + "/jobs/" + id + " HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  ASSERT_EQ(kill(nodes[owner].pid(), SIGCONT), 0);
  const Answer woken = Http::ReadAnswer(asking);
  if (woken.status == 200) {
    EXPECT_EQ(Document(woken.body).Text("/state"), "cancelled") << woken.body;
  } else {
    EXPECT_EQ(woken.ErrorCode(), "unavailable") << woken.body;
  }
  ASSERT_TRUE(Eventually([&] {
    Http again = nodes[owner].http();
    return Document(again.Get(kDefault + "/jobs/" + id).body).Text("/state") == "cancelled";
  })) << nodes.Logs();
}

TEST_F(NodesTest, WithoutTheDatabaseReadsGetAClearErrorAndItRecovers) {
  Nodes nodes(2);
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  ASSERT_TRUE(Eventually([&] { return nodes.IndexOfOwner("default") < 2; })) << nodes.Logs();
  Http http = nodes[0].http();
  const std::string id = Submit(http, "default", R"({"tag":"t","count":1})");
  const std::string owner = nodes.Owner("default");
  nodes.database().Kill();
  std::this_thread::sleep_for(milliseconds(2500));
  for (std::size_t i = 0; i < 2; ++i) {
    Http asking = nodes[i].http();
    const SteadyTime asked = SteadyNow();
    const Answer answer = asking.Get(kDefault + "/jobs/" + id);
    EXPECT_EQ(answer.ErrorCode(), "unavailable") << answer.body;
    EXPECT_LT(SteadyNow() - asked, milliseconds(2000));
    EXPECT_EQ(asking.Get("/readyz").status, 503);
  }
  nodes.database().Start();
  ASSERT_TRUE(Eventually([&] { return http.Get(kDefault + "/jobs/" + id).status == 200; })) << nodes.Logs();
  // An outage of the database kills nobody.
  EXPECT_EQ(nodes.Owner("default"), owner) << nodes.Logs();
}

TEST_F(NodesTest, QueuesAreMovedAndNodesDrainedWithoutAnErrorForClients) {
  Nodes nodes(3);
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  ASSERT_TRUE(Eventually([&] { return nodes.IndexOfOwner("default") < 3; })) << nodes.Logs();
  std::atomic<bool> ends{false};
  std::vector<std::string> errors;
  milliseconds longest{0};
  std::uint64_t asked = 0;
  std::thread client([&] {
    Http http = nodes[2].http();
    while (!ends) {
      const SteadyTime began = SteadyNow();
      const Answer answer =
          asked % 2 == 0 ? http.Post(kDefault + "/jobs", R"({"tag":"none","count":1})") : http.Get(kDefault);
      longest = std::max(longest, std::chrono::duration_cast<milliseconds>(SteadyNow() - began));
      if (!answer.ok()) errors.push_back(std::to_string(answer.status) + " " + answer.body);
      ++asked;
    }
  });
  Http http = nodes[0].http();
  for (int i = 0; i < 6; ++i) {
    const std::size_t to = static_cast<std::size_t>(i) % 3;
    const Answer moved = http.Post(kDefault + "/move", R"({"to":")" + nodes.name(to) + "\"}");
    EXPECT_EQ(moved.status, 200) << moved.body;
    EXPECT_TRUE(Eventually([&] { return nodes.IndexOfOwner("default") == to; })) << nodes.Logs();
    std::this_thread::sleep_for(milliseconds(200));
  }
  EXPECT_EQ(http.Post(kDefault + "/move", R"({"to":"nobody"})").ErrorCode(), "bad_value");
  // Drained and started again, one after the other; the client's own node is drained, but stays.
  ASSERT_EQ(http.Post(kDefault + "/move", R"({"to":""})").status, 200);
  for (std::size_t i = 0; i < 3; ++i) {
    Http asking = nodes[(i + 1) % 3].http();
    ASSERT_EQ(asking.Post("/v1/nodes/" + nodes.name(i) + "/drain", "").status, 200);
    ASSERT_TRUE(Eventually([&] {
      const std::size_t owner = nodes.IndexOfOwner("default");
      return owner < 3 && owner != i;
    })) << nodes.Logs();
    std::this_thread::sleep_for(milliseconds(300));
    if (i == 2) {
      ASSERT_EQ(asking.Post("/v1/nodes/" + nodes.name(i) + "/resume", "").status, 200);
      continue;
    }
    ASSERT_EQ(nodes[i].Stop().value_or(-1), 0) << nodes.Logs();
    ASSERT_TRUE(nodes[i].Start()) << nodes.Logs();
  }
  ends = true;
  client.join();
  std::printf("%llu requests, the longest took %lld ms\n", static_cast<unsigned long long>(asked),
              static_cast<long long>(longest.count()));
  EXPECT_TRUE(errors.empty()) << errors.size() << " of " << asked << ", the first: " << errors[0] << nodes.Logs();
}

TEST_F(NodesTest, WrongUseIsRefusedWithWordsThatHelp) {
  Nodes nodes(1);
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  WriteFile(nodes.dir() / "other", "another secret of many letters\n");
  WriteFile(nodes.dir() / "short", "short\n");
  struct Row {
    const char* what;
    std::vector<std::string> flags;
    const char* says;
  };
  const std::string secret = nodes.dir() / "secret";
  const Row rows[] = {
      {"same name",
       {"--node", "n0", "--advertise", "http://127.0.0.1:{port}", "--cluster-secret-file", secret},
       "another node of the name n0 is alive"},
      {"wrong secret",
       {"--node", "x", "--advertise", "http://127.0.0.1:{port}", "--cluster-secret-file", nodes.dir() / "other"},
       "not the one that the node n0 has"},
      {"short secret",
       {"--node", "x", "--advertise", "http://127.0.0.1:{port}", "--cluster-secret-file", nodes.dir() / "short"},
       "less than 16"},
      {"no secret", {"--node", "x", "--advertise", "http://127.0.0.1:{port}"}, "no secret of the cluster"},
      {"nobody there",
       {"--node", "x", "--advertise", "http://127.0.0.1:9", "--cluster-secret-file", secret},
       "cannot reach itself at http://127.0.0.1:9"},
      {"somebody else there",
       {"--node", "x", "--advertise", nodes[0].url(), "--cluster-secret-file", secret},
       "another server answers"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> flags = {"--store", nodes.url(), "--allow-no-standby", "true"};
    flags.insert(flags.end(), row.flags.begin(), row.flags.end());
    LiveServer server({.flags = flags});
    server.Launch();
    const std::optional<int> code = server.WaitExit(milliseconds(20'000));
    EXPECT_TRUE(code.has_value() && *code != 0) << row.what;
    EXPECT_NE(server.Log().find(row.says), std::string::npos) << row.what << ": " << server.Log();
  }
  // One server that is no node keeps off queues that a node has.
  LiveServer alone({.flags = {"--store", nodes.url(), "--allow-no-standby", "true", "--node", "alone"}});
  alone.Launch();
  const std::optional<int> code = alone.WaitExit(milliseconds(30'000));
  EXPECT_TRUE(code.has_value() && *code != 0);
  EXPECT_NE(alone.Log().find("in use by the server n0"), std::string::npos) << alone.Log();
  EXPECT_EQ(nodes[0].http().Get(kDefault).status, 200);
}

}  // namespace
}  // namespace allot::testing
