// SPDX-License-Identifier: Apache-2.0
// POST /v1/queues/Q/jobs/cancel, /pause, /resume, /retry: the same for all jobs that a filter finds.
#include <string>
#include <utility>

#include "engine/job_sweep.h"
#include "server/api/stepped_walk.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/wire/request_query.h"
#include "server/wire/sweep_json.h"

namespace allot {
namespace {

Flow Sweep(Call call, SweepAction action, std::string_view verb) {
  const Principal& principal = call.principal();
  // All jobs of a token's own user are its own.
  CO_TRY_OK(principal.user ? RequireEither(principal, Scope::kSubmit, Scope::kOperate)
                           : RequireScope(principal, Scope::kOperate));
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(ManyJobs many, ParseManyJobs(call.request.body));
  // As a list of them is.
  JobQuery seen;
  seen.user = many.request.user;
  CO_TRY_OK(NarrowToSeen(principal, seen));
  many.request.user = seen.user;
  if (!many.dry_run) many.request.action = action;
  CO_TRY(const Admission::Entry place, Admit(call.server.sweeps, call, "others are changing many jobs at the moment"));
  const WalkBounds bounds{.most_time = std::chrono::seconds(30), .changes = !many.dry_run};
  JobSweep sweep(std::move(many.request));
  CO_TRY(const Duration took, co_await WalkToAnswer(call, sweep, bounds));
  if (!many.dry_run) {
    Audit(call.principal(), "jobs." + std::string(verb), call.queue->name(), call.request.body);
  }
  std::string out;
  AppendSweep(sweep, many.dry_run, took, out);
  co_return Answer(200, std::move(out));
}

}  // namespace

Flow CancelJobs(Call call) { return Sweep(std::move(call), SweepAction::kCancel, "cancel"); }
Flow PauseJobs(Call call) { return Sweep(std::move(call), SweepAction::kPause, "pause"); }
Flow ResumeJobs(Call call) { return Sweep(std::move(call), SweepAction::kResume, "resume"); }
Flow RetryJobs(Call call) { return Sweep(std::move(call), SweepAction::kRetry, "retry"); }

}  // namespace allot
