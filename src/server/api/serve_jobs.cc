// /v1/queues/Q/jobs…: submitting, looking, changing.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/looks/view_bounds.h"
#include "server/api/payload_packer.h"
#include "server/net/call.h"
#include "server/ops/access.h"
#include "server/ops/clock.h"
#include "server/ops/log.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

void AddPayloads(Round& round, std::vector<PayloadSegment>& segments, JobId set) {
  for (PayloadSegment& segment : segments) {
    segment.set = set;
    round.batch.payloads.push_back(std::move(segment));
  }
}

void NameSet(JobSpec& spec, JobId id) {
  if (spec.payload.common || spec.payload.per_task) spec.payload.set = id;
}

// Longer bodies are parsed apart: no network thread stands still for them. A batch has many expressions, and each may
// take its time.
constexpr std::size_t kLongBodyBytes = 64 * 1024;
constexpr std::size_t kLongBatchBytes = 1024;
// One of this may run on the network thread.
constexpr std::size_t kLightBodyBytes = 16 * 1024;

struct OneJob {
  std::size_t bytes = 0;  // of the body that it came in
  JobSpec spec;
  std::vector<PayloadSegment> segments;
};

// All that is needed of the body, which goes then.
Result<OneJob> ParseOne(Call& call) {
  Result<JobRequest> request = ParseJobSpec(call.request.body, OptionsOf(call));
  if (!request.ok()) return request.error();
  const Result<void> claimed = ClaimUser(call.principal(), *request);
  if (!claimed.ok()) return claimed.error();
  HashContent(*request);
  OneJob job;
  job.bytes = call.request.body.size();
  job.segments = PackPayloads(*request);
  job.spec = std::move(request->spec);
  call.request.body = {};
  return job;
}

void SubmitOne(Call call, OneJob job) {
  const bool light = job.bytes <= kLightBodyBytes;
  AskEngine(
      std::move(call),
      [spec = std::move(job.spec), segments = std::move(job.segments)](Round& round, Call c) mutable {
        if (std::optional<Error> refused = RefuseNew(round))
          return AnswerError(round, std::move(c), std::move(*refused));
        const JobId id{round.ids.Next(round.now.wall)};
        NameSet(spec, id);
        const Result<SubmitAnswer> answer = round.engine.Submit(round.now, id, spec);
        if (!answer.ok()) return AnswerError(round, std::move(c), answer.error());
        if (!answer->existing) {
          round.Created(id);
          AddPayloads(round, segments, id);
        }
        Result<JobView> view = round.engine.looks().Describe(answer->job);
        if (!view.ok()) return AnswerError(round, std::move(c), view.error());
        Answer(round, std::move(c), answer->existing ? 200 : 201,
               [answer = *answer, view = std::move(*view)](Call& done, std::string& out) {
                 AppendSubmitted(answer, view, done.queue->name(), out);
               });
      },
      light);
}

}  // namespace

void SubmitJob(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  if (call.request.body.size() > kLongBodyBytes) return ParseApart(std::move(call), ParseOne, SubmitOne);
  Result<OneJob> job = ParseOne(call);
  if (!job.ok()) return call.Fail(job.error());
  SubmitOne(std::move(call), std::move(*job));
}

namespace {

struct BatchOfJobs {
  std::vector<JobSpec> specs;
  std::vector<JobFold> folds;  // not on the engine thread, which all wait for
  std::vector<std::vector<PayloadSegment>> segments;
  JobBatch batch;
};

Result<BatchOfJobs> ParseMany(Call& call) {
  Result<std::vector<JobRequest>> requests = ParseBatch(call.request.body, OptionsOf(call));
  if (!requests.ok()) return requests.error();
  BatchOfJobs jobs;
  for (JobRequest& request : *requests) {
    const Result<void> claimed = ClaimUser(call.principal(), request);
    if (!claimed.ok()) return claimed.error();
    HashContent(request);
    jobs.segments.push_back(PackPayloads(request));
    jobs.folds.push_back(FoldOf(request.spec));
    jobs.specs.push_back(std::move(request.spec));
  }
  call.request.body = {};
  return jobs;
}

// Each command makes some of them ready: others need not wait for all.
void SubmitStaged(Round& round, Call call, BatchOfJobs& jobs) {
  if (std::optional<Error> refused = RefuseNew(round)) {
    round.engine.Unstage(jobs.batch);
    return AnswerError(round, std::move(call), std::move(*refused));
  }
  const Result<bool> ready = round.engine.Stage(round.now, jobs.batch);
  if (!ready.ok()) return AnswerError(round, std::move(call), ready.error());
  if (!*ready) {
    const QueuePtr queue = call.queue;
    const AskerId asker = call.asker();
    auto next = [call = std::move(call), &jobs](Round& later) mutable { SubmitStaged(later, std::move(call), jobs); };
    queue->Post(Command::Look(std::move(next)).By(asker));
    return;
  }
  std::vector<JobId> ids;
  for (JobSpec& spec : jobs.specs) {
    ids.push_back(JobId{round.ids.Next(round.now.wall)});
    NameSet(spec, ids.back());
  }
  Result<std::vector<SubmitAnswer>> answers = round.engine.SubmitAll(round.now, ids, jobs.batch);
  if (!answers.ok()) return AnswerError(round, std::move(call), answers.error());
  for (std::size_t i = 0; i < answers->size(); ++i) {
    if ((*answers)[i].existing) continue;
    round.Created(ids[i]);
    AddPayloads(round, jobs.segments[i], ids[i]);
  }
  Answer(round, std::move(call), 201, [answers = std::move(*answers)](Call&, std::string& out) {
    out.append("{\"jobs\":[");
    for (const SubmitAnswer& answer : answers) {
      if (out.back() != '[') out.push_back(',');
      AppendSubmitItem(answer, out);
    }
    out.append("]}");
  });
}

void SubmitMany(Call call, BatchOfJobs parsed) {
  auto jobs = std::make_shared<BatchOfJobs>(std::move(parsed));
  jobs->batch = {jobs->specs, jobs->folds};
  call.parsed = jobs;
  AskEngine(std::move(call), [&jobs = *jobs](Round& round, Call c) { SubmitStaged(round, std::move(c), jobs); });
}

}  // namespace

void SubmitBatch(Call call) {
  if (call.request.body.size() > kLongBatchBytes) return ParseApart(std::move(call), ParseMany, SubmitMany);
  Result<BatchOfJobs> jobs = ParseMany(call);
  if (!jobs.ok()) return call.Fail(jobs.error());
  SubmitMany(std::move(call), std::move(*jobs));
}

void ListJobs(Call call) {
  Result<JobQuery> query = ParseJobQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  const Result<void> narrowed = NarrowToSeen(call.principal(), *query);
  if (!narrowed.ok()) return call.Fail(narrowed.error());
  BrowseEngine(std::move(call), [query = std::move(*query)](Round& round, Call c) {
    JobPage found = round.engine.looks().List(query);
    std::erase_if(found.jobs, [&](const JobView& job) { return !round.MayList(job.id); });
    for (const JobView& job : found.jobs) round.DependsOn(job.id);
    AnswerApart(round, std::move(c), [page = std::move(found)](const Call& done, std::string& out) {
      out.append("{\"jobs\":[");
      std::optional<JobId> next = page.next;
      for (const JobView& job : page.jobs) {
        if (out.back() != '[') out.push_back(',');
        AppendJob(job, done.queue->name(), out);
        if (out.size() >= kMaxPageBytes && &job != &page.jobs.back()) {
          next = job.id;
          break;
        }
      }
      out.append("],\"next\":");
      if (next)
        out.append("\"" + ToText(*next) + "\"}");
      else
        out.append("null}");
    });
  });
}

namespace {

void AnswerJob(Round& round, Call call, JobView view) {
  Answer(round, std::move(call), 200,
         [view = std::move(view)](Call& done, std::string& out) { AppendJob(view, done.queue->name(), out); });
}

// GET …/jobs/ID?wait_ms=
class EndWait final : public JobWatcher {
 public:
  EndWait(Call call, Instant deadline) : call_(std::move(call)), deadline_(deadline) {}
  Next Look(Round& round, JobId job, News) override {
    Result<JobView> view = round.engine.looks().Describe(job);
    if (view.ok())
      AnswerJob(round, std::move(call_), std::move(*view));
    else
      AnswerError(round, std::move(call_), view.error());
    return Next::kGo;
  }
  void OnQueueGone(Round& round, const Error& why) override { AnswerError(round, std::move(call_), why); }
  std::optional<Instant> deadline() const override { return deadline_; }

 private:
  Call call_;
  const Instant deadline_;
};

}  // namespace

void ShowJob(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  const Result<milliseconds> wait = ParseWaitQuery(call.request.query);
  if (!wait.ok()) return call.Fail(wait.error());
  if (wait->count() > 0) {
    // Should the client go away, nobody waits any more.
    call.reply.OnAbort([queue = call.queue, &net = call.reply.net(), owner = call.reply.owner(), asker = call.asker()] {
      net.Tell(queue, Command::Look([owner](Round& round) { round.waits.RemoveOwner(round.engine, owner); }).By(asker));
    });
  }
  AskEngine(std::move(call), [name = *name, wait = *wait](Round& round, Call c) {
    Result<JobView> view = FindJob(round, c, name);
    if (!view.ok()) return AnswerError(round, std::move(c), view.error());
    if (wait.count() == 0 || Ended(view->state) || round.stopping)
      return AnswerJob(round, std::move(c), std::move(*view));
    const Result<void> admitted = round.waits.Admit(round, view->id);
    if (!admitted.ok()) return AnswerError(round, std::move(c), admitted.error());
    const std::uint64_t owner = c.reply.owner();
    round.waits.Add(round, view->id, owner, std::make_unique<EndWait>(std::move(c), round.now.mono + wait), false);
  });
}

namespace {

// What changes a job: `apply` on the engine thread, then the job as it is then.
template <typename F>
void Apply(Call call, JobName name, std::string_view action, F apply) {
  OnEngine(std::move(call), [name, action, apply = std::move(apply)](Round& round, Call c) mutable {
    const Result<JobView> found = FindOwnJob(round, c, name);
    if (!found.ok()) return AnswerError(round, std::move(c), found.error());
    round.Touch(found->id);
    const Result<void> changed = apply(round, found->id);
    if (!changed.ok()) return AnswerError(round, std::move(c), changed.error());
    Result<JobView> view = round.engine.looks().Describe(found->id);
    if (!view.ok()) return AnswerError(round, std::move(c), view.error());
    Answer(round, std::move(c), 200, [action, view = std::move(*view)](Call& done, std::string& out) {
      Audit(done.principal(), action, done.queue->name() + "/" + ToText(view.id));
      AppendJob(view, done.queue->name(), out);
    });
  });
}

// The job's name, where nothing else is asked.
Result<JobName> NameAlone(const Call& call) {
  Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return name;
  const Result<void> empty = ParseEmptyBody(call.request.body);
  if (!empty.ok()) return empty.error();
  return name;
}

}  // namespace

void ChangeJob(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  Result<JobChange> change = ParseJobChange(call.request.body, ReadClock().wall, call.queue->property_keys());
  if (!change.ok()) return call.Fail(change.error());
  Apply(std::move(call), *name, "job.set",
        [change = std::move(*change)](Round& round, JobId job) { return round.engine.Change(round.now, job, change); });
}

void CancelJob(Call call) {
  const Result<JobName> name = NameAlone(call);
  if (!name.ok()) return call.Fail(name.error());
  Apply(std::move(call), *name, "job.cancel",
        [](Round& round, JobId job) { return round.engine.Cancel(round.now, job); });
}

void PauseJob(Call call) {
  const Result<JobName> name = NameAlone(call);
  if (!name.ok()) return call.Fail(name.error());
  Apply(std::move(call), *name, "job.pause",
        [](Round& round, JobId job) { return round.engine.Pause(round.now, job); });
}

void ResumeJob(Call call) {
  const Result<JobName> name = NameAlone(call);
  if (!name.ok()) return call.Fail(name.error());
  Apply(std::move(call), *name, "job.resume",
        [](Round& round, JobId job) { return round.engine.Resume(round.now, job); });
}

void RetryJob(Call call) {
  const Result<JobName> name = NameAlone(call);
  if (!name.ok()) return call.Fail(name.error());
  OnEngine(std::move(call), [name = *name](Round& round, Call c) {
    const Result<JobView> found = FindOwnJob(round, c, name);
    if (!found.ok()) return AnswerError(round, std::move(c), found.error());
    if (std::optional<Error> refused = RefuseNew(round)) return AnswerError(round, std::move(c), std::move(*refused));
    round.Touch(found->id);
    const Result<std::uint32_t> retried = round.engine.Retry(round.now, found->id);
    if (!retried.ok()) return AnswerError(round, std::move(c), retried.error());
    Result<JobView> view = round.engine.looks().Describe(found->id);
    if (!view.ok()) return AnswerError(round, std::move(c), view.error());
    Answer(round, std::move(c), 200, [retried = *retried, view = std::move(*view)](Call& done, std::string& out) {
      Audit(done.principal(), "job.retry", done.queue->name() + "/" + ToText(view.id));
      out.append("{\"job\":");
      AppendJob(view, done.queue->name(), out);
      out.append(",\"retried\":").append(std::to_string(retried)).append("}");
    });
  });
}

}  // namespace allot
