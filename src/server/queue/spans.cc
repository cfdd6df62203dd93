// SPDX-License-Identifier: Apache-2.0
#include "server/queue/spans.h"

#include <utility>

namespace allot {
namespace {

// Handing spans over takes no time: it is done by whoever has made the round durable.
class RightHere final : public Executor {
 public:
  void Post(std::vector<Closure>& closures) override {
    for (Closure& closure : closures) closure();
    closures.clear();
  }
};

Span SpanOf(TracedAttempt& attempt, const std::string& queue) {
  constexpr std::string_view kOutcomes[] = {"", "done", "failed", "given_back"};
  Span span;
  const bool started = attempt.step == TracedAttempt::Step::kStarted;
  span.kind = started ? Span::Kind::kWait : Span::Kind::kRun;
  span.trace = std::move(attempt.trace);
  span.from = attempt.from;
  span.until = attempt.until;
  span.queue = queue;
  span.job = attempt.job;
  span.index = attempt.index;
  span.attempt = attempt.attempt;
  if (!started) span.worker = attempt.worker;
  span.outcome = kOutcomes[static_cast<std::size_t>(attempt.step)];
  span.failed = attempt.step == TracedAttempt::Step::kFailed;
  return span;
}

}  // namespace

void SendSpans(Round& round, SpanExporter& exporter, const std::string& queue, std::vector<TracedAttempt> attempts) {
  static RightHere here;
  round.Send(here, [&exporter, queue, attempts = std::move(attempts)]() mutable {
    for (TracedAttempt& attempt : attempts) exporter.Add(SpanOf(attempt, queue));
  });
}

}  // namespace allot
