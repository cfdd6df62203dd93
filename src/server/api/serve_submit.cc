// SPDX-License-Identifier: Apache-2.0
// POST /v1/queues/Q/jobs and /v1/queues/Q/jobs/batch: submitting. Streams of tasks are in submit_stream.h.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/try.h"
#include "server/api/payload_packer.h"
#include "server/api/submit_core.h"
#include "server/flow/places.h"
#include "server/ops/access.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/jobs.h"
#include "wire/writer.h"

namespace allot {
namespace {

// Longer bodies are parsed apart: no network thread stands still for them. A batch has many expressions, and each may
// take its time.
constexpr std::size_t kLongBodyBytes = 64 * 1024;
constexpr std::size_t kLongBatchBytes = 1024;
// One of this may run on the network thread.
constexpr std::size_t kBriefBodyBytes = 16 * 1024;

struct OneJob {
  JobSpec spec;
  std::vector<PayloadSegment> segments;
};

// All that is needed of the body, which goes then.
Result<OneJob> ParseOne(Call& call) {
  TRY(JobRequest request, ParseJobSpec(call.request.body, OptionsOf(call)));
  TRY_OK(ClaimUser(call.principal(), request));
  HashContent(request);
  OneJob job;
  job.segments = PackPayloads(request);
  job.spec = std::move(request.spec);
  call.request.body = {};
  return job;
}

struct BatchOfJobs {
  std::vector<JobSpec> specs;
  std::vector<JobFold> folds;  // not on the engine thread, which all wait for
  std::vector<std::vector<PayloadSegment>> segments;
  JobBatch batch;
};

Result<std::shared_ptr<BatchOfJobs>> ParseMany(Call& call) {
  TRY(std::vector<JobRequest> requests, ParseBatch(call.request.body, OptionsOf(call)));
  auto jobs = std::make_shared<BatchOfJobs>();
  for (JobRequest& request : requests) {
    TRY_OK(ClaimUser(call.principal(), request));
    HashContent(request);
    jobs->segments.push_back(PackPayloads(request));
    jobs->folds.push_back(FoldOf(request.spec));
    jobs->specs.push_back(std::move(request.spec));
  }
  jobs->batch = {jobs->specs, jobs->folds};
  call.request.body = {};
  return jobs;
}

// A step of making all of them ready. True: they are.
Result<bool> StageSome(Round& round, BatchOfJobs& jobs) {
  const Result<void> room = RefuseNew(round);
  if (room.ok()) return round.engine.jobs().Stage(round.now, jobs.batch);
  round.engine.jobs().Unstage(jobs.batch);
  return room.error();
}

Result<std::vector<SubmitAnswer>> SubmitAll(Round& round, BatchOfJobs& jobs) {
  std::vector<JobId> ids;
  for (JobSpec& spec : jobs.specs) {
    ids.push_back(JobId{round.ids.Next(round.now.wall)});
    NameSet(spec, ids.back());
  }
  TRY(std::vector<SubmitAnswer> answers, round.engine.jobs().SubmitAll(round.now, ids, jobs.batch));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].existing) continue;
    round.Created(ids[i]);
    AddPayloads(round, jobs.segments[i], ids[i]);
  }
  return answers;
}

}  // namespace

Flow SubmitJob(Call call) {
  const WallTime began = BeganAt(call.server);
  CO_TRY_OK(ParseNoQuery(call.request.query));
  if (call.request.body.size() > kLongBodyBytes) co_await OnParseLane(call);
  const bool brief = call.request.body.size() <= kBriefBodyBytes;
  CO_TRY(OneJob job, ParseOne(call));
  const std::string trace = call.server.spans ? job.spec.trace : std::string();
  RoundHere round = co_await (brief ? LookBriefly(call) : Look(call));
  CO_TRY(const Submitted& submitted, SubmitWhole(*round, job.spec, job.segments));
  co_await AfterCommit(round);
  EndSubmit(call, began, trace, submitted.answer);
  co_return AnswerOf(call, submitted);
}

Flow SubmitBatch(Call call) {
  const WallTime began = BeganAt(call.server);
  if (call.request.body.size() > kLongBatchBytes) co_await OnParseLane(call);
  CO_TRY(const std::shared_ptr<BatchOfJobs> jobs, ParseMany(call));
  call.parsed = jobs;
  // Each command makes some of them ready: others need not wait for all.
  RoundHere round = co_await Look(call);
  for (;;) {
    CO_TRY(const bool ready, StageSome(*round, *jobs));
    if (ready) break;
    round = co_await Look(call);
  }
  CO_TRY(const std::vector<SubmitAnswer> answers, SubmitAll(*round, *jobs));
  co_await AfterCommit(round);
  for (std::size_t i = 0; i < answers.size(); ++i) EndSubmit(call, began, jobs->specs[i].trace, answers[i]);
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kSubmittedBatch>(json).List("jobs", answers, AppendSubmitItem);
  }
  co_return Answer(201, std::move(out));
}

}  // namespace allot
