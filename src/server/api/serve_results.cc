// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/jobs/ID/tasks…, /results, /events: what became of a job's tasks.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/json.h"
#include "engine/errors.h"
#include "server/flow/job_news.h"
#include "server/flow/places.h"
#include "server/live/event_stream.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "server/wire/results_json.h"
#include "wire/jobs.h"
#include "wire/writer.h"

namespace allot {
namespace {

// What the store has of one task, as it is shown.
struct TaskTexts {
  std::optional<std::string> payload;
  std::vector<Outcome> outcomes;  // one at most
};
Result<TaskTexts> ReadTexts(Store& store, JobId job, const PayloadRef& ref, TaskIndex task) {
  TaskTexts texts;
  if (ref.per_task || ref.common) {
    TRY(texts.payload, store.ReadPayload(ref.set, ref.per_task ? static_cast<std::int64_t>(task) : kCommonPayload));
  }
  Store::OutcomeQuery query;
  query.job = job;
  query.from = task;
  query.end = static_cast<std::uint64_t>(task) + 1;
  query.max = 1;
  TRY(texts.outcomes, store.ReadOutcomes(query));
  return texts;
}

}  // namespace

Flow ListTasks(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY(TaskQuery query, ParseTaskQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  CO_TRY(const JobView& job, FindJob(*round, call, name));
  query.job = job.id;
  CO_TRY(const TaskPage& page, round->engine.looks().Tasks(query));
  co_await AfterCommit(round);
  co_await OnRenderLane(call);
  std::vector<TaskIndex> indices;
  for (const TaskView& task : page.tasks) indices.push_back(task.index);
  CO_TRY(const std::vector<Outcome>& outcomes, ReadOutcomesOf(call.queue->store(), query.job, indices));
  std::string out;
  {
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
  }
  co_return Answer(200, std::move(out));
}

Flow ShowTask(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY_OK(ParseNoQuery(call.request.query));
  CO_TRY(const TaskIndex index, ParseTaskIndex(call.part("index")));
  RoundHere round = co_await Look(call);
  CO_TRY(const JobView& job, FindJob(*round, call, name));
  CO_TRY(const TaskView task, round->engine.looks().Task(job.id, index));
  co_await AfterCommit(round);
  CO_TRY(const TaskTexts& texts, ReadTexts(call.queue->store(), job.id, job.payload, index));
  TaskExtra extra;
  if (texts.payload) extra.payload = *texts.payload;
  for (const Outcome& outcome : texts.outcomes) {
    if (outcome.kind == OutcomeKind::kError)
      extra.error = outcome.text;
    else if (task.state == TaskState::kDone)
      extra.result = outcome.text;
  }
  std::string out;
  AppendTask(task, extra, out);
  co_return Answer(200, std::move(out));
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
  TRY(const TaskState first, round.engine.looks().StateOf(id, query.from));
  if (!Ended(job->state) && !HasEnded(first)) return ended;
  TaskQuery tasks;
  tasks.job = id;
  tasks.from = query.from;
  tasks.limit = query.limit;
  TRY(const TaskPage& page, round.engine.looks().Tasks(tasks));
  for (const TaskView& task : page.tasks) {
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
    TRY(OutcomePage page, ReadOutcomePage(store, ended.job, ended.from, static_cast<std::uint64_t>(ended.from) + told));
    outcomes = std::move(page.outcomes);
    told = static_cast<std::size_t>(page.end - ended.from);
  }
  JsonWriter json(out);
  wire::Writer<wire::kResultsPage> w(json);
  auto outcome = outcomes.begin();
  w.Value("results").BeginArray();
  for (std::size_t i = 0; i < told; ++i) {
    const TaskIndex index = ended.from + static_cast<TaskIndex>(i);
    while (outcome != outcomes.end() && outcome->index < index) ++outcome;
    const Outcome* const own = outcome != outcomes.end() && outcome->index == index ? &*outcome : nullptr;
    AppendResultItem({index, ended.states[i]}, own, json.Raw({}).out());
  }
  json.EndArray();
  const std::uint64_t next = static_cast<std::uint64_t>(ended.from) + told;
  w.Count("next", next >= ended.count ? std::nullopt : std::optional(next));
  w.Text("job_state", StateText(ended.job_state));
  return {};
}

}  // namespace

Flow ListResults(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY(const ResultsQuery query, ParseResultsQuery(call.request.query));
  if (query.wait.count() > 0) WaitNoLongerThanClient(call);
  RoundHere round = co_await Look(call);
  CO_TRY(const JobView& job, FindJob(*round, call, name));
  CO_TRY(EndedTasks ended, FindEnded(*round, job.id, query));
  if (ended.states.empty() && !Ended(job.state) && query.from < job.count && query.wait.count() > 0 &&
      !round->stopping) {
    CO_TRY_OK(round->waits.Admit(*round, job.id));
    co_await TaskEnd(round, job.id, query.from, round->now.mono + query.wait);
    CO_TRY(ended, FindEnded(*round, job.id, query));
  }
  // Few are read where they are sent. Until they are read, results are small: no waits are refused for them.
  constexpr std::size_t kFew = 8;
  co_await AfterCommit(round);
  if (ended.states.size() > kFew) co_await OnRenderLane(call, RenderRule::kSmall);
  std::string out;
  CO_TRY_OK(AppendResults(call.queue->store(), ended, out));
  co_return Answer(200, std::move(out));
}

Flow FollowJob(Call call) { return ServeEvents(std::move(call)); }

}  // namespace allot
