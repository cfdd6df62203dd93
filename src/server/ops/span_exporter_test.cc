// SPDX-License-Identifier: Apache-2.0
#include "server/ops/span_exporter.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "server/ops/metrics.h"

namespace allot {
namespace {

constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

Span Attempt(const std::string& trace) {
  Span span;
  span.kind = Span::Kind::kRun;
  span.trace = trace;
  span.from = FromMillis(1'000);
  span.until = FromMillis(2'500);
  span.queue = "default";
  span.job = JobId{7};
  span.index = 3;
  span.attempt = 2;
  span.worker = WorkerId{9};
  span.outcome = "failed";
  span.failed = true;
  return span;
}

TEST(SpanExporter, KnowsWhereACollectorIs) {
  struct Row {
    const char* url;
    const char* address;  // empty: refused
    const char* path;
    bool tls;
  };
  constexpr Row kRows[] = {
      {"http://127.0.0.1:4318", "127.0.0.1:4318", "/v1/traces", false},
      {"http://collector", "collector:4318", "/v1/traces", false},
      {"http://[::1]", "[::1]:4318", "/v1/traces", false},
      {"http://[::1]:99/", "[::1]:99", "/v1/traces", false},
      {"https://otel.example.com:443/in/", "otel.example.com:443", "/in/v1/traces", true},
      {"collector:4318", "", "", false},
      {"ftp://collector", "", "", false},
      {"http://", "", "", false},
      {"http://:4318", "", "", false},
      {"http://a:0", "", "", false},
      {"http://a:65536", "", "", false},
      {"http://a b", "", "", false},
      {"http://a/?x=1", "", "", false},
      {"http://name:secret@a", "", "", false},
      {"http://a\r\nX: y", "", "", false},
  };
  for (const Row& row : kRows) {
    const Result<OtlpEndpoint> endpoint = ParseOtlpEndpoint(row.url);
    ASSERT_EQ(endpoint.ok(), *row.address != '\0') << row.url;
    if (!endpoint.ok()) continue;
    EXPECT_EQ(endpoint->address.Text(), row.address) << row.url;
    EXPECT_EQ(endpoint->path, row.path) << row.url;
    EXPECT_EQ(endpoint->tls, row.tls) << row.url;
  }
}

TEST(SpanExporter, ReadsHeadersAndLeavesOutWhatIsNone) {
  using Headers = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(ParseOtlpHeaders("authorization=Bearer%20x, a=b%2Cc"),
            (Headers{{"authorization", "Bearer x"}, {"a", "b,c"}}));
  EXPECT_EQ(ParseOtlpHeaders("none,=x,a b=c,x=1%0d%0aY: 2,z=50%,,y="), (Headers{{"y", ""}}));
  EXPECT_EQ(ParseOtlpHeaders(""), Headers{});
}

TEST(SpanExporter, WritesWhatTheProtocolWants) {
  EXPECT_EQ(OtlpTraces({Attempt(kTrace)}, "host-1", {0x1f}).substr(0, 90),
            R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":)");
  const std::string text = OtlpTraces({Attempt(kTrace)}, "host-1", {0x1f});
  for (const char* part :
       {R"("spans":[{"traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"000000000000001f",)"
        R"("parentSpanId":"b7ad6b7169203331","name":"run","kind":5,"startTimeUnixNano":"1000000000",)"
        R"("endTimeUnixNano":"2500000000","attributes":[)",
        R"({"key":"allotter.job","value":{"stringValue":"7"}})", R"({"key":"allotter.task","value":{"intValue":"3"}})",
        R"({"key":"allotter.attempt","value":{"intValue":"2"}})",
        R"({"key":"allotter.outcome","value":{"stringValue":"failed"}})", R"("status":{"code":2})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
}

TEST(SpanExporter, FollowsOnlyTracesThatAreSampled) {
  struct Row {
    std::string trace;
    bool kept;
  };
  const std::string id = "0af7651916cd43dd8448eb211c80319c", parent = "b7ad6b7169203331";
  const Row rows[] = {
      {kTrace, true},
      {"00-" + id + "-" + parent + "-03", true},
      {"01-" + id + "-" + parent + "-01-more", true},
      {"00-" + id + "-" + parent + "-00", false},
      {"00-" + id + "-" + parent + "-01-more", false},
      {"ff-" + id + "-" + parent + "-01", false},
      {"00-" + std::string(32, '0') + "-" + parent + "-01", false},
      {"00-" + id + "-" + std::string(16, '0') + "-01", false},
      {"00-" + std::string(32, 'G') + "-" + parent + "-01", false},
      {"", false},
      {"nonsense", false},
  };
  for (const Row& row : rows) {
    const std::string text = OtlpTraces({Attempt(row.trace)}, "", {1});
    EXPECT_EQ(text.find("traceId") != std::string::npos, row.kept) << row.trace;
  }
}

TEST(SpanExporter, NobodyWaitsForACollectorThatIsNotThere) {
  Metrics metrics("test");
  SpanExporter::Options options;
  options.endpoint = *ParseOtlpEndpoint("http://127.0.0.1:1");  // nobody listens there
  options.metrics = &metrics;
  options.most = 10;
  options.every = std::chrono::hours(1);
  SpanExporter exporter(options);
  for (int i = 0; i < 25; ++i) exporter.Add(Attempt(kTrace));
  exporter.Add(Attempt("nonsense"));
  EXPECT_NE(metrics.Render().find("allotter_spans_dropped_total 15\n"), std::string::npos);
  exporter.Finish(Duration(0));
  EXPECT_NE(metrics.Render().find("allotter_spans_dropped_total 25\n"), std::string::npos);
  exporter.Add(Attempt(kTrace));  // too late
  EXPECT_NE(metrics.Render().find("allotter_spans_dropped_total 26\n"), std::string::npos);
  EXPECT_NE(metrics.Render().find("allotter_spans_exported_total 0\n"), std::string::npos);
}

}  // namespace
}  // namespace allot
