// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/jobs…: looking at jobs, and changing them. Submitting is in serve_submit.cc.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/try.h"
#include "engine/looks/view_bounds.h"
#include "server/flow/job_news.h"
#include "server/flow/places.h"
#include "server/ops/access.h"
#include "server/ops/clock.h"
#include "server/ops/log.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/jobs.h"
#include "wire/writer.h"

namespace allot {
namespace {

Answer JobAnswer(const Call& call, const JobView& view, const std::optional<std::string>& payload = std::nullopt) {
  std::string out;
  AppendJob(view, call.queue->name(), out, payload);
  return Answer(200, std::move(out));
}

std::string JobsText(const JobPage& page, const std::string& queue) {
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kJobsPage> w(json);
    JobId next = page.next.value_or(JobId{});
    w.List("jobs", page.jobs, [&](const JobView& job, std::string& to) {
      AppendJob(job, queue, to);
      if (to.size() < kMaxPageBytes || &job == &page.jobs.back()) return true;
      next = job.id;
      return false;
    });
    w.IdOrNull("next", next.value);
  }
  return out;
}

std::string RetriedText(const JobView& view, const std::string& queue, std::uint32_t retried) {
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kRetried> w(json);
    AppendJob(view, queue, w.Place("job"));
    w.Count("retried", retried);
  }
  return out;
}

}  // namespace

Flow ListJobs(Call call) {
  CO_TRY(JobQuery query, ParseJobQuery(call.request.query));
  CO_TRY_OK(NarrowToSeen(call.principal(), query));
  RoundHere round = co_await Browse(call);
  JobPage page = round->engine.looks().List(query);
  std::erase_if(page.jobs, [&](const JobView& job) { return !round->MayList(job.id); });
  for (const JobView& job : page.jobs) round->DependsOn(job.id);
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  co_return Answer(200, JobsText(page, call.queue->name()));
}

// GET …/jobs/ID?wait_ms=
Flow ShowJob(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY(const ShowQuery query, ParseShowQuery(call.request.query));
  const milliseconds wait = query.wait;
  if (wait.count() > 0) WaitNoLongerThanClient(call);
  RoundHere round = co_await Look(call);
  Result<JobView> view = FindJob(*round, call, name);
  if (!view.ok()) co_return view.error();
  if (wait.count() > 0 && !Ended(view->state) && !round->stopping) {
    const JobId id = view->id;
    CO_TRY_OK(round->waits.Admit(*round, id));
    co_await JobEnd(round, id, round->now.mono + wait);
    view = round->engine.looks().Describe(id);
    if (!view.ok()) co_return view.error();
  }
  co_await AfterCommit(round);
  std::optional<std::string> payload;
  // Whoever sees a job sees what its tasks were given, too.
  if (query.payload && view->payload.common) {
    CO_TRY(payload, call.queue->store().ReadPayload(view->payload.set, kCommonPayload));
  }
  co_return JobAnswer(call, *view, payload);
}

namespace {

// The job's name, where nothing else is asked.
Result<JobName> NameAlone(const Call& call) {
  TRY(const JobName name, ParseJobName(call.part("job")));
  TRY_OK(ParseEmptyBody(call.request.body));
  return name;
}

// What changes a job: `change` on the engine thread, and the job as it is then.
template <typename Change>
Result<JobView> ChangeOwnJob(Round& round, const Call& call, const JobName& name, Change change) {
  TRY(const JobView& found, FindOwnJob(round, call, name));
  round.Touch(found.id);
  TRY_OK(change(found.id));
  return round.engine.looks().Describe(found.id);
}

void AuditJob(const Call& call, std::string_view action, JobId job) {
  Audit(call.principal(), action, call.queue->name() + "/" + ToText(job));
}

// One that needs no more than the job's name.
Flow ChangeByName(Call call, std::string_view action, Result<void> (JobCommands::*change)(const Now&, JobId)) {
  CO_TRY(const JobName name, NameAlone(call));
  RoundHere round = co_await OnEngine(call);
  CO_TRY(const JobView& view,
         ChangeOwnJob(*round, call, name, [&](JobId job) { return (round->engine.jobs().*change)(round->now, job); }));
  co_await AfterCommit(round);
  AuditJob(call, action, view.id);
  co_return JobAnswer(call, view);
}

}  // namespace

Flow ChangeJob(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY(const JobChange change, ParseJobChange(call.request.body, ReadClock().wall, call.queue->property_keys()));
  RoundHere round = co_await OnEngine(call);
  CO_TRY(const JobView& view, ChangeOwnJob(*round, call, name, [&](JobId job) {
           return round->engine.jobs().Change(round->now, job, change);
         }));
  co_await AfterCommit(round);
  AuditJob(call, "job.set", view.id);
  co_return JobAnswer(call, view);
}

Flow CancelJob(Call call) { return ChangeByName(std::move(call), "job.cancel", &JobCommands::Cancel); }
Flow PauseJob(Call call) { return ChangeByName(std::move(call), "job.pause", &JobCommands::Pause); }
Flow ResumeJob(Call call) { return ChangeByName(std::move(call), "job.resume", &JobCommands::Resume); }

Flow RetryJob(Call call) {
  CO_TRY(const JobName name, NameAlone(call));
  RoundHere round = co_await OnEngine(call);
  CO_TRY(const JobView& found, FindOwnJob(*round, call, name));
  CO_TRY_OK(RefuseNew(*round));
  round->Touch(found.id);
  CO_TRY(const std::uint32_t retried, round->engine.jobs().Retry(round->now, found.id));
  CO_TRY(const JobView& view, round->engine.looks().Describe(found.id));
  co_await AfterCommit(round);
  AuditJob(call, "job.retry", view.id);
  co_return Answer(200, RetriedText(view, call.queue->name(), retried));
}

}  // namespace allot
