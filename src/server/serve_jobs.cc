// /v1/queues/Q/jobs…: submitting, looking, changing.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/view_bounds.h"
#include "server/access.h"
#include "server/call.h"
#include "server/clock.h"
#include "server/log.h"
#include "server/payload_packer.h"
#include "server/reply_json.h"
#include "server/request_json.h"
#include "server/request_query.h"
#include "server/wait_table.h"

namespace allot {
namespace {

void AddPayloads(Turn& turn, std::vector<PayloadSegment>& segments, JobId set) {
  for (PayloadSegment& segment : segments) {
    segment.set = set;
    turn.batch.payloads.push_back(std::move(segment));
  }
}

void NameSet(JobSpec& spec, JobId id) {
  if (spec.payload.common || spec.payload.per_task) spec.payload.set = id;
}

// Longer bodies are parsed apart: no network thread stands still for them. A batch has many expressions, and each may
// take its time.
constexpr std::size_t kLongBodyBytes = 64 * 1024;
constexpr std::size_t kLongBatchBytes = 1024;

struct OneJob {
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
  job.segments = PackPayloads(*request);
  job.spec = std::move(request->spec);
  call.request.body = {};
  return job;
}

void SubmitOne(Call call, OneJob job) {
  AskEngine(std::move(call),
            [spec = std::move(job.spec), segments = std::move(job.segments)](Turn& turn, Call c) mutable {
              if (std::optional<Error> refused = RefuseNew(turn))
                return AnswerError(turn, std::move(c), std::move(*refused));
              const JobId id{turn.ids.Next(turn.now.wall)};
              NameSet(spec, id);
              const Result<SubmitAnswer> answer = turn.engine.Submit(turn.now, id, spec);
              if (!answer.ok()) return AnswerError(turn, std::move(c), answer.error());
              if (!answer->existing) {
                turn.Created(id);
                AddPayloads(turn, segments, id);
              }
              Result<JobView> view = turn.engine.Describe(answer->job);
              if (!view.ok()) return AnswerError(turn, std::move(c), view.error());
              Answer(turn, std::move(c), answer->existing ? 200 : 201,
                     [answer = *answer, view = std::move(*view)](Call& done, std::string& out) {
                       AppendSubmitted(answer, view, done.queue->name(), out);
                     });
            });
}

void Submit(Call call) {
  const Result<void> may = RequireScope(call.principal(), Scope::kSubmit);
  if (!may.ok()) return call.Fail(may.error());
  if (call.request.body.size() > kLongBodyBytes) return ParseApart(std::move(call), ParseOne, SubmitOne);
  Result<OneJob> job = ParseOne(call);
  if (!job.ok()) return call.Fail(job.error());
  SubmitOne(std::move(call), std::move(*job));
}

struct BatchOfJobs {
  std::vector<JobSpec> specs;
  std::vector<JobFold> folds;  // not on the engine thread, which all wait for
  std::vector<std::vector<PayloadSegment>> segments;
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
    jobs.folds.push_back(Engine::FoldOf(request.spec));
    jobs.specs.push_back(std::move(request.spec));
  }
  call.request.body = {};
  return jobs;
}

void SubmitMany(Call call, BatchOfJobs jobs) {
  AskEngine(std::move(call), [specs = std::move(jobs.specs), folds = std::move(jobs.folds),
                              segments = std::move(jobs.segments)](Turn& turn, Call c) mutable {
    if (std::optional<Error> refused = RefuseNew(turn)) return AnswerError(turn, std::move(c), std::move(*refused));
    std::vector<JobId> ids;
    for (JobSpec& spec : specs) {
      ids.push_back(JobId{turn.ids.Next(turn.now.wall)});
      NameSet(spec, ids.back());
    }
    Result<std::vector<SubmitAnswer>> answers = turn.engine.SubmitAll(turn.now, ids, specs, folds);
    if (!answers.ok()) return AnswerError(turn, std::move(c), answers.error());
    for (std::size_t i = 0; i < answers->size(); ++i) {
      if ((*answers)[i].existing) continue;
      turn.Created(ids[i]);
      AddPayloads(turn, segments[i], ids[i]);
    }
    Answer(turn, std::move(c), 201, [answers = std::move(*answers)](Call&, std::string& out) {
      out.append("{\"jobs\":[");
      for (const SubmitAnswer& answer : answers) {
        if (out.back() != '[') out.push_back(',');
        AppendSubmitItem(answer, out);
      }
      out.append("]}");
    });
  });
}

void SubmitBatch(Call call) {
  if (call.request.method != Method::kPost) return call.Fail(WrongMethod(call.request, "POST"));
  const Result<void> may = RequireScope(call.principal(), Scope::kSubmit);
  if (!may.ok()) return call.Fail(may.error());
  if (call.request.body.size() > kLongBatchBytes) return ParseApart(std::move(call), ParseMany, SubmitMany);
  Result<BatchOfJobs> jobs = ParseMany(call);
  if (!jobs.ok()) return call.Fail(jobs.error());
  SubmitMany(std::move(call), std::move(*jobs));
}

void List(Call call) {
  const Result<void> may = RequireScope(call.principal(), Scope::kRead);
  if (!may.ok()) return call.Fail(may.error());
  Result<JobQuery> query = ParseJobQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  const Result<void> narrowed = NarrowToSeen(call.principal(), *query);
  if (!narrowed.ok()) return call.Fail(narrowed.error());
  BrowseEngine(std::move(call), [query = std::move(*query)](Turn& turn, Call c) {
    JobPage found = turn.engine.List(query);
    std::erase_if(found.jobs, [&](const JobView& job) { return !turn.MayList(job.id); });
    for (const JobView& job : found.jobs) turn.Tells(job.id);
    AnswerApart(turn, std::move(c), [page = std::move(found)](const Call& done, std::string& out) {
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

void AnswerJob(Turn& turn, Call call, JobView view) {
  Answer(turn, std::move(call), 200,
         [view = std::move(view)](Call& done, std::string& out) { AppendJob(view, done.queue->name(), out); });
}

// GET …/jobs/ID?wait_ms=
class EndWait final : public JobWatcher {
 public:
  EndWait(Call call, Instant deadline) : call_(std::move(call)), deadline_(deadline) {}
  Next Look(Turn& turn, JobId job, News) override {
    Result<JobView> view = turn.engine.Describe(job);
    if (view.ok())
      AnswerJob(turn, std::move(call_), std::move(*view));
    else
      AnswerError(turn, std::move(call_), view.error());
    return Next::kGo;
  }
  void OnQueueGone(Turn& turn, const Error& why) override { AnswerError(turn, std::move(call_), why); }
  std::optional<Instant> deadline() const override { return deadline_; }

 private:
  Call call_;
  const Instant deadline_;
};

void Show(Call call, JobName name) {
  const Result<void> may = RequireScope(call.principal(), Scope::kRead);
  if (!may.ok()) return call.Fail(may.error());
  const Result<milliseconds> wait = ParseWaitQuery(call.request.query);
  if (!wait.ok()) return call.Fail(wait.error());
  if (wait->count() > 0) {
    // Should the client go away, nobody waits any more.
    call.reply.OnAbort([queue = call.queue, &net = call.reply.net(), owner = call.reply.owner(), asker = call.asker()] {
      net.Tell(queue, Command::Look([owner](Turn& turn) { turn.waits.RemoveOwner(turn.engine, owner); }).By(asker));
    });
  }
  AskEngine(std::move(call), [name, wait = *wait](Turn& turn, Call c) {
    Result<JobView> view = FindJob(turn, c, name);
    if (!view.ok()) return AnswerError(turn, std::move(c), view.error());
    if (wait.count() == 0 || Ended(view->state) || turn.stopping)
      return AnswerJob(turn, std::move(c), std::move(*view));
    const Result<void> admitted = turn.waits.Admit(turn, view->id);
    if (!admitted.ok()) return AnswerError(turn, std::move(c), admitted.error());
    const std::uint64_t owner = c.reply.owner();
    turn.waits.Add(turn, view->id, owner, std::make_unique<EndWait>(std::move(c), turn.now.mono + wait), false);
  });
}

// What changes a job: `apply` on the engine thread, then the job as it is then.
template <typename F>
void ChangeJob(Call call, JobName name, std::string_view action, F apply) {
  const Result<void> may = RequireEither(call.principal(), Scope::kSubmit, Scope::kOperate);
  if (!may.ok()) return call.Fail(may.error());
  OnEngine(std::move(call), [name, action, apply = std::move(apply)](Turn& turn, Call c) mutable {
    const Result<JobView> found = FindOwnJob(turn, c, name);
    if (!found.ok()) return AnswerError(turn, std::move(c), found.error());
    turn.Touch(found->id);
    const Result<void> changed = apply(turn, found->id);
    if (!changed.ok()) return AnswerError(turn, std::move(c), changed.error());
    Result<JobView> view = turn.engine.Describe(found->id);
    if (!view.ok()) return AnswerError(turn, std::move(c), view.error());
    Answer(turn, std::move(c), 200, [action, view = std::move(*view)](Call& done, std::string& out) {
      Audit(done.principal(), action, done.queue->name() + "/" + ToText(view.id));
      AppendJob(view, done.queue->name(), out);
    });
  });
}

void Change(Call call, JobName name) {
  Result<JobChange> change = ParseJobChange(call.request.body, ReadClock().wall, call.queue->property_keys());
  if (!change.ok()) return call.Fail(change.error());
  ChangeJob(std::move(call), name, "job.set",
            [change = std::move(*change)](Turn& turn, JobId job) { return turn.engine.Change(turn.now, job, change); });
}

void Retry(Call call, JobName name) {
  const Result<void> may = RequireEither(call.principal(), Scope::kSubmit, Scope::kOperate);
  if (!may.ok()) return call.Fail(may.error());
  OnEngine(std::move(call), [name](Turn& turn, Call c) {
    const Result<JobView> found = FindOwnJob(turn, c, name);
    if (!found.ok()) return AnswerError(turn, std::move(c), found.error());
    if (std::optional<Error> refused = RefuseNew(turn)) return AnswerError(turn, std::move(c), std::move(*refused));
    turn.Touch(found->id);
    const Result<std::uint32_t> retried = turn.engine.Retry(turn.now, found->id);
    if (!retried.ok()) return AnswerError(turn, std::move(c), retried.error());
    Result<JobView> view = turn.engine.Describe(found->id);
    if (!view.ok()) return AnswerError(turn, std::move(c), view.error());
    Answer(turn, std::move(c), 200, [retried = *retried, view = std::move(*view)](Call& done, std::string& out) {
      Audit(done.principal(), "job.retry", done.queue->name() + "/" + ToText(view.id));
      out.append("{\"job\":");
      AppendJob(view, done.queue->name(), out);
      out.append(",\"retried\":").append(std::to_string(retried)).append("}");
    });
  });
}

void Act(Call call, JobName name, std::string_view verb) {
  if (verb != "cancel" && verb != "pause" && verb != "resume" && verb != "retry")
    return call.Fail(NoSuchPath(call.request));
  if (verb != "cancel" && verb != "pause" && verb != "resume" && verb != "retry")
    return call.Fail(NoSuchPath(call.request));
  if (call.request.method != Method::kPost) return call.Fail(WrongMethod(call.request, "POST"));
  const Result<void> empty = ParseEmptyBody(call.request.body);
  if (!empty.ok()) return call.Fail(empty.error());
  if (verb == "cancel") {
    return ChangeJob(std::move(call), name, "job.cancel",
                     [](Turn& turn, JobId job) { return turn.engine.Cancel(turn.now, job); });
  }
  if (verb == "pause") {
    return ChangeJob(std::move(call), name, "job.pause",
                     [](Turn& turn, JobId job) { return turn.engine.Pause(turn.now, job); });
  }
  if (verb == "resume") {
    return ChangeJob(std::move(call), name, "job.resume",
                     [](Turn& turn, JobId job) { return turn.engine.Resume(turn.now, job); });
  }
  Retry(std::move(call), name);
}

}  // namespace

void ServeJobs(Call call) {
  const std::vector<std::string>& parts = call.request.parts;
  if (parts.size() == 4) {
    if (call.request.method == Method::kGet) return List(std::move(call));
    if (call.request.method == Method::kPost) {
      const Result<void> none = ParseNoQuery(call.request.query);
      if (!none.ok()) return call.Fail(none.error());
      return Submit(std::move(call));
    }
    return call.Fail(WrongMethod(call.request, "GET, POST"));
  }
  if (parts.size() == 5 && parts[4] == "batch") return SubmitBatch(std::move(call));
  if (parts.size() > 6) return call.Fail(NoSuchPath(call.request));
  const Result<JobName> name = ParseJobName(parts[4]);
  if (!name.ok()) return call.Fail(name.error());
  if (parts.size() == 5) {
    if (call.request.method == Method::kGet) return Show(std::move(call), *name);
    if (call.request.method == Method::kPatch) return Change(std::move(call), *name);
    return call.Fail(WrongMethod(call.request, "GET, PATCH"));
  }
  const std::string verb = parts[5];
  Act(std::move(call), *name, verb);
}

}  // namespace allot
