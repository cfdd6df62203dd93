// SPDX-License-Identifier: Apache-2.0
// A token that is revoked ends all that goes on in its name, at once.
#include "hostile/hostile.h"

namespace allot::testing {
namespace {

class Revocation : public HostileSuite {
 protected:
  static void SetUpTestSuite() { StartWithTokens({}); }
  // A new token with this name, known to the server.
  std::string Fresh(const std::string& name, const std::string& scopes) {
    const std::string token = MakeToken(server().data(), {"--scope", scopes, name});
    const SteadyTime deadline = SteadyNow() + milliseconds(10'000);
    while (server().http(token).Get("/v1/server").status == 401 && SteadyNow() < deadline) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    return token;
  }
  Socket Ask(const std::string& token, const std::string& method, const std::string& path, const std::string& more,
             const std::string& body = {}) {
    Socket socket(server().port());
    socket.Send(method + " " + path + " HTTP/1.1\r\n" + HostLine() + "Authorization: Bearer " + token + "\r\n" + more +
                (body.empty()
                     ? ""
                     : "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") +
                "\r\n" + body);
    return socket;
  }
  static std::string ReadUntil(Socket& socket, const std::string& what) {
    std::string got;
    const SteadyTime deadline = SteadyNow() + milliseconds(10'000);
    while (got.find(what) == std::string::npos && socket.ReadSome(got, deadline) == Socket::Read::kBytes) {
    }
    return got;
  }
  // Everything that still comes; the connection must have ended.
  static std::string Rest(Socket& socket) {
    std::string got;
    EXPECT_TRUE(socket.ReadToEnd(got, milliseconds(10'000))) << "it goes on: " << got;
    return got;
  }
};

TEST_F(Revocation, EndsStreamsOfEvents) {
  Http admin = server().http(admin_);
  const std::string job = SubmitJob(admin, R"({"tag":"nobody"})");
  const std::string token = Fresh("streams", "read");
  const std::string at = std::string(kJobs) + "/" + job;
  std::vector<Socket> streams;
  streams.push_back(Ask(token, "GET", at + "/events", ""));
  for (const std::string& path :
       {std::string("/v1/queues"), std::string("/v1/queues/default"), std::string("/v1/queues/default/overview"),
        std::string(kJobs), at, at + "/picture"}) {
    streams.push_back(Ask(token, "GET", path, "Accept: text/event-stream\r\n"));
  }
  for (Socket& stream : streams) EXPECT_NE(ReadUntil(stream, "\n\n").find("200 OK"), std::string::npos);
  Socket other = Ask(admin_, "GET", at + "/events", "");
  ReadUntil(other, "event: job");
  RevokeToken(server().data(), "streams");
  for (Socket& stream : streams) Rest(stream);
  // Nothing is told of what happens then, but to others it is.
  EXPECT_EQ(admin.Post(at + "/cancel", "").status, 200);
  EXPECT_NE(ReadUntil(other, "event: end").find("cancelled"), std::string::npos);
}

TEST_F(Revocation, EndsWhatWaits) {
  Http admin = server().http(admin_);
  const std::string job = SubmitJob(admin, R"({"tag":"nobody"})");
  const std::string token = Fresh("waits", "read,work");
  Http http = server().http(token);
  const HttpWorker worker(http, "revoked");
  std::vector<Socket> waiting;
  waiting.push_back(
      Ask(token, "POST", worker.path(), "", R"({"key":")" + worker.key + R"(","pull":1,"wait_ms":60000})"));
  waiting.push_back(Ask(token, "GET", std::string(kJobs) + "/" + job + "?wait_ms=60000", ""));
  waiting.push_back(Ask(token, "GET", std::string(kJobs) + "/" + job + "/results?wait_ms=60000", ""));
  std::this_thread::sleep_for(milliseconds(100));
  RevokeToken(server().data(), "waits");
  for (Socket& socket : waiting) {
    const std::string got = Rest(socket);
    EXPECT_EQ(got.compare(0, 13, "HTTP/1.1 401 "), 0) << got;
    EXPECT_NE(got.find("unauthorized"), std::string::npos) << got;
  }
  // A task that comes now is not handed out to it.
  const std::string task = SubmitJob(admin, R"({"tag":"revoked"})");
  EXPECT_EQ(Document(admin.Get(std::string(kJobs) + "/" + task).body).Dump("/running"), "0");
}

TEST_F(Revocation, EndsWebSockets) {
  const std::string token = Fresh("sockets", "read,work");
  WebSocket work(server().port(), "/v1/queues/default/work", token);
  WebSocket wait(server().port(), "/v1/queues/default/wait", token);
  ASSERT_TRUE(work.open() && wait.open());
  ASSERT_TRUE(work.Send(R"({"hello":{"name":"w","tags":["late"],"slots":1}})"));
  ASSERT_TRUE(work.Receive().has_value());
  RevokeToken(server().data(), "sockets");
  EXPECT_FALSE(work.Receive(milliseconds(10'000)).has_value());
  EXPECT_FALSE(work.open());
  EXPECT_FALSE(wait.Receive(milliseconds(10'000)).has_value());
  EXPECT_FALSE(wait.open());
}

TEST_F(Revocation, EndsUploads) {
  const std::string token = Fresh("uploads", "submit");
  Http admin = server().http(admin_);
  const std::string before = Picture(admin);
  Socket stream = Ask(token, "POST", kJobs, "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n");
  stream.Send("3\r\n{}\n\r\n2\r\n1\n\r\n");
  Socket body = Ask(token, "POST", kJobs, "Content-Type: application/json\r\nContent-Length: 1000\r\n");
  body.Send("{");
  std::this_thread::sleep_for(milliseconds(100));
  RevokeToken(server().data(), "uploads");
  for (Socket* socket : {&stream, &body}) {
    const std::string got = Rest(*socket);
    EXPECT_EQ(got.compare(0, 13, "HTTP/1.1 401 "), 0) << got;
  }
  EXPECT_EQ(Picture(admin), before);
}

TEST_F(Revocation, EndsABackup) {
  Http admin = server().http(admin_);
  // More than the buffers on the way hold.
  std::string payloads;
  for (int i = 0; i < 15; ++i)
    payloads += (i == 0 ? "\"" : ",\"") + std::string(900'000, static_cast<char>('a' + i)) + "\"";
  SubmitJob(admin, R"({"tag":"nobody","payloads":[)" + payloads + "]}");
  const std::string token = Fresh("backups", "admin");
  Socket socket(server().port(), 4096);
  socket.Send("GET /v1/queues/default/backup HTTP/1.1\r\n" + HostLine() + "Authorization: Bearer " + token +
              "\r\n\r\n");
  std::string got;
  ASSERT_EQ(socket.ReadSome(got, SteadyNow() + milliseconds(10'000)), Socket::Read::kBytes);
  RevokeToken(server().data(), "backups");
  std::this_thread::sleep_for(milliseconds(2500));
  socket.ReadToEnd(got, milliseconds(10'000));
  EXPECT_EQ(got.find("0\r\n\r\n", got.size() < 5 ? 0 : got.size() - 5), std::string::npos) << "it was sent to its end";
}

// Also while strangers hold as many connections as there may be: the file of tokens needs a descriptor, too.
TEST(Crowd, LeavesADescriptorForReadingTokensAgain) {
  const TempDir dir;
  const std::string token = MakeToken(dir / "data", {"--scope", "read", "crowded"});
  const std::uint16_t port = FreePort();
  Process server({.argv = {"/bin/sh", "-c", "ulimit -n 300; exec \"$@\"", "sh", AllotBin(), "serve", "--listen",
                           "127.0.0.1:" + std::to_string(port), "--data", dir / "data"},
                  .err_file = dir / "log"});
  const SteadyTime deadline = SteadyNow() + milliseconds(20'000);
  while (Http(port).Get("/readyz").status != 200 && SteadyNow() < deadline)
    std::this_thread::sleep_for(milliseconds(20));
  Http http(port, token);
  ASSERT_EQ(http.Get("/v1/server").status, 200) << ReadFile(dir / "log");
  std::vector<Socket> crowd;
  for (int i = 0; i < 400; ++i) crowd.emplace_back(port);
  RevokeToken(dir / "data", "crowded");
  while (http.Get("/v1/server").status != 401 && SteadyNow() < deadline) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(http.Get("/v1/server").status, 401);
  EXPECT_NE(ReadFile(dir / "log").find("for lack of open files"), std::string::npos) << ReadFile(dir / "log");
}

TEST(Exposure, WithoutTlsBeyondLoopbackIsWarnedOf) {
  const TempDir dir;
  MakeToken(dir / "data", {"--scope", "admin"});
  const std::uint16_t port = FreePort();
  Process server({.argv = {AllotBin(), "serve", "--listen", "0.0.0.0:" + std::to_string(port), "--data", dir / "data"},
                  .err_file = dir / "log"});
  const SteadyTime deadline = SteadyNow() + milliseconds(10'000);
  while (Http(port).Get("/readyz").status != 200 && SteadyNow() < deadline)
    std::this_thread::sleep_for(milliseconds(20));
  EXPECT_NE(ReadFile(dir / "log").find("without TLS"), std::string::npos) << ReadFile(dir / "log");
}

}  // namespace
}  // namespace allot::testing
