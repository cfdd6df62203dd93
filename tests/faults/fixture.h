// SPDX-License-Identifier: Apache-2.0
// One live server for all tests of a suite, and a way to see that nothing changed.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "support/live_server.h"

namespace allot::testing {

// The exit code of a server that could not go on, of docs/reference/cli.md.
inline constexpr int kServerFailed = 7;

inline constexpr char kJobs[] = "/v1/queues/default/jobs";

// Everything that a client can see of the queue, but times of signs of life and the size of files.
inline std::string Picture(Http& http) {
  const Document queues(http.Get("/v1/queues").body);
  std::string picture;
  queues.ForEach("/queues", [&](const Json& queue) {
    picture += queue.Dump("/name") + queue.Dump("/paused") + queue.Dump("/jobs") + queue.Dump("/tasks") +
               queue.Dump("/settings") + queue.Dump("/workers") + "\n";
    picture += http.Get("/v1/queues/" + queue.Text("/name") + "/jobs?limit=1000").body + "\n";
  });
  return picture;
}

// One job, and its id.
inline std::string SubmitJob(Http& http, const std::string& spec) {
  const Answer answer = http.Post(kJobs, spec);
  EXPECT_EQ(answer.status, 201) << answer.body;
  return Document(answer.body).Text("/job/id");
}

// A worker over HTTP.
struct HttpWorker {
  std::string id, key;
  HttpWorker(Http& http, const std::string& tag) {
    const Answer answer =
        http.Post("/v1/queues/default/workers", R"({"name":"w","tags":[")" + tag + R"("],"slots":100})");
    EXPECT_EQ(answer.status, 201) << answer.body;
    const Document welcome(answer.body);
    id = welcome.Text("/worker");
    key = welcome.Text("/key");
  }
  std::string path() const { return "/v1/queues/default/workers/" + id + "/pull"; }
  // `fields` begin with a comma, or are empty.
  Answer Pull(Http& http, const std::string& fields) const {
    return http.Post(path(), R"({"key":")" + key + "\"" + fields + "}");
  }
};

// `{"job":…,"index":…,"lease":…` of an assignment, without the closing brace.
inline std::string RefOf(const Json& task) {
  return R"({"job":)" + task.Dump("/job") + R"(,"index":)" + task.Dump("/index") + R"(,"lease":)" + task.Dump("/lease");
}

// A suite of tests on one server.
class LiveSuite : public ::testing::Test {
 protected:
  static void StartServer(LiveServer::Options options = {}) {
    server_ = std::make_unique<LiveServer>(std::move(options));
    ASSERT_TRUE(server_->Start()) << server_->Log();
  }
  static void TearDownTestSuite() {
    if (server_ == nullptr) return;
    EXPECT_EQ(server_->Stop().value_or(-1), 0) << "it did not live to a graceful stop\n" << server_->Log();
    server_.reset();
  }
  void SetUp() override { ASSERT_TRUE(server_ != nullptr && server_->Running()); }

  static LiveServer& server() { return *server_; }
  Http http_{server_ == nullptr ? std::uint16_t{0} : server_->port()};

 private:
  static inline std::unique_ptr<LiveServer> server_;
};

}  // namespace allot::testing
