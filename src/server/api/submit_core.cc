// SPDX-License-Identifier: Apache-2.0
#include "server/api/submit_core.h"

#include <utility>

#include "base/try.h"
#include "server/flow/places.h"
#include "server/net/call.h"
#include "server/ops/clock.h"
#include "server/wire/reply_json.h"

namespace allot {
namespace {

constexpr std::size_t kUsualAnswerBytes = 1024;  // of a job without much of its own

Result<SubmitAnswer> Enter(Round& round, JobId id, const JobSpec& spec) {
  Result<SubmitAnswer> answer = round.engine.jobs().Submit(round.now, id, spec);
  if (answer.ok() && !answer->existing) round.Created(id);
  return answer;
}

Result<Submitted> Describe(const Round& round, const SubmitAnswer& answer) {
  TRY(JobView view, round.engine.looks().Describe(answer.job));
  return Submitted{answer, std::move(view)};
}

}  // namespace

void NameSet(JobSpec& spec, JobId set) {
  if (spec.payload.common || spec.payload.per_task) spec.payload.set = set;
}

void AddPayloads(Round& round, std::vector<PayloadSegment>& segments, JobId set) {
  for (PayloadSegment& segment : segments) {
    segment.set = set;
    round.batch.payloads.push_back(std::move(segment));
  }
}

Result<Submitted> SubmitWhole(Round& round, JobSpec& spec, std::vector<PayloadSegment>& segments) {
  TRY_OK(RefuseNew(round));
  const JobId id{round.ids.Next(round.now.wall)};
  NameSet(spec, id);
  TRY(const SubmitAnswer answer, Enter(round, id, spec));
  if (!answer.existing) AddPayloads(round, segments, id);
  return Describe(round, answer);
}

Result<Submitted> SubmitStored(Round& round, JobSpec& spec, JobId set) {
  NameSet(spec, set);
  const Result<void> room = RefuseNew(round);
  const Result<SubmitAnswer> answer =
      room.ok() ? Enter(round, JobId{round.ids.Next(round.now.wall)}, spec) : Result<SubmitAnswer>(room.error());
  if (!answer.ok() || answer->existing) round.batch.removals.push_back({JobId{}, set});
  if (!answer.ok()) return answer.error();
  return Describe(round, *answer);
}

WallTime BeganAt(const ServerContext& server) { return server.spans ? ReadClock().wall : WallTime{}; }

void EndSubmit(const Call& call, WallTime began, const std::string& trace, const SubmitAnswer& answer) {
  if (!call.server.spans || trace.empty() || answer.existing) return;
  Span span;
  span.kind = Span::Kind::kSubmit;
  span.trace = trace;
  span.from = began;
  span.until = ReadClock().wall;
  span.queue = call.queue->name();
  span.job = answer.job;
  call.server.spans->Add(std::move(span));
}

Answer AnswerOf(const Call& call, const Submitted& submitted) {
  std::string out;
  out.reserve(kUsualAnswerBytes);
  AppendSubmitted(submitted.answer, submitted.view, call.queue->name(), out);
  return Answer(submitted.answer.existing ? 200 : 201, std::move(out));
}

Flow SubmitStreamed(Call call, JobSpec spec, JobId set, WallTime began) {
  const std::string trace = spec.trace;
  RoundHere round = co_await Look(call);
  CO_TRY(const Submitted& submitted, SubmitStored(*round, spec, set));
  co_await AfterCommit(round);
  EndSubmit(call, began, trace, submitted.answer);
  co_return AnswerOf(call, submitted);
}

}  // namespace allot
