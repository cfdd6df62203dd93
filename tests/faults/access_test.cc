// SPDX-License-Identifier: Apache-2.0
// Who may do what: tokens with their scopes, users and queues; pages of other sites; addresses beyond loopback.
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

std::string CreateToken(const std::string& data, std::vector<std::string> flags) {
  std::vector<std::string> argv = {AllotBin(), "token", "create", "--data", data, "-o", "json"};
  argv.insert(argv.end(), flags.begin(), flags.end());
  const Finished created = RunProgram(argv);
  EXPECT_EQ(created.exit_code, 0) << created.err;
  const std::string text = Document(created.out).Text("/token");
  EXPECT_EQ(text.rfind("allot_", 0), 0u) << created.out;
  return text;
}

class Tokens : public LiveSuite {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::make_unique<TempDir>();
    const std::string data = *dir_ / "data";
    admin_ = CreateToken(data, {"--scope", "admin"});
    read_ = CreateToken(data, {"--scope", "read"});
    submit_ = CreateToken(data, {"--scope", "submit"});
    work_ = CreateToken(data, {"--scope", "work"});
    operate_ = CreateToken(data, {"--scope", "operate"});
    ann_ = CreateToken(data, {"--scope", "submit,read", "--user", "ann"});
    ben_ = CreateToken(data, {"--scope", "submit,read", "--user", "ben"});
    other_queue_ = CreateToken(data, {"--scope", "submit,read,work,operate", "--queue", "other"});
    StartServer({.data = data});
  }
  static void TearDownTestSuite() {
    LiveSuite::TearDownTestSuite();
    dir_.reset();
  }
  Http As(const std::string& token) { return server().http(token); }

  static inline std::unique_ptr<TempDir> dir_;
  static inline std::string admin_, read_, submit_, work_, operate_, ann_, ben_, other_queue_;
};

TEST_F(Tokens, WithoutAKnownOneNothingIsSaid) {
  EXPECT_EQ(http_.Get("/livez").status, 200);
  EXPECT_EQ(http_.Get("/readyz").status, 200);
  std::string wrong = admin_;
  wrong.back() = wrong.back() == '0' ? '1' : '0';
  const Headers cases[] = {{},
                           {{"Authorization", "Bearer " + wrong}},
                           {{"Authorization", "Bearer allot_000000000000_00"}},
                           {{"Authorization", "Bearer "}},
                           {{"Authorization", admin_}},
                           {{"Authorization", "Basic " + admin_}},
                           {{"Authorization", std::string(8000, 'x')}}};
  for (const Headers& headers : cases) {
    for (const char* path :
         {"/v1/queues", "/v1/server", "/metrics", "/v1/queues/default/jobs", "/v1/queues/nowhere", "/v1/nothing"}) {
      const Answer answer = http_.Call("GET", path, "", headers);
      EXPECT_EQ(answer.status, 401) << path;
      EXPECT_EQ(answer.ErrorCode(), "unauthorized") << path;
    }
    EXPECT_EQ(http_.Call("POST", kJobs, "{}", headers).ErrorCode(), "unauthorized");
  }
  WebSocket socket(server().port(), "/v1/queues/default/work");
  EXPECT_FALSE(socket.open());
  EXPECT_EQ(socket.refusal().status, 401);
  EXPECT_EQ(server().Log().find(admin_), std::string::npos);
}

TEST_F(Tokens, OpenOnlyWhatTheirScopeSays) {
  struct Row {
    const char* method;
    const char* path;
    const char* body;
    std::string allowed;  // letters of: read, submit, work, operate; admin may all
  };
  const Row rows[] = {
      {"GET", "/v1/queues", "", "r"},
      {"GET", "/v1/queues/default", "", "r"},
      {"GET", "/metrics", "", "r"},
      {"GET", "/v1/queues/default/jobs", "", "r"},
      {"GET", "/v1/queues/default/workers", "", "r"},
      {"POST", "/v1/queues/default/jobs", R"({"count":0})", "s"},
      {"POST", "/v1/queues/default/jobs/batch", R"({"jobs":[]})", "s"},
      {"POST", "/v1/queues/default/workers", R"({"name":"w","tags":[]})", "w"},
      {"PATCH", "/v1/queues/default", R"({"settings":{}})", "o"},
      {"POST", "/v1/queues/default/pause", "", "o"},
      {"POST", "/v1/queues/default/resume", "", "o"},
      {"POST", "/v1/queues", R"({"name":"default"})", ""},
      {"DELETE", "/v1/queues/default", "", ""},
      {"GET", "/v1/queues/default/backup", "", ""},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.method) + " " + row.path);
    const std::pair<char, std::string> all[] = {{'r', read_}, {'s', submit_}, {'w', work_}, {'o', operate_}};
    for (const auto& [letter, token] : all) {
      SCOPED_TRACE(letter);
      const Answer answer = As(token).Call(row.method, row.path, row.body);
      if (row.allowed.find(letter) == std::string::npos) {
        EXPECT_EQ(answer.status, 403) << answer.body;
        EXPECT_EQ(answer.ErrorCode(), "forbidden") << answer.body;
      } else {
        EXPECT_TRUE(answer.ok()) << answer.status << answer.body;
      }
    }
    EXPECT_NE(As(admin_).Call(row.method, row.path, row.body).ErrorCode(), "forbidden");
  }
  const std::string before = As(admin_).Get("/v1/queues/default").body;
  WebSocket work(server().port(), "/v1/queues/default/work", read_);
  EXPECT_FALSE(work.open());
  EXPECT_EQ(work.refusal().ErrorCode(), "forbidden");
  WebSocket wait(server().port(), "/v1/queues/default/wait", work_);
  EXPECT_FALSE(wait.open());
  EXPECT_EQ(wait.refusal().ErrorCode(), "forbidden");
}

TEST_F(Tokens, OfAUserSpeakForThatUserAlone) {
  Http ann = As(ann_);
  Http ben = As(ben_);
  const Answer mine = ann.Post(kJobs, R"({"tag":"nobody"})");
  ASSERT_EQ(mine.status, 201) << mine.body;
  EXPECT_EQ(Document(mine.body).Text("/job/user"), "ann");
  const std::string id = Document(mine.body).Text("/job/id");
  const std::string at = std::string(kJobs) + "/" + id;
  EXPECT_EQ(ann.Post(kJobs, R"({"tag":"nobody","user":"ben"})").ErrorCode(), "forbidden");
  EXPECT_EQ(ann.Post(kJobs, R"({"tag":"nobody","user":"ann"})").status, 201);
  EXPECT_EQ(ann.Post(std::string(kJobs) + "/batch", R"({"jobs":[{"user":"ben"}]})").ErrorCode(), "forbidden");
  EXPECT_EQ(ann.PostStream(kJobs, {R"({"user":"ben"})"
                                   "\n1\n"})
                .ErrorCode(),
            "forbidden");

  // To the other it is as if it were not there.
  for (const char* path : {"", "/tasks", "/tasks/0", "/results", "/events"}) {
    EXPECT_EQ(ben.Get(at + path).ErrorCode(), "unknown_job") << path;
  }
  for (const char* path : {"/cancel", "/pause", "/resume", "/retry"}) {
    EXPECT_EQ(ben.Post(at + path, "").ErrorCode(), "unknown_job") << path;
  }
  EXPECT_EQ(ben.Call("PATCH", at, R"({"priority":9})").ErrorCode(), "unknown_job");
  EXPECT_EQ(Document(ben.Get(kJobs).body).Size("/jobs"), 0u);
  EXPECT_EQ(ben.Get(std::string(kJobs) + "?user=ann").ErrorCode(), "forbidden");
  EXPECT_EQ(ben.Get(std::string(kJobs) + "/last").ErrorCode(), "unknown_job");
  WebSocket wait(server().port(), "/v1/queues/default/wait", ben_);
  ASSERT_TRUE(wait.Send(R"({"wait":[")" + id + "\"]}"));
  const std::optional<std::string> reply = wait.Receive();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(Document(*reply).Text("/unknown/0"), id) << *reply;

  EXPECT_EQ(Document(ann.Get(at).body).Text("/state"), "active");
  EXPECT_EQ(Document(As(admin_).Get(at).body).Text("/state"), "active");
  EXPECT_EQ(Document(ann.Post(at + "/cancel", "").body).Text("/state"), "cancelled");
}

TEST_F(Tokens, OfAQueueReachNoOther) {
  ASSERT_EQ(As(admin_).Post("/v1/queues", R"({"name":"other"})").status, 201);
  Http other = As(other_queue_);
  EXPECT_EQ(other.Post("/v1/queues/other/jobs", R"({"count":0})").status, 201);
  EXPECT_EQ(other.Get("/v1/queues/other").status, 200);
  for (const char* path : {"/v1/queues/default", "/v1/queues/default/jobs", "/v1/queues/default/workers"}) {
    EXPECT_EQ(other.Get(path).ErrorCode(), "forbidden") << path;
  }
  EXPECT_EQ(other.Post(kJobs, R"({"count":0})").ErrorCode(), "forbidden");
  EXPECT_EQ(other.Post("/v1/queues/default/pause", "").ErrorCode(), "forbidden");
  EXPECT_FALSE(WebSocket(server().port(), "/v1/queues/default/work", other_queue_).open());
  EXPECT_EQ(other.Get("/v1/queues").body.find("\"default\""), std::string::npos);
}

TEST_F(Tokens, ThatAreRevokedEndWithinSeconds) {
  const std::string token = CreateToken(server().data(), {"--scope", "read", "short"});
  const auto becomes = [&](int status) {
    const SteadyTime deadline = SteadyNow() + milliseconds(8000);
    Http http = As(token);
    while (SteadyNow() < deadline) {
      if (http.Get("/v1/queues").status == status) return true;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  };
  EXPECT_TRUE(becomes(200));
  EXPECT_EQ(RunProgram({AllotBin(), "token", "revoke", "--data", server().data(), "short"}).exit_code, 0);
  EXPECT_TRUE(becomes(401));
}

class Strangers : public LiveSuite {
 protected:
  static void SetUpTestSuite() { StartServer(); }
};

TEST_F(Strangers, ForeignOriginsAndHostsAreRefused) {
  const std::string port = std::to_string(server().port());
  const std::string before = Picture(http_);
  const Headers cases[] = {
      {{"Origin", "http://evil.example"}},
      {{"Origin", "null"}},
      {{"Origin", "http://127.0.0.1:1"}},
      {{"Origin", "https://127.0.0.1:" + port}, {"Host", "evil.example:" + port}},
      {{"Origin", "http://localhost.evil.example:" + port}},
      {{"Host", "evil.example"}},
      {{"Host", "evil.example:" + port}},
      {{"Host", "127.0.0.1.evil.example:" + port}},
      {{"Host", "10.0.0.1:" + port}},
  };
  for (const Headers& headers : cases) {
    SCOPED_TRACE(headers[0].first + ": " + headers[0].second);
    for (const char* path : {"/v1/queues", "/metrics", "/v1/queues/default/jobs"}) {
      const Answer answer = http_.Call("GET", path, "", headers);
      EXPECT_EQ(answer.status, 403) << answer.body;
      EXPECT_EQ(answer.ErrorCode(), "foreign_origin") << answer.body;
      EXPECT_EQ(answer.Header("access-control-allow-origin"), "");
    }
    EXPECT_EQ(http_.Call("POST", kJobs, "{}", headers).ErrorCode(), "foreign_origin");
    WebSocket socket(server().port(), "/v1/queues/default/work", "", headers);
    EXPECT_FALSE(socket.open());
    EXPECT_EQ(socket.refusal().ErrorCode(), "foreign_origin");
  }
  EXPECT_EQ(Picture(http_), before);
  EXPECT_EQ(http_.Call("GET", "/v1/queues", "", {{"Host", "localhost:" + port}}).status, 200);
  EXPECT_EQ(http_.Call("GET", "/v1/queues", "", {{"Host", "127.0.0.1:" + port}, {"Origin", "http://127.0.0.1:" + port}})
                .status,
            200);
}

TEST(Exposure, BeyondLoopbackOnlyWithTokens) {
  const TempDir dir;
  const std::string address = "0.0.0.0:" + std::to_string(FreePort());
  for (const std::string& listen : {address, "[::]:" + std::to_string(FreePort()), ":" + std::to_string(FreePort())}) {
    const Finished refused = RunProgram({AllotBin(), "serve", "--listen", listen, "--data", dir / "data"});
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_NE(refused.exit_code, 137) << "it listens";
    EXPECT_NE(refused.err.find("token"), std::string::npos) << refused.err;
  }
  const std::string token = CreateToken(dir / "data", {"--scope", "admin"});
  const std::uint16_t port = FreePort();
  Process server(
      {.argv = {AllotBin(), "serve", "--listen", "0.0.0.0:" + std::to_string(port), "--data", dir / "data"}});
  Http http(port, token);
  const SteadyTime deadline = SteadyNow() + milliseconds(10'000);
  while (http.Get("/v1/queues").status != 200 && SteadyNow() < deadline) std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(http.Get("/v1/queues").status, 200);
  EXPECT_EQ(Http(port).Get("/v1/queues").status, 401);
}

}  // namespace
}  // namespace allot::testing
