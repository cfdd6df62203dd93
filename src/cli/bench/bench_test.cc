// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "cli/bench/child.h"
#include "cli/bench/figures.h"
#include "cli/bench/loop.h"
#include "cli/bench/scenario.h"
#include "cli/bench/wire.h"

namespace allot::bench {
namespace {

TEST(BenchFigures, PercentilesAreValuesThatWereMeasured) {
  std::vector<double> values;
  for (int i = 1000; i >= 1; --i) values.push_back(i);
  Figures figures;
  figures.AddPercentiles("x", values, "us");
  ASSERT_EQ(figures.all().size(), 3u);
  EXPECT_EQ(figures.all()[0].value, 501);
  EXPECT_EQ(figures.all()[1].value, 991);
  EXPECT_EQ(figures.all()[2].value, 1000);
  std::vector<double> one = {7};
  figures.AddPercentiles("y", one, "us");
  EXPECT_EQ(figures.all()[5].value, 7);
}

TEST(BenchFigures, TheMedianOfAnEvenNumberIsTheLowerOfBoth) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 3, 2}), 2);
  EXPECT_EQ(Median({5}), 5);
}

TEST(BenchFigures, JsonNamesValueAndUnit) {
  Figures figures;
  figures.Add("drain/workers=1", 1.5, "tasks/s");
  std::string out;
  figures.AppendJson(out);
  EXPECT_EQ(out, "{\"figures\":[{\"name\":\"drain/workers=1\",\"value\":1.5,\"unit\":\"tasks/s\"}]}\n");
}

TEST(BenchWire, AnAnswerIsTakenOnceItIsComplete) {
  const std::string whole = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\ncontent-length: 5\r\n\r\nhello";
  HttpAnswer answer;
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_EQ(ParseAnswer(whole.substr(0, n), answer), 0u) << n;
  const std::string two = whole + whole;
  EXPECT_EQ(ParseAnswer(two, answer), whole.size());
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "hello");
}

TEST(BenchWire, AnAnswerWithoutALengthHasNoBody) {
  HttpAnswer answer;
  EXPECT_EQ(ParseAnswer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81", answer), 56u);
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.body, "");
}

TEST(BenchWire, ARequestCarriesItsLengthAndToken) {
  Target target;
  target.port = 7420;
  target.queue = "q";
  EXPECT_EQ(target.Request("GET", target.Path("/jobs"), {}, {}),
            "GET /v1/queues/q/jobs HTTP/1.1\r\nHost: 127.0.0.1:7420\r\n\r\n");
  target.token = "t";
  EXPECT_EQ(target.Request("POST", "/", "application/json", "{}"),
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:7420\r\nAuthorization: Bearer t\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\n\r\n{}");
}

TEST(BenchWire, ATextFieldIsFoundByItsKey) {
  EXPECT_EQ(TextField("{\"job\":{\"id\":\"12\",\"queue\":\"q\"}}", "id"), "12");
  EXPECT_EQ(TextField("{}", "id"), "");
}

TEST(BenchPlan, APayloadIsJsonOfTheGivenSize) {
  Plan plan;
  plan.payload_bytes = 100;
  EXPECT_EQ(plan.Payload().size(), 100u);
  EXPECT_EQ(plan.Payload().front(), '"');
  plan.scale = 0.0001;
  EXPECT_EQ(plan.Scaled(100), 1u);
}

TEST(BenchLoop, AConnectionThatNobodyTakesIsClosedAndALateEndIsAFailure) {
  class Probe final : public Link {
   public:
    using Link::Link;
    bool closed = false;

   protected:
    void OnOpen() override {}
    std::size_t OnData(std::string_view data) override { return data.size(); }
    void OnClosed() override { closed = true; }
  };
  Loop loop;
  Probe probe(loop);
  probe.Connect(FreePort());
  loop.RunUntil([&] { return probe.closed; }, std::chrono::seconds(10), "being refused");
  EXPECT_FALSE(probe.open());
  EXPECT_THROW(loop.RunUntil([] { return false; }, std::chrono::milliseconds(50), "never"), Failure);
}

TEST(BenchChild, EndsWithItsStatusAndLeavesNothing) {
  std::string path;
  {
    TemporaryDirectory directory;
    path = directory.path();
    Child child;
    child.Start({"sh", "-c", "trap 'exit 3' TERM; echo up; while :; do sleep 0.01; done"}, path + "/child.log");
    EXPECT_TRUE(child.running());
    // Its trap is set once it has spoken.
    std::error_code ec;
    while (std::filesystem::file_size(path + "/child.log", ec) == 0 || ec) child.CheckAlive();
    EXPECT_GT(child.RssBytes(), 0u);
    EXPECT_EQ(child.Stop(), 3);
    EXPECT_FALSE(child.running());
  }
  EXPECT_NE(access(path.c_str(), F_OK), 0);
}

}  // namespace
}  // namespace allot::bench
