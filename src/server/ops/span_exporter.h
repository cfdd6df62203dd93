// SPDX-License-Identifier: Apache-2.0
// Spans of jobs that carry a trace, for a collector of OpenTelemetry: OTLP over HTTP, as JSON.
//
// Whoever has a span hands it over and goes on. Spans wait in a queue with a bound, and a thread of the exporter's own
// sends them, many at a time. What finds no room, or cannot be sent after some tries, is dropped and counted.
//
// Threading: Add() may be called from any thread; it never waits for the collector.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "server/ops/config.h"

namespace allot {

class Metrics;

struct Span {
  enum class Kind : std::uint8_t { kSubmit, kWait, kRun };
  Kind kind = Kind::kSubmit;
  std::string trace;  // the job's W3C traceparent
  WallTime from{}, until{};
  std::string queue;
  JobId job;
  TaskIndex index = 0;
  std::uint32_t attempt = 0;   // 0: of no task
  WorkerId worker;             // 0: of none
  std::string_view outcome{};  // of an attempt: a word that lives as long as the program; empty: it has none
  bool failed = false;
};

// Where a collector is.
struct OtlpEndpoint {
  bool tls = false;
  Endpoint address;
  std::string path;  // `/v1/traces`, below that of the URL
};
// `http://HOST[:PORT][/PATH]` or `https://…`; without a port 4318. kBadValue otherwise.
Result<OtlpEndpoint> ParseOtlpEndpoint(std::string_view url);

// `name=value,name=value` as OTEL_EXPORTER_OTLP_HEADERS has them, values percent-encoded. What is no header is left
// out.
std::vector<std::pair<std::string, std::string>> ParseOtlpHeaders(std::string_view text);

// The body of a request. `ids` gives a random number for each span's id.
std::string OtlpTraces(const std::vector<Span>& spans, std::string_view instance,
                       const std::vector<std::uint64_t>& ids);

class SpanExporter {
 public:
  struct Options {
    OtlpEndpoint endpoint;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string instance;        // which server this is
    Metrics* metrics = nullptr;  // null: nobody counts
    std::size_t most = 8192;     // spans that wait
    Duration every = std::chrono::seconds(1);
    Duration timeout = std::chrono::seconds(5);  // of one try
    Duration pause = std::chrono::seconds(1);    // before the second try; each further one doubles it
    int tries = 5;
  };
  explicit SpanExporter(Options options);
  // As Finish(), without time to send anything more.
  ~SpanExporter();

  // Kept where its trace is one, is to be sampled, and there is room.
  void Add(Span span);
  // What waits is sent, if that does not take longer. Nothing is taken any more.
  void Finish(Duration most);

 private:
  enum class Outcome { kTaken, kTryAgain, kRefused };
  void Run();
  void Send(const std::vector<Span>& spans);
  Outcome Post(const std::string& body, Duration timeout);
  bool Pause(Duration pause);  // false: it ends meanwhile
  void Drop(std::size_t spans, std::string_view why);

  const Options options_;
  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::vector<Span> waiting_;  // guarded by mutex_, as what follows
  bool finishing_ = false;
  std::chrono::steady_clock::time_point give_up_ = std::chrono::steady_clock::time_point::max();
  // Of the exporter's thread.
  bool complained_ = false;
  std::string trouble_;  // why the last request was not taken
  std::thread thread_;
};

}  // namespace allot
