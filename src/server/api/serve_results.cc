// /v1/queues/Q/jobs/ID/tasks…, /results, /events: what became of a job's tasks.
#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/json.h"
#include "engine/errors.h"
#include "server/live/event_stream.h"
#include "server/net/call.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/jobs.h"
#include "wire/writer.h"

namespace allot {
namespace {

// The outcomes of tasks from `from` on, before `end`; and where they end, if there was too much for one answer.
struct OutcomePage {
  std::vector<Outcome> outcomes;  // in order of index
  std::uint64_t end = 0;
};
Result<OutcomePage> ReadPage(Store& store, JobId job, TaskIndex from, std::uint64_t end) {
  constexpr std::size_t kMaxPageBytes = 8 << 20;
  OutcomePage page;
  page.end = end;
  std::size_t bytes = 0;
  Store::OutcomeQuery query;
  query.job = job;
  query.from = from;
  query.end = end;
  query.max_bytes = kMaxPageBytes;
  for (;;) {
    Result<std::vector<Outcome>> read = store.ReadOutcomes(query);
    if (!read.ok()) return read.error();
    if (read->empty()) return page;
    for (Outcome& outcome : *read) {
      bytes += outcome.text.size();
      page.outcomes.push_back(std::move(outcome));
    }
    const std::uint64_t next = static_cast<std::uint64_t>(page.outcomes.back().index) + 1;
    if (next >= end) return page;
    if (bytes >= kMaxPageBytes) {
      page.end = next;
      return page;
    }
    query.from = static_cast<TaskIndex>(next);
  }
}

}  // namespace

void ListTasks(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  Result<TaskQuery> query = ParseTaskQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  BrowseEngine(std::move(call), [name = *name, query = std::move(*query)](Round& round, Call c) mutable {
    const Result<JobView> job = FindJob(round, c, name);
    if (!job.ok()) return AnswerError(round, std::move(c), job.error());
    query.job = job->id;
    Result<TaskPage> page = round.engine.looks().Tasks(query);
    if (!page.ok()) return AnswerError(round, std::move(c), page.error());
    AnswerApart(
        round, std::move(c),
        [job = job->id, page = std::move(*page)](const Call& done, std::string& out) -> Result<void> {
          std::vector<Outcome> outcomes;
          if (!page.tasks.empty()) {
            const TaskIndex from = page.tasks.front().index;
            const std::uint64_t end = static_cast<std::uint64_t>(page.tasks.back().index) + 1;
            // Tasks of one state may lie far apart: then each is looked up on its own.
            const bool dense = end - from <= 4 * page.tasks.size();
            for (std::size_t i = 0; i < (dense ? 1 : page.tasks.size()); ++i) {
              const TaskIndex own = page.tasks[i].index;
              Result<OutcomePage> found =
                  dense ? ReadPage(done.queue->store(), job, from, end)
                        : ReadPage(done.queue->store(), job, own, static_cast<std::uint64_t>(own) + 1);
              if (!found.ok()) return found.error();
              for (Outcome& outcome : found->outcomes) outcomes.push_back(std::move(outcome));
            }
          }
          JsonWriter json(out);
          wire::Writer<wire::kTasksPage> w(json);
          auto outcome = outcomes.begin();
          w.List("tasks", page.tasks, [&](const TaskView& task, std::string& to) {
            while (outcome != outcomes.end() && outcome->index < task.index) ++outcome;
            TaskExtra extra;
            if (outcome != outcomes.end() && outcome->index == task.index && outcome->kind == OutcomeKind::kError)
              extra.error = outcome->text;
            AppendTask(task, extra, to);
          });
          w.Count("next", page.next);
          return {};
        });
  });
}

void ShowTask(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  const std::string& text = call.part("index");
  TaskIndex index = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (ec != std::errc() || end != text.data() + text.size()) {
    return call.Fail({Code::kUnknownTask, "there is no task " + text.substr(0, 100), "an index is a number from 0 on"});
  }
  AskEngine(std::move(call), [name = *name, index](Round& round, Call c) {
    const Result<JobView> job = FindJob(round, c, name);
    if (!job.ok()) return AnswerError(round, std::move(c), job.error());
    const Result<TaskView> task = round.engine.looks().Task(job->id, index);
    if (!task.ok()) return AnswerError(round, std::move(c), task.error());
    Return(round, std::move(c), [job = job->id, ref = job->payload, task = *task](Call done) {
      Store& store = done.queue->store();
      TaskExtra extra;
      std::optional<std::string> payload;
      if (ref.per_task || ref.common) {
        Result<std::optional<std::string>> read =
            store.ReadPayload(ref.set, ref.per_task ? static_cast<std::int64_t>(task.index) : kCommonPayload);
        if (!read.ok()) return done.Fail(read.error());
        payload = std::move(*read);
        if (payload) extra.payload = *payload;
      }
      Store::OutcomeQuery query;
      query.job = job;
      query.from = task.index;
      query.end = static_cast<std::uint64_t>(task.index) + 1;
      query.max = 1;
      const Result<std::vector<Outcome>> outcomes = store.ReadOutcomes(query);
      if (!outcomes.ok()) return done.Fail(outcomes.error());
      for (const Outcome& outcome : *outcomes) {
        if (outcome.kind == OutcomeKind::kError)
          extra.error = outcome.text;
        else if (task.state == TaskState::kDone)
          extra.result = outcome.text;
      }
      std::string out;
      AppendTask(task, extra, out);
      done.reply.Send(200, out);
    });
  });
}

namespace {

// What the engine knows of a page of results: the states of tasks from `from` on that have ended.
struct EndedTasks {
  JobId job;
  TaskIndex from = 0;
  std::vector<TaskState> states;
  std::uint32_t count = 0;  // of the job
  JobState job_state = JobState::kActive;
};

bool HasEnded(TaskState state) {
  return state == TaskState::kDone || state == TaskState::kFailed || state == TaskState::kSkipped;
}

Result<EndedTasks> FindEnded(Round& round, JobId id, const ResultsQuery& query) {
  const Result<JobView> job = round.engine.looks().Describe(id);
  if (!job.ok()) return UnknownJob(id);
  EndedTasks ended;
  ended.job = id;
  ended.from = query.from;
  ended.count = job->count;
  ended.job_state = job->state;
  if (query.from >= job->count) return ended;
  // Mostly those who wait ask when it has not.
  const Result<TaskState> first = round.engine.looks().StateOf(id, query.from);
  if (!first.ok()) return first.error();
  if (!Ended(job->state) && !HasEnded(*first)) return ended;
  TaskQuery tasks;
  tasks.job = id;
  tasks.from = query.from;
  tasks.limit = query.limit;
  const Result<TaskPage> page = round.engine.looks().Tasks(tasks);
  if (!page.ok()) return page.error();
  for (const TaskView& task : page->tasks) {
    TaskState state = task.state;
    if (state != TaskState::kDone && state != TaskState::kFailed) {
      // A task that a worker still holds after its job's end comes to nothing, whatever it reports.
      if (state != TaskState::kSkipped && !Ended(job->state)) break;
      state = TaskState::kSkipped;
    }
    ended.states.push_back(state);
  }
  return ended;
}

Result<void> AppendResults(Store& store, const EndedTasks& ended, std::string& out) {
  std::vector<Outcome> outcomes;
  std::size_t told = ended.states.size();
  if (told > 0) {
    Result<OutcomePage> page = ReadPage(store, ended.job, ended.from, static_cast<std::uint64_t>(ended.from) + told);
    if (!page.ok()) return page.error();
    outcomes = std::move(page->outcomes);
    told = static_cast<std::size_t>(page->end - ended.from);
  }
  JsonWriter json(out);
  wire::Writer<wire::kResultsPage> w(json);
  auto outcome = outcomes.begin();
  w.Value("results").BeginArray();
  for (std::size_t i = 0; i < told; ++i) {
    const TaskIndex index = ended.from + static_cast<TaskIndex>(i);
    while (outcome != outcomes.end() && outcome->index < index) ++outcome;
    TaskExtra extra;
    if (outcome != outcomes.end() && outcome->index == index) {
      if (outcome->kind == OutcomeKind::kResult && ended.states[i] == TaskState::kDone) extra.result = outcome->text;
      if (outcome->kind == OutcomeKind::kError && ended.states[i] == TaskState::kFailed) extra.error = outcome->text;
    }
    AppendResultItem(index, ended.states[i], extra, json.Raw({}).out());
  }
  json.EndArray();
  const std::uint64_t next = static_cast<std::uint64_t>(ended.from) + told;
  w.Count("next", next >= ended.count ? std::nullopt : std::optional(next));
  w.Text("job_state", StateText(ended.job_state));
  return {};
}

void SendResults(Round& round, Call call, EndedTasks ended) {
  // Few are read where they are sent. Until they are read, results are small: no waits are refused for them.
  constexpr std::size_t kFew = 8;
  if (ended.states.size() > kFew) {
    return AnswerApart(
        round, std::move(call),
        [ended = std::move(ended)](const Call& done, std::string& out) {
          return AppendResults(done.queue->store(), ended, out);
        },
        true);
  }
  Return(round, std::move(call), [ended = std::move(ended)](Call done) {
    std::string out;
    const Result<void> appended = AppendResults(done.queue->store(), ended, out);
    if (!appended.ok()) return done.Fail(appended.error());
    done.reply.Send(200, out);
  });
}

class ResultsWait final : public JobWatcher {
 public:
  ResultsWait(Call call, const ResultsQuery& query, Instant deadline)
      : call_(std::move(call)), query_(query), deadline_(deadline) {}
  Next Look(Round& round, JobId job, News news) override {
    if (news == News::kProgress) {
      const Result<TaskState> first = round.engine.looks().StateOf(job, query_.from);
      if (first.ok() && !HasEnded(*first)) return Next::kStay;
    }
    Result<EndedTasks> ended = FindEnded(round, job, query_);
    if (!ended.ok()) {
      AnswerError(round, std::move(call_), ended.error());
      return Next::kGo;
    }
    if (news == News::kProgress && ended->states.empty()) return Next::kStay;
    SendResults(round, std::move(call_), std::move(*ended));
    return Next::kGo;
  }
  void OnQueueGone(Round& round, const Error& why) override { AnswerError(round, std::move(call_), why); }
  std::optional<Instant> deadline() const override { return deadline_; }

 private:
  Call call_;
  const ResultsQuery query_;
  const Instant deadline_;
};

}  // namespace

void ListResults(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  const Result<ResultsQuery> query = ParseResultsQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  if (query->wait.count() > 0) {
    call.reply.OnAbort([queue = call.queue, &net = call.reply.net(), owner = call.reply.owner(), asker = call.asker()] {
      net.Tell(queue, Command::Look([owner](Round& round) { round.waits.RemoveOwner(round.engine, owner); }).By(asker));
    });
  }
  AskEngine(std::move(call), [name = *name, query = *query](Round& round, Call c) {
    const Result<JobView> job = FindJob(round, c, name);
    if (!job.ok()) return AnswerError(round, std::move(c), job.error());
    Result<EndedTasks> ended = FindEnded(round, job->id, query);
    if (!ended.ok()) return AnswerError(round, std::move(c), ended.error());
    if (!ended->states.empty() || Ended(job->state) || query.from >= job->count || query.wait.count() == 0 ||
        round.stopping) {
      return SendResults(round, std::move(c), std::move(*ended));
    }
    const Result<void> admitted = round.waits.Admit(round, job->id);
    if (!admitted.ok()) return AnswerError(round, std::move(c), admitted.error());
    const std::uint64_t owner = c.reply.owner();
    round.waits.Add(round, job->id, owner,
                    std::make_unique<ResultsWait>(std::move(c), query, round.now.mono + query.wait), true);
  });
}

void FollowJob(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  ServeEvents(std::move(call), *name);
}

}  // namespace allot
