// POST /v1/queues/Q/jobs/cancel, /pause, /resume, /retry: the same for all jobs that a filter finds.
#include <memory>
#include <utility>

#include "engine/job_sweep.h"
#include "server/api/stepped_walk.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/ops/log.h"
#include "server/wire/request_query.h"
#include "server/wire/sweep_json.h"

namespace allot {
namespace {

constexpr WalkBounds kSweepBounds{
    .most_time = std::chrono::seconds(30), .most_at_once = 2, .busy = "others are changing many jobs at the moment"};

void Sweep(Call call, SweepAction action, std::string_view verb) {
  const Principal& principal = call.principal();
  // All jobs of a token's own user are its own.
  const Result<void> may = principal.user ? RequireEither(principal, Scope::kSubmit, Scope::kOperate)
                                          : RequireScope(principal, Scope::kOperate);
  if (!may.ok()) return call.Fail(may.error());
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  Result<ManyJobs> many = ParseManyJobs(call.request.body);
  if (!many.ok()) return call.Fail(many.error());
  // As a list of them is.
  JobQuery seen;
  seen.user = many->request.user;
  const Result<void> narrowed = NarrowToSeen(principal, seen);
  if (!narrowed.ok()) return call.Fail(narrowed.error());
  many->request.user = seen.user;
  if (!many->dry_run) many->request.action = action;
  WalkBounds bounds = kSweepBounds;
  bounds.changes = !many->dry_run;
  auto& under_way = call.server.sweeps;
  auto render = [who = call.request.principal, queue = call.queue->name(), verb, body = call.request.body,
                 dry_run = many->dry_run](const JobSweep& sweep, Duration took, std::string& out) {
    if (!dry_run) Audit(*who, "jobs." + std::string(verb), queue, body);
    AppendSweep(sweep, dry_run, took, out);
  };
  WalkInSteps(std::move(call), under_way, bounds, std::make_unique<JobSweep>(std::move(many->request)),
              std::move(render));
}

}  // namespace

void CancelJobs(Call call) { Sweep(std::move(call), SweepAction::kCancel, "cancel"); }
void PauseJobs(Call call) { Sweep(std::move(call), SweepAction::kPause, "pause"); }
void ResumeJobs(Call call) { Sweep(std::move(call), SweepAction::kResume, "resume"); }
void RetryJobs(Call call) { Sweep(std::move(call), SweepAction::kRetry, "retry"); }

}  // namespace allot
