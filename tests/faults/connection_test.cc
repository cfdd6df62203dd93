// SPDX-License-Identifier: Apache-2.0
// Clients that misbehave below the level of requests: garbage, slowness, silence, streams that break.
#include <random>
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

class BadConnection : public LiveSuite {
 protected:
  static void SetUpTestSuite() {
    StartServer({.flags = {"--request-timeout", "1s", "--write-timeout", "1s", "--idle-timeout", "2s", "--heartbeat",
                           "300ms", "--worker-grace", "200ms", "--max-connections", "500"}});
  }
  void TearDown() override {
    EXPECT_EQ(http_.Get("/readyz").status, 200);
    EXPECT_TRUE(server().Running()) << server().Log();
  }
  std::string HostLine() const { return "Host: 127.0.0.1:" + std::to_string(server().port()) + "\r\n"; }
  Answer Raw(const std::string& bytes, milliseconds timeout = milliseconds(5000)) {
    Socket socket(server().port());
    EXPECT_TRUE(socket.connected());
    socket.Send(bytes);
    return Http::ReadAnswer(socket, timeout);
  }
};

TEST_F(BadConnection, GarbageLeavesTheServerAlive) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string before = Picture(http_);
  const std::string good = "POST /v1/queues/default/jobs HTTP/1.1\r\n" + HostLine() +
                           "Content-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"count\":x}";
  for (int i = 0; i < 1000; ++i) {
    std::string bytes;
    if (i % 2 == 0) {
      for (std::size_t n = random() % 2000; n > 0; --n) bytes.push_back(static_cast<char>(random()));
    } else {
      // Almost a request.
      bytes = good;
      for (std::size_t n = 1 + random() % 4; n > 0; --n) bytes[random() % bytes.size()] = static_cast<char>(random());
      bytes.resize(random() % (bytes.size() + 1));
    }
    Socket socket(server().port());
    ASSERT_TRUE(socket.connected()) << i;
    socket.Send(bytes, milliseconds(1000));
    if (i % 3 == 0) socket.Reset();
    if (i % 100 == 0) {
      ASSERT_EQ(http_.Get("/livez").status, 200);
    }
  }
  // One of the almost-requests may have been one: `{"count":7}`.
  ASSERT_TRUE(server().Running()) << server().Log();
  EXPECT_EQ(http_.Get("/livez").status, 200);
}

TEST_F(BadConnection, GarbageFramesEndOnlyTheirConnection) {
  const std::uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200; ++i) {
    WebSocket socket(server().port(), i % 2 == 0 ? "/v1/queues/default/work" : "/v1/queues/default/wait");
    ASSERT_TRUE(socket.open()) << i;
    if (i % 4 == 0) socket.Send(R"({"hello":{"name":"w","tags":[],"slots":1}})");
    std::string bytes;
    for (std::size_t n = random() % 300; n > 0; --n) bytes.push_back(static_cast<char>(random()));
    if (i % 3 == 0) {
      socket.SendFrame(0x1, bytes);
    } else if (i % 3 == 1) {
      socket.SendFrame(0x2, bytes);
    } else {
      socket.socket().Send(bytes);
    }
    if (i % 5 == 0) socket.Reset();
  }
}

TEST_F(BadConnection, RequestsThatAreNoneAreToldSo) {
  struct Row {
    std::string bytes;
    int status;
    const char* code;
  };
  const std::string host = HostLine();
  const Row rows[] = {
      {"GARBAGE\r\n\r\n", 400, "bad_request"},
      {"GET\r\n\r\n", 400, "bad_request"},
      {"GET /livez HTTP/9.9\r\n" + host + "\r\n", 400, "bad_request"},
      {"GET /livez HTTP/1.1\r\nbad header\r\n\r\n", 400, "bad_request"},
      {"GET /v1/server HTTP/1.1\r\n\r\n", 400, "bad_request"},  // no Host
      {"POST /v1/queues/default/jobs HTTP/1.1\r\n" + host +
           "Content-Type: application/json\r\nContent-Length: -1\r\n\r\n",
       400, "bad_request"},
      {"POST /v1/queues/default/jobs HTTP/1.1\r\n" + host +
           "Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
       400, "bad_request"},
      {"POST /v1/queues/default/jobs HTTP/1.1\r\n" + host +
           "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       400, "bad_request"},
      {"GET /livez HTTP/1.1\r\n" + host + "X-Long: " + std::string(20'000, 'x') + "\r\n\r\n", 413, "too_large"},
      {"GET /" + std::string(20'000, 'x') + " HTTP/1.1\r\n" + host + "\r\n", 413, "too_large"},
      {"POST /v1/queues/default/jobs HTTP/1.1\r\n" + host +
           "Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n",
       413, "too_large"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.bytes.substr(0, 120));
    const Answer answer = Raw(row.bytes);
    EXPECT_EQ(answer.status, row.status) << answer.body;
    EXPECT_EQ(answer.ErrorCode(), row.code) << answer.body;
  }
}

// A body and a smuggled second request, by two lengths.
TEST_F(BadConnection, LengthAndChunksTogetherAreRefused) {
  // Workers of the test before may still be leaving.
  std::string before = Picture(http_);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(milliseconds(500));
    if (Picture(http_) == before) break;
    before = Picture(http_);
  }
  const Answer answer = Raw("POST /v1/queues/default/jobs HTTP/1.1\r\n" + HostLine() +
                            "Content-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
                            "0\r\n\r\nPOST /v1/queues/default/pause HTTP/1.1\r\n" +
                            HostLine() + "\r\n");
  EXPECT_EQ(answer.status, 400) << answer.body;
  EXPECT_EQ(Picture(http_), before);
}

TEST_F(BadConnection, ASlowRequestIsTimedOut) {
  for (const std::string& part :
       {std::string("GET /livez HT"), "POST /v1/queues/default/jobs HTTP/1.1\r\n" + HostLine() +
                                          "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"count\""}) {
    Socket socket(server().port());
    const SteadyTime begin = SteadyNow();
    // A byte now and then does not help.
    std::string text = part;
    std::string got;
    bool closed = false;
    while (!closed && SteadyNow() - begin < milliseconds(8000)) {
      if (!text.empty()) {
        socket.Send(text.substr(0, 1));
        text.erase(0, 1);
      }
      closed = socket.ReadSome(got, SteadyNow() + milliseconds(150)) == Socket::Read::kEnd;
    }
    EXPECT_TRUE(closed);
    if (!got.empty()) {
      EXPECT_NE(got.find("timed_out"), std::string::npos) << got;
    }
  }
}

TEST_F(BadConnection, ASilentConnectionIsClosed) {
  Socket idle(server().port());
  std::string got;
  EXPECT_TRUE(idle.ReadToEnd(got, milliseconds(8000)));
}

TEST_F(BadConnection, AClientThatStopsReadingIsCutOffAndOthersAreServed) {
  // A job with large payloads: its tasks are more than the buffers on the way hold.
  std::string payloads;
  for (int i = 0; i < 16; ++i) payloads += (i == 0 ? "" : ",") + ("\"" + std::string(800'000, 'x') + "\"");
  SubmitJob(http_, R"({"tag":"large","payloads":[)" + payloads + "]}");
  std::vector<Socket> stuck;
  for (int i = 0; i < 3; ++i) {
    Socket socket(server().port(), 4096);
    // Many requests at once whose answers nobody reads.
    std::string requests;
    for (int index = 0; index < 16; ++index) {
      requests +=
          "GET /v1/queues/default/jobs/last/tasks/" + std::to_string(index) + " HTTP/1.1\r\n" + HostLine() + "\r\n";
    }
    ASSERT_TRUE(socket.Send(requests));
    stuck.push_back(std::move(socket));
  }
  // Others go on meanwhile.
  for (int i = 0; i < 20; ++i) EXPECT_EQ(http_.Get("/v1/queues/default").status, 200);
  std::this_thread::sleep_for(milliseconds(2500));
  for (Socket& socket : stuck) {
    std::string got;
    EXPECT_TRUE(socket.ReadToEnd(got, milliseconds(5000)));
    EXPECT_LT(got.size(), 12'800'000u);
  }
}

TEST_F(BadConnection, AWorkerThatStopsReadingLosesItsTasksToAnother) {
  std::string payloads;
  for (int i = 0; i < 16; ++i) payloads += (i == 0 ? "" : ",") + ("\"" + std::string(800'000, 'x') + "\"");
  const std::string job =
      SubmitJob(http_, R"({"tag":"unread","payloads":[)" + payloads + R"(],"lease_ms":1000,"backoff":{"first_ms":1}})");
  WebSocket stuck(server().port(), "/v1/queues/default/work");
  ASSERT_TRUE(stuck.Send(R"({"hello":{"name":"stuck","tags":["unread"],"slots":16}})"));
  ASSERT_TRUE(stuck.Receive().has_value());
  ASSERT_TRUE(stuck.Send(R"({"pull":16})"));
  // It says nothing and reads nothing any more.
  const HttpWorker other(http_, "unread");
  int done = 0;
  const SteadyTime deadline = SteadyNow() + milliseconds(15'000);
  while (done < 16 && SteadyNow() < deadline) {
    const Answer answer = other.Pull(http_, R"(,"pull":4,"wait_ms":500)");
    std::string list;
    Document(answer.body).ForEach("/tasks", [&](const Json& task) {
      list += (list.empty() ? "" : ",") + RefOf(task) + "}";
      ++done;
    });
    if (list.empty()) continue;
    EXPECT_EQ(Document(other.Pull(http_, R"(,"done":[)" + list + "]").body).Size("/stale"), 0u);
  }
  EXPECT_EQ(Document(http_.Get(std::string(kJobs) + "/" + job).body).Text("/state"), "done");
  // The stuck one is forgotten as well.
  stuck.Reset();
  while (Document(http_.Get("/v1/queues/default").body).Int("/workers") > 1 && SteadyNow() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_EQ(Document(http_.Get("/v1/queues/default").body).Int("/workers"), 1);
}

TEST_F(BadConnection, ABrokenStreamLeavesNothing) {
  const std::string before = Picture(http_);
  const std::string spec = R"({"tag":"nobody"})"
                           "\n";
  // Cut off, at several places.
  EXPECT_EQ(http_.PostStream(kJobs, {spec, "1\n2\n3\n"}, true).status, 0);
  EXPECT_EQ(http_.PostStream(kJobs, {spec}, true).status, 0);
  EXPECT_EQ(http_.PostStream(kJobs, {spec.substr(0, 5)}, true).status, 0);
  std::vector<std::string> many(200, std::string(4000, '7') + "\n");
  many.insert(many.begin(), spec);
  EXPECT_EQ(http_.PostStream(kJobs, many, true).status, 0);
  // A length that does not come.
  {
    Socket socket(server().port());
    socket.Send("POST /v1/queues/default/jobs HTTP/1.1\r\n" + HostLine() +
                "Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n" + spec + "1\n2\n");
    socket.Close();
  }
  // Lines that are not JSON, or too large; a first line that is no spec.
  struct Row {
    std::vector<std::string> pieces;
    const char* code;
  };
  for (const Row& row : {Row{{spec, "1\n", "{oops\n", "3\n"}, "bad_json"}, Row{{spec, "1 2\n"}, "bad_json"},
                         Row{{spec, "1\n\n2\n", "x"}, "bad_json"}, Row{{"{oops\n", "1\n"}, "bad_json"},
                         Row{{"[]\n", "1\n"}, "bad_value"},
                         Row{{R"({"tga":"x"})"
                              "\n",
                              "1\n"},
                             "unknown_field"},
                         Row{{R"({"count":3})"
                              "\n",
                              "1\n"},
                             "bad_value"},
                         Row{{R"({"payloads":[]})"
                              "\n",
                              "1\n"},
                             "bad_value"},
                         Row{{spec, "\"" + std::string((1 << 20) + 10, 'x') + "\"\n"}, "too_large"}}) {
    const Answer answer = http_.PostStream(kJobs, row.pieces);
    EXPECT_EQ(answer.ErrorCode(), row.code) << row.pieces[0] << answer.body;
    http_.Close();
  }
  // An empty body.
  const Answer empty = http_.Call("POST", kJobs, "", {{"Content-Type", "application/x-ndjson"}});
  EXPECT_GE(empty.status, 400);
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_EQ(Picture(http_), before);
  // The same, unbroken: the last line needs no end.
  const Answer good = http_.PostStream(kJobs, {spec + "1\n2", "\n3"});
  EXPECT_EQ(good.status, 201) << good.body;
  EXPECT_EQ(Document(good.body).Int("/job/count"), 3) << good.body;
}

TEST_F(BadConnection, AConnectionBeyondTheBoundIsClosedAndEarlierOnesGoOn) {
  std::vector<Socket> sockets;
  for (int i = 0; i < 600; ++i) sockets.emplace_back(server().port());
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_TRUE(server().Running());
  int open = 0;
  for (Socket& socket : sockets) {
    std::string got;
    if (socket.connected() && socket.ReadSome(got, SteadyNow()) == Socket::Read::kTimeout) ++open;
  }
  EXPECT_LE(open, 500);
  sockets.clear();
  std::this_thread::sleep_for(milliseconds(200));
}

}  // namespace
}  // namespace allot::testing
