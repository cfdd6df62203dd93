// SPDX-License-Identifier: Apache-2.0
// Requests that are wrong: each has its stable code, and changes nothing.
#include "base/testing/text.h"
#include "faults/fixture.h"

namespace allot::testing {
namespace {

class BadRequest : public LiveSuite {
 protected:
  static void SetUpTestSuite() { StartServer({.flags = {"--max-body-bytes", "2MiB"}}); }
};

struct BadRow {
  const char* method;
  std::string path;
  std::string body;
  int status;
  const char* code;
  const char* hint = "";  // a part of it
};

TEST_F(BadRequest, HasItsCodeAndChangesNothing) {
  const std::string job = SubmitJob(http_, R"({"tag":"nobody","count":3})");
  const std::string at = std::string(kJobs) + "/" + job;
  const std::string queues = "/v1/queues";
  const std::string deep = Repeated("[", 200) + Repeated("]", 200);
  const std::vector<BadRow> rows = {
      // Not JSON.
      {"POST", kJobs, "{", 400, "bad_json"},
      {"POST", kJobs, "not json", 400, "bad_json"},
      {"POST", kJobs, "{\"count\":1}x", 400, "bad_json"},
      {"POST", kJobs, "{\"count\":1} {\"count\":1}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":01}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":[+1]}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":.5}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":{\"a\":1.}}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":NaN}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":{\"a\" 1}}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":{a:1}}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":\"\\x\"}", 400, "bad_json"},
      {"POST", kJobs, "{\"payloads\":[1,,2]}", 400, "bad_json"},
      {"POST", kJobs, "{'count':1}", 400, "bad_json"},
      {"POST", kJobs, "{\"count\":1,}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":nul}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":[1,2}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":\"\x01\"}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":\"\xff\xfe\"}", 400, "bad_json"},
      {"POST", kJobs, "{\"payload\":\"\xed\xa0\x80\"}", 400, "bad_json"},  // half of a surrogate pair
      {"POST", kJobs, "{\"payload\":\"\\ud800\"}", 400, "bad_json"},
      {"POST", kJobs, std::string("{\"payload\":\"\0\"}", 15), 400, "bad_json"},
      {"POST", kJobs, std::string("\0\0\0", 3), 400, "bad_json"},
      // JSON of another form.
      {"POST", kJobs, "[]", 400, "bad_value"},
      {"POST", kJobs, "7", 400, "bad_value"},
      {"POST", kJobs, "null", 400, "bad_value"},
      // Fields that are not there, and what was probably meant.
      {"POST", kJobs, R"({"prority":1})", 400, "unknown_field", "priority"},
      {"POST", kJobs, R"({"Count":1})", 400, "unknown_field", "count"},
      {"POST", kJobs, R"({"delay":1})", 400, "unknown_field", "delay_ms"},
      {"POST", kJobs, R"({"backoff":{"frist_ms":1}})", 400, "unknown_field", "first_ms"},
      {"POST", kJobs, R"({"xyzzy":1})", 400, "unknown_field"},
      {"POST", std::string(kJobs) + "/batch", R"({"job":[]})", 400, "unknown_field", "jobs"},
      {"POST", std::string(kJobs) + "/batch", R"({"jobs":[{"count":1},{"cuont":1}]})", 400, "unknown_field", "count"},
      {"PATCH", at, R"({"count":1})", 400, "unknown_field"},
      {"PATCH", "/v1/queues/default", R"({"settings":{"worker_grace":1}})", 400, "unknown_field", "worker_grace_ms"},
      {"POST", queues, R"({"nam":"q"})", 400, "unknown_field", "name"},
      {"POST", "/v1/queues/default/workers", R"({"tag":["x"]})", 400, "unknown_field", "tags"},
      // Wrong types.
      {"POST", kJobs, R"({"count":"1"})", 400, "bad_value"},
      {"POST", kJobs, R"({"count":1.5})", 400, "bad_value"},
      {"POST", kJobs, R"({"count":true})", 400, "bad_value"},
      {"POST", kJobs, R"({"count":null})", 400, "bad_value"},
      {"POST", kJobs, R"({"tags":"x"})", 400, "bad_value"},
      {"POST", kJobs, R"({"tags":[1]})", 400, "bad_value"},
      {"POST", kJobs, R"({"tag":["x"]})", 400, "bad_value"},
      {"POST", kJobs, R"({"payloads":{}})", 400, "bad_value"},
      {"POST", kJobs, R"({"priority":"high"})", 400, "bad_value"},
      {"POST", kJobs, R"({"async":1})", 400, "bad_value"},
      {"POST", kJobs, R"({"meta":[]})", 400, "bad_value"},
      {"POST", kJobs, R"({"meta":{"a":null}})", 400, "bad_value"},
      {"POST", kJobs, R"({"meta":{"a":[1]}})", 400, "bad_value"},
      {"POST", kJobs, R"({"backoff":5})", 400, "bad_value"},
      {"POST", kJobs, R"({"idempotency_key":5})", 400, "bad_value"},
      {"POST", std::string(kJobs) + "/batch", R"({"jobs":{}})", 400, "bad_value"},
      {"PATCH", at, R"({"priority":"x"})", 400, "bad_value"},
      {"POST", queues, R"({"name":7})", 400, "bad_value"},
      {"POST", "/v1/queues/default/workers", R"({"tags":"x"})", 400, "bad_value"},
      {"POST", "/v1/queues/default/workers", R"({"slots":"x"})", 400, "bad_value"},
      // Out of range.
      {"POST", kJobs, R"({"count":-1})", 400, "bad_value"},
      {"POST", kJobs, R"({"count":4294967296})", 400, "bad_value"},
      {"POST", kJobs, R"({"count":99999999999999999999999})", 400, "bad_value"},
      {"POST", kJobs, R"({"priority":9223372036854775808})", 400, "bad_value"},
      {"POST", kJobs, R"({"max_attempts":0})", 400, "bad_value"},
      {"POST", kJobs, R"({"max_attempts":1001})", 400, "bad_value"},
      {"POST", kJobs, R"({"lease_ms":999})", 400, "bad_value"},
      {"POST", kJobs, R"({"lease_ms":86400001})", 400, "bad_value"},
      {"POST", kJobs, R"({"timeout_ms":-1})", 400, "bad_value"},
      {"POST", kJobs, R"({"delay_ms":31622400001})", 400, "bad_value"},
      {"POST", kJobs, R"({"retention_ms":-5})", 400, "bad_value"},
      {"POST", kJobs, R"({"backoff":{"factor":0.5}})", 400, "bad_value"},
      {"POST", kJobs, R"({"backoff":{"jitter":1.5}})", 400, "bad_value"},
      {"POST", kJobs, R"({"max_failed_tasks":"101%"})", 400, "bad_value"},
      {"POST", kJobs, R"({"max_failed_tasks":"x"})", 400, "bad_value"},
      {"POST", kJobs, R"({"max_failed_tasks":-1})", 400, "bad_value"},
      {"POST", kJobs, R"({"tag":""})", 400, "bad_value"},
      {"POST", kJobs, R"({"tag":"a b"})", 400, "bad_value"},
      {"POST", kJobs, R"({"tag":"<b>"})", 400, "bad_value"},
      {"POST", kJobs, R"({"tag":")" + std::string(129, 'x') + "\"}", 400, "bad_value"},
      {"POST", kJobs, R"({"meta":{"a b":1}})", 400, "bad_value"},
      {"POST", kJobs, R"({"meta":{"a":1,"A":2}})", 400, "bad_value"},
      {"POST", kJobs, R"({"meta":{"a":")" + std::string(1025, 'x') + "\"}}", 400, "bad_value"},
      {"POST", kJobs, R"({"user":")" + std::string(129, 'u') + "\"}", 400, "bad_value"},
      {"POST", kJobs, R"({"idempotency_key":")" + std::string(257, 'k') + "\"}", 400, "bad_value"},
      {"POST", kJobs, R"({"payload":)" + deep + "}", 400, "bad_json"},
      {"POST", queues, R"({"name":"a/b"})", 400, "bad_value"},
      {"POST", queues, R"({"name":".hidden"})", 400, "bad_value"},
      {"POST", queues, R"({"name":"../../etc"})", 400, "bad_value"},
      {"POST", queues, R"({"name":""})", 400, "bad_value"},
      {"POST", queues, R"({"name":")" + std::string(129, 'q') + "\"}", 400, "bad_value"},
      {"POST", queues, R"({})", 400, "bad_value"},
      {"POST", "/v1/queues/default/workers", R"({"tags":["x"],"slots":10001})", 400, "bad_value"},
      {"PATCH", "/v1/queues/default", R"({"settings":{"max_result_bytes":1048577}})", 400, "bad_value"},
      {"GET", std::string(kJobs) + "?limit=0", "", 400, "bad_value"},
      {"GET", std::string(kJobs) + "?limit=1001", "", 400, "bad_value"},
      {"GET", std::string(kJobs) + "?limit=x", "", 400, "bad_value"},
      {"GET", std::string(kJobs) + "?state=gone", "", 400, "bad_value"},
      {"GET", at + "?wait_ms=300001", "", 400, "bad_value"},
      {"GET", at + "?wait_ms=-1", "", 400, "bad_value"},
      {"GET", at + "?wiat_ms=1", "", 400, "unknown_field", "wait_ms"},
      // Together what cannot be together.
      {"POST", kJobs, R"({"count":1,"payloads":[1]})", 400, "bad_value"},
      {"POST", kJobs, R"({"tag":"a","tags":["b"]})", 400, "bad_value"},
      {"POST", kJobs, R"({"delay_ms":1,"scheduled_at_ms":1})", 400, "bad_value"},
      {"POST", kJobs, R"({"count":1,"count":2})", 400, "bad_value"},
      // Too large.
      {"POST", kJobs, R"({"payload":")" + std::string(1 << 20, 'x') + "\"}", 413, "too_large"},
      {"POST", kJobs, R"({"payload":")" + std::string(3 << 20, 'x') + "\"}", 413, "too_large"},
      {"POST", std::string(kJobs) + "/batch", R"({"jobs":[{})" + Repeated(",{}", 1000) + "]}", 413, "too_large"},
      // Not there.
      {"GET", std::string(kJobs) + "/123", "", 404, "unknown_job"},
      {"GET", std::string(kJobs) + "/9223372036854775807", "", 404, "unknown_job"},
      {"POST", std::string(kJobs) + "/123/cancel", "", 404, "unknown_job"},
      {"POST", std::string(kJobs) + "/123/pause", "", 404, "unknown_job"},
      {"POST", std::string(kJobs) + "/123/retry", "", 404, "unknown_job"},
      {"PATCH", std::string(kJobs) + "/123", R"({"priority":1})", 404, "unknown_job"},
      {"GET", std::string(kJobs) + "/123/results", "", 404, "unknown_job"},
      {"GET", std::string(kJobs) + "/123/tasks", "", 404, "unknown_job"},
      {"GET", std::string(kJobs) + "/123/events", "", 404, "unknown_job"},
      {"GET", at + "/tasks/3", "", 404, "unknown_task"},
      {"GET", at + "/tasks/4294967295", "", 404, "unknown_task"},
      {"GET", "/v1/queues/default/workers/123", "", 404, "unknown_worker"},
      {"POST", "/v1/queues/default/workers/123/drain", "", 404, "unknown_worker"},
      {"POST", "/v1/queues/default/workers/123/pull", R"({"key":"0123456789abcdef"})", 404, "unknown_worker"},
      {"GET", "/v1/queues/nowhere", "", 404, "unknown_queue"},
      {"GET", "/v1/queues/nowhere/jobs", "", 404, "unknown_queue"},
      {"POST", "/v1/queues/nowhere/jobs", "{}", 404, "unknown_queue"},
      {"POST", "/v1/queues/nowhere/pause", "", 404, "unknown_queue"},
      {"DELETE", "/v1/queues/nowhere", "", 404, "unknown_queue"},
      {"GET", "/v1/queues/..%2f..%2fetc", "", 404, "unknown_queue"},
      {"GET", "/nothing.js", "", 404, "not_found"},
      {"GET", "/v2/queues", "", 404, "not_found"},
      {"GET", "/v1/queues/default/../../../etc/passwd", "", 404, "not_found"},
      {"GET", at + "/nothing", "", 404, "not_found"},
      // Not in that way.
      {"DELETE", kJobs, "", 405, "method_not_allowed"},
      {"PUT", at, "{}", 405, "method_not_allowed"},
      {"POST", "/livez", "", 405, "method_not_allowed"},
      // Not now.
      {"POST", queues, R"({"name":"default"})", 409, "queue_exists"},
      {"POST", at + "/retry", "", 409, "job_active"},
  };
  const std::string before = Picture(http_);
  for (const BadRow& row : rows) {
    SCOPED_TRACE(std::string(row.method) + " " + row.path + " " + row.body.substr(0, 100));
    const Answer answer = http_.Call(row.method, row.path, row.body);
    EXPECT_EQ(answer.status, row.status) << answer.body;
    const Document body(answer.body);
    EXPECT_EQ(body.Text("/error/code"), row.code) << answer.body;
    EXPECT_NE(body.Text("/error/message"), "") << answer.body;
    EXPECT_NE(body.Text("/error/hint").find(row.hint), std::string::npos)
        << "wanted `" << row.hint << "` in " << answer.body;
  }
  EXPECT_EQ(Picture(http_), before);
}

TEST_F(BadRequest, AJobThatHasEndedIsNotChanged) {
  const std::string job = SubmitJob(http_, R"({"count":0})");
  const std::string at = std::string(kJobs) + "/" + job;
  EXPECT_EQ(Document(http_.Get(at).body).Text("/state"), "done");
  const std::string before = Picture(http_);
  EXPECT_EQ(http_.Call("PATCH", at, R"({"priority":1})").ErrorCode(), "job_ended");
  EXPECT_EQ(http_.Post(at + "/pause", "").ErrorCode(), "job_ended");
  const Answer cancelled = http_.Post(at + "/cancel", "");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(Document(cancelled.body).Text("/state"), "done");
  EXPECT_EQ(Picture(http_), before);
}

TEST_F(BadRequest, DefaultIsNotDeletedAndAFullQueueOnlyByForce) {
  ASSERT_EQ(http_.Post("/v1/queues", R"({"name":"full"})").status, 201);
  ASSERT_EQ(http_.Post("/v1/queues/full/jobs", R"({"count":2})").status, 201);
  const std::string before = Picture(http_);
  const Answer refused = http_.Call("DELETE", "/v1/queues/full");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.ErrorCode(), "queue_not_empty");
  EXPECT_GE(http_.Call("DELETE", "/v1/queues/default?force=true").status, 400);
  EXPECT_EQ(Picture(http_), before);
  EXPECT_EQ(http_.Call("DELETE", "/v1/queues/full?force=true").status, 200);
  EXPECT_EQ(http_.Get("/v1/queues/full").ErrorCode(), "unknown_queue");
}

TEST_F(BadRequest, BodiesOfAnotherTypeAreRefused) {
  const std::string before = Picture(http_);
  for (const char* type : {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                           "application/jsonp", "", "text/plain; application/json"}) {
    const Answer answer = http_.Call("POST", kJobs, R"({"count":1})", {{"Content-Type", type}});
    EXPECT_EQ(answer.status, 415) << type;
    EXPECT_EQ(answer.ErrorCode(), "unsupported_media") << type;
  }
  EXPECT_EQ(Picture(http_), before);
  EXPECT_EQ(http_.Call("POST", kJobs, R"({"count":0})", {{"Content-Type", "application/json; charset=utf-8"}}).status,
            201);
}

TEST_F(BadRequest, AKeyWithOtherContentIsAConflict) {
  const std::string first = SubmitJob(http_, R"({"tag":"nobody","count":2,"idempotency_key":"conflict"})");
  const std::string before = Picture(http_);
  const Answer other = http_.Post(kJobs, R"({"tag":"nobody","count":3,"idempotency_key":"conflict"})");
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.ErrorCode(), "idempotency_conflict");
  const Answer batch =
      http_.Post(std::string(kJobs) + "/batch", R"({"jobs":[{"count":1},{"count":9,"idempotency_key":"conflict"}]})");
  EXPECT_EQ(batch.ErrorCode(), "idempotency_conflict");
  const Answer same = http_.Post(kJobs, R"({"count":2,"idempotency_key":"conflict","tags":["nobody"]})");
  EXPECT_EQ(same.status, 200);
  EXPECT_TRUE(Document(same.body).Bool("/existing"));
  EXPECT_EQ(Document(same.body).Text("/job/id"), first);
  EXPECT_EQ(Picture(http_), before);
}

// Names come from strangers: taken as they are or refused, and given back as the same JSON.
TEST_F(BadRequest, HostileNamesAreRefusedOrComeBackAsTheyWere) {
  const char* names[] = {"<script>alert(1)</script>",
                         "\\u0000",
                         "a\\nb",
                         "\\u001b[31mred",
                         "\\u202egnp.exe",
                         "\\ud83d\\ude00",
                         "x\\\"y",
                         "../../etc/passwd",
                         "%s%n",
                         "'; DROP TABLE jobs; --"};
  for (const char* name : names) {
    SCOPED_TRACE(name);
    const std::string text = std::string("\"") + name + "\"";
    const Answer user = http_.Post(kJobs, R"({"count":0,"user":)" + text + "}");
    if (user.status == 201) {
      EXPECT_EQ(Document(user.body).Text("/job/user"), Document(text).Text());
    } else {
      EXPECT_EQ(user.ErrorCode(), "bad_value") << user.body;
    }
    const Answer meta = http_.Post(kJobs, R"({"count":0,"meta":{"note":)" + text + "}}");
    ASSERT_EQ(meta.status, 201) << meta.body;
    EXPECT_EQ(Document(meta.body).Text("/job/meta/note"), Document(text).Text());
    const Answer payload = http_.Post(kJobs, R"({"tag":"nobody","payload":)" + text + "}");
    ASSERT_EQ(payload.status, 201) << payload.body;
    const Document task(http_.Get(std::string(kJobs) + "/last/tasks/0").body);
    EXPECT_EQ(task.Text("/payload"), Document(text).Text());
    const Answer worker = http_.Post("/v1/queues/default/workers", R"({"tags":[],"name":)" + text + "}");
    if (worker.status != 201) {
      EXPECT_EQ(worker.ErrorCode(), "bad_value") << worker.body;
    }
    for (const Answer& answer : {user, meta, payload, worker}) {
      EXPECT_EQ(answer.headers.find('<'), std::string::npos) << answer.headers;
    }
  }
  // A long name of characters of several bytes is cut nowhere: it is refused.
  std::string long_name;
  for (int i = 0; i < 64; ++i) long_name += "\xe2\x82\xac";
  EXPECT_EQ(http_.Post(kJobs, R"({"count":0,"user":")" + long_name + "\"}").ErrorCode(), "bad_value");
  EXPECT_EQ(http_.Post("/v1/queues/default/workers", R"({"tags":[],"name":")" + long_name + "\"}").ErrorCode(),
            "bad_value");
}

}  // namespace
}  // namespace allot::testing
