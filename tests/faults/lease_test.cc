// SPDX-License-Identifier: Apache-2.0
// Reports that must not count: stale and made-up leases, reports of others, results that are too large.
#include "faults/fixture.h"

namespace allot::testing {
namespace {

class BadReport : public LiveSuite {
 protected:
  static void SetUpTestSuite() { StartServer(); }
  std::string Task(const std::string& job, int index) {
    return http_.Get(std::string(kJobs) + "/" + job + "/tasks/" + std::to_string(index)).body;
  }
};

TEST_F(BadReport, AStaleLeaseChangesNothing) {
  const std::string job = SubmitJob(http_, R"({"tag":"stale","payloads":[0,1,2,3]})");
  const HttpWorker mine(http_, "stale");
  const HttpWorker other(http_, "stale");
  const Answer pulled = mine.Pull(http_, R"(,"pull":4)");
  const Document tasks(pulled.body);
  ASSERT_EQ(tasks.Size("/tasks"), 4u) << pulled.body;
  const std::string first = RefOf(tasks.At("/tasks/0"));
  const std::string second = RefOf(tasks.At("/tasks/1"));
  const std::string third = RefOf(tasks.At("/tasks/2"));
  // The other one's worker id does not own the lease; whoever has the lease's text does. Done is taken once.
  const Answer done = mine.Pull(http_, R"(,"done":[)" + first + R"(,"result":"first"}])");
  EXPECT_EQ(Document(done.body).Size("/stale"), 0u) << done.body;
  struct Again {
    const HttpWorker& worker;
    std::string fields;
  };
  const std::string before = Picture(http_);
  for (const Again& again :
       {Again{mine, R"("done":[)" + first + R"(,"result":"again"}])"},
        Again{other, R"("done":[)" + first + R"(,"result":"other"}])"},
        Again{mine, R"("failed":[)" + first + R"(,"error":"x"}])"},
        Again{mine, R"("failed":[)" + first + R"(,"error":"x","final":true}])"},
        Again{mine, R"("released":[)" + first + "}]"}, Again{mine, R"("extend":[)" + first + "}]"}}) {
    const Answer answer = again.worker.Pull(http_, "," + again.fields);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(Document(answer.body).Size("/stale"), 1u) << again.fields << answer.body;
    EXPECT_EQ(Document(answer.body).Text("/stale/0/code"), "stale") << answer.body;
  }
  EXPECT_EQ(Picture(http_), before);
  EXPECT_EQ(Document(Task(job, 0)).Text("/result"), "first");

  // Leases that were never issued: changed digits, another task's lease, another job's, garbage.
  std::string forged = tasks.Text("/tasks/1/lease");
  forged.back() = forged.back() == '0' ? '1' : '0';
  const std::string made_up[] = {
      R"({"job":")" + job + R"(","index":1,"lease":")" + forged + "\"}",
      R"({"job":")" + job + R"(","index":1,"lease":)" + tasks.Dump("/tasks/2/lease") + "}",
      R"({"job":")" + job + R"(","index":1,"lease":"1"})",
      R"({"job":")" + job + R"(","index":1,"lease":"0000000000000000"})",
      R"({"job":"123","index":1,"lease":)" + tasks.Dump("/tasks/1/lease") + "}",
      R"({"job":")" + job + R"(","index":4000000000,"lease":)" + tasks.Dump("/tasks/1/lease") + "}",
  };
  for (const std::string& entry : made_up) {
    SCOPED_TRACE(entry);
    for (const char* list : {"done", "failed", "released", "extend"}) {
      const Answer answer = mine.Pull(http_, R"(,")" + std::string(list) + "\":[" + entry + "]");
      // A text that cannot be a lease may be refused as a whole.
      if (answer.status == 200) {
        EXPECT_EQ(Document(answer.body).Size("/stale"), 1u) << answer.body;
      } else {
        EXPECT_EQ(answer.ErrorCode(), "bad_value") << answer.body;
      }
    }
  }
  EXPECT_EQ(Picture(http_), before);
  EXPECT_EQ(Document(Task(job, 1)).Text("/state"), "running");

  // Of one message the good entries count, the bad ones do not.
  const Answer mixed = mine.Pull(
      http_, R"(,"done":[)" + first + R"(,"result":1},)" + second + R"(,"result":2},)" + third + R"(,"result":3}])");
  EXPECT_EQ(Document(mixed.body).Size("/stale"), 1u) << mixed.body;
  EXPECT_EQ(Document(mixed.body).Int("/stale/0/index"), 0) << mixed.body;
  EXPECT_EQ(Document(http_.Get(std::string(kJobs) + "/" + job).body).Int("/done"), 3);
}

TEST_F(BadReport, OfACancelledJobIsNotTaken) {
  const std::string job = SubmitJob(http_, R"({"tag":"cancelled","count":2})");
  const HttpWorker worker(http_, "cancelled");
  const Document tasks(worker.Pull(http_, R"(,"pull":1)").body);
  ASSERT_EQ(tasks.Size("/tasks"), 1u);
  EXPECT_EQ(http_.Post(std::string(kJobs) + "/" + job + "/cancel", "").status, 200);
  const Answer stopping = worker.Pull(http_, "");
  EXPECT_EQ(Document(stopping.body).Text("/cancel/0/reason"), "cancelled") << stopping.body;
  const Answer answer = worker.Pull(http_, R"(,"done":[)" + RefOf(tasks.At("/tasks/0")) + R"(,"result":1}])");
  EXPECT_EQ(Document(answer.body).Text("/stale/0/code"), "job_ended") << answer.body;
  const Document view(http_.Get(std::string(kJobs) + "/" + job).body);
  EXPECT_EQ(view.Text("/state"), "cancelled");
  EXPECT_EQ(view.Int("/done"), 0);
  EXPECT_EQ(view.Int("/skipped"), 2);
}

TEST_F(BadReport, AnExpiredLeaseIsLostToTheNextWorker) {
  const std::string job = SubmitJob(http_, R"({"tag":"expired","lease_ms":1000,"backoff":{"first_ms":1}})");
  const HttpWorker slow(http_, "expired");
  const Document tasks(slow.Pull(http_, R"(,"pull":1)").body);
  ASSERT_EQ(tasks.Size("/tasks"), 1u);
  const HttpWorker next(http_, "expired");
  const Answer got = next.Pull(http_, R"(,"pull":1,"wait_ms":10000)");
  const Document again(got.body);
  ASSERT_EQ(again.Size("/tasks"), 1u) << got.body;
  EXPECT_EQ(again.Int("/tasks/0/attempt"), 2);
  const Answer late = slow.Pull(http_, R"(,"done":[)" + RefOf(tasks.At("/tasks/0")) + R"(,"result":"late"}])");
  EXPECT_EQ(Document(late.body).Text("/stale/0/code"), "stale") << late.body;
  const Answer done = next.Pull(http_, R"(,"done":[)" + RefOf(again.At("/tasks/0")) + R"(,"result":"next"}])");
  EXPECT_EQ(Document(done.body).Size("/stale"), 0u) << done.body;
  EXPECT_EQ(Document(Task(job, 0)).Text("/result"), "next");
}

TEST_F(BadReport, AResultThatIsTooLargeIsRefusedAndTheLeaseStays) {
  const std::string job = SubmitJob(http_, R"({"tag":"large"})");
  const HttpWorker worker(http_, "large");
  const Document tasks(worker.Pull(http_, R"(,"pull":1)").body);
  ASSERT_EQ(tasks.Size("/tasks"), 1u);
  const std::string ref = RefOf(tasks.At("/tasks/0"));
  const std::string before = Picture(http_);
  const Answer over = worker.Pull(http_, R"(,"done":[)" + ref + R"(,"result":")" + std::string(65536, 'x') + "\"}]");
  EXPECT_EQ(over.status, 413);
  EXPECT_EQ(over.ErrorCode(), "too_large") << over.body;
  EXPECT_EQ(Picture(http_), before);
  const Answer just = worker.Pull(http_, R"(,"done":[)" + ref + R"(,"result":")" + std::string(65534, 'x') + "\"}]");
  EXPECT_EQ(just.status, 200) << just.body;
  EXPECT_EQ(Document(just.body).Size("/stale"), 0u) << just.body;
  EXPECT_EQ(Document(Task(job, 0)).Text("/result").size(), 65534u);
}

TEST_F(BadReport, OverWebSocketAnErrorNamesTheMessageAndChangesNothing) {
  const std::string job = SubmitJob(http_, R"({"tag":"socket","count":2})");
  WebSocket socket(server().port(), "/v1/queues/default/work");
  ASSERT_TRUE(socket.open());
  ASSERT_TRUE(socket.Send(R"({"hello":{"name":"w","tags":["socket"],"slots":2}})"));
  ASSERT_TRUE(socket.Receive().has_value());
  ASSERT_TRUE(socket.Send(R"({"seq":1,"pull":2})"));
  std::vector<std::string> refs;
  while (refs.size() < 2) {
    const std::optional<std::string> message = socket.Receive();
    ASSERT_TRUE(message.has_value());
    Document(*message).ForEach("/tasks", [&](const Json& task) { refs.push_back(RefOf(task)); });
  }
  const std::string before = Picture(http_);
  struct Case {
    std::string fields;
    const char* code;
  };
  int seq = 10;
  for (const Case& bad :
       {Case{R"("dnoe":[])", "unknown_field"}, Case{R"("done":{})", "bad_value"},
        Case{R"("done":[{"job":7}])", "bad_value"}, Case{R"("done":[)" + refs[0] + "},{}]", "bad_value"},
        Case{R"("pull":-1)", "bad_value"}, Case{R"("pull":10001)", "bad_value"},
        Case{R"("done":[)" + refs[0] + R"(,"result":")" + std::string(70'000, 'x') + "\"}]", "too_large"}}) {
    ASSERT_TRUE(socket.Send(R"({"seq":)" + std::to_string(++seq) + "," + bad.fields + "}"));
    const std::optional<std::string> answer = socket.Receive();
    ASSERT_TRUE(answer.has_value()) << bad.fields.substr(0, 100);
    EXPECT_EQ(Document(*answer).Text("/error/code"), bad.code) << *answer;
    EXPECT_EQ(Document(*answer).Int("/seq"), seq) << *answer;
  }
  EXPECT_EQ(Picture(http_), before);
  // The connection goes on.
  ASSERT_TRUE(socket.Send(R"({"seq":99,"done":[)" + refs[0] + "}," + refs[1] + "}]}"));
  const std::optional<std::string> ack = socket.Receive();
  ASSERT_TRUE(ack.has_value());
  EXPECT_EQ(Document(*ack).Int("/ack"), 99) << *ack;
  EXPECT_EQ(Document(http_.Get(std::string(kJobs) + "/" + job).body).Text("/state"), "done");
}

TEST_F(BadReport, AMessageThatIsNoneEndsTheConnection) {
  for (const char* message : {"not json", "[]", R"({"bye":false,"x":1})", "{\"seq\":\"x\"}"}) {
    WebSocket socket(server().port(), "/v1/queues/default/work");
    ASSERT_TRUE(socket.Send(R"({"hello":{"name":"w","tags":[],"slots":1}})"));
    ASSERT_TRUE(socket.Receive().has_value());
    ASSERT_TRUE(socket.Send(message));
    const std::optional<std::string> answer = socket.Receive();
    ASSERT_TRUE(answer.has_value()) << message;
    EXPECT_NE(Document(*answer).Text("/error/code"), "") << *answer;
    EXPECT_FALSE(socket.Receive(milliseconds(5000)).has_value());
    EXPECT_FALSE(socket.open()) << message;
  }
  // Neither is a first message that is no hello, nor a binary one.
  WebSocket no_hello(server().port(), "/v1/queues/default/work");
  ASSERT_TRUE(no_hello.Send(R"({"pull":1})"));
  const std::optional<std::string> answer = no_hello.Receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_NE(Document(*answer).Text("/error/code"), "") << *answer;
}

TEST_F(BadReport, AWorkersKeyCannotBeGuessed) {
  const HttpWorker worker(http_, "guess");
  for (const char* key : {"", "0", "ffffffffffffffff", "x"}) {
    const Answer answer = http_.Post(worker.path(), R"({"key":")" + std::string(key) + R"(","pull":1})");
    EXPECT_GE(answer.status, 400) << answer.body;
    const Answer hello = http_.Post("/v1/queues/default/workers", R"({"name":"w","tags":["guess"],"worker":")" +
                                                                      worker.id + R"(","key":")" + key + "\"}");
    EXPECT_GE(hello.status, 400) << hello.body;
  }
}

}  // namespace
}  // namespace allot::testing
