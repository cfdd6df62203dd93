// SPDX-License-Identifier: Apache-2.0
#include "server/queue/worker_table.h"

#include <algorithm>

#include "server/ops/log.h"

namespace allot {
namespace {

Error Unknown(WorkerId worker) {
  return {Code::kUnknownWorker, "there is no worker " + ToText(worker), "register again"};
}

// Both, one after the other.
void Add(std::unique_ptr<WorkerChange>& to, const WorkerChange& change) {
  if (!to) to = std::make_unique<WorkerChange>();
  if (change.tags) to->tags = change.tags;
  if (change.properties) to->properties = change.properties;
  if (change.attributes) to->attributes = change.attributes;
  if (change.requirements) to->requirements = change.requirements;
  if (change.rank) to->rank = change.rank;
  if (change.strategy) to->strategy = change.strategy;
}

// A worker that works on more jobs than this in turn gets their headers again.
constexpr std::size_t kHeadersKept = 256;

// All that a message names, so that what follows cannot fail half-way.
Result<void> AdmitStrategies(const Round& round, WorkerId worker, const WorkerInput& input) {
  const bool set = input.set && input.set->strategy;
  if (!set && !input.strategy) return {};
  return round.engine.looks().AdmitStrategies({input.strategy, set ? *input.set->strategy : nullptr}, worker);
}

}  // namespace

WorkerInput ToInput(WorkerMessage& message) {
  WorkerInput input;
  input.seq = message.seq;
  const std::size_t count = message.done.size() + message.failed.size() + message.released.size();
  input.reports.reserve(count);
  input.texts.reserve(count);
  for (const DoneEntry& entry : message.done) {
    input.reports.push_back({entry.task, ReportKind::kDone});
    input.texts.emplace_back(entry.result);
  }
  for (FailedEntry& entry : message.failed) {
    input.reports.push_back({entry.task, entry.final ? ReportKind::kRejected : ReportKind::kFailed, entry.retry_in});
    input.texts.push_back(std::move(entry.error));
  }
  for (const TaskRef& task : message.released) {
    input.reports.push_back({task, ReportKind::kReleased});
    input.texts.emplace_back();
  }
  input.extend = std::move(message.extend);
  input.progress = std::move(message.progress);
  input.job_headers = message.job_headers;
  input.pull = message.pull;
  input.strategy = std::move(message.strategy);
  input.set = std::move(message.set);
  input.bye = message.bye;
  return input;
}

QueueWorkers::Session* QueueWorkers::Find(WorkerId worker) {
  const auto it = sessions_.find(worker);
  return it == sessions_.end() ? nullptr : &it->second;
}

Result<RegisterAnswer> QueueWorkers::Register(Round& round, const Hello& hello, const Origin& origin,
                                              WorkerLinkPtr link) {
  WorkerSpec spec;
  spec.id = hello.worker ? hello.worker : WorkerId{round.ids.Next(round.now.wall)};
  spec.name = hello.name;
  spec.tags = hello.tags;
  spec.properties = hello.properties;
  spec.attributes = hello.attributes;
  spec.requirements = hello.requirements;
  spec.rank = hello.rank;
  spec.strategy = hello.strategy;
  spec.slots = hello.slots;
  spec.connected = origin.connected;
  spec.address = origin.address;
  spec.user = origin.user;
  spec.token = origin.token;
  spec.resume = hello.resume;
  Result<RegisterAnswer> answer = round.engine.workers().Register(round.now, spec, hello.key);
  if (!answer.ok()) return answer;
  Session& session = sessions_[answer->worker];
  if (session.link && session.link != link) {
    if (session.connected) {
      WorkerNews news;
      news.error = Error{Code::kUnknownWorker, "this worker has come back on another connection", ""};
      news.close = true;
      Send(round, session.link, std::move(news));
    } else {
      Answer(round, session);
    }
  }
  session.link = origin.connected ? std::move(link) : nullptr;
  session.connected = origin.connected;
  session.undelivered = {};
  session.headers = nullptr;
  return answer;
}

Result<void> QueueWorkers::Set(Round& round, WorkerId worker, const WorkerChange& change) {
  // What is named must fit what stays.
  if (change.properties.has_value() != change.attributes.has_value()) {
    const Result<WorkerView> view = round.engine.looks().DescribeWorker(worker);
    if (!view.ok()) return view.error();
    Result<void> check = CheckAttributeNames(change.attributes ? *change.attributes : view->attributes,
                                             change.properties ? *change.properties : view->properties);
    if (!check.ok()) return check;
  }
  return round.engine.workers().Change(round.now, worker, change);
}

Result<void> QueueWorkers::Change(Round& round, WorkerId worker, std::optional<std::uint64_t> key,
                                  const WorkerChange& change) {
  if (key && !round.engine.looks().KnowsKey(worker, *key)) return Unknown(worker);
  Result<void> set = Set(round, worker, change);
  if (!set.ok()) return set;
  if (key) return round.engine.workers().Heartbeat(round.now, worker);
  Session* const session = Find(worker);
  if (session == nullptr) return {};
  if (session->connected) {
    WorkerNews news;
    news.set = std::make_unique<WorkerChange>(change);
    Send(round, session->link, std::move(news));
  } else {
    Add(session->undelivered.set, change);
  }
  return {};
}

Result<void> QueueWorkers::Apply(Round& round, WorkerId worker, WorkerInput& input, WorkerNews& news) {
  if (!input.reports.empty()) {
    Result<std::vector<ReportVerdict>> verdicts = round.engine.workers().ReportAll(round.now, worker, input.reports);
    if (!verdicts.ok()) return verdicts.error();
    for (std::size_t i = 0; i < verdicts->size(); ++i) {
      const Report& report = input.reports[i];
      round.Touch(report.task.job);
      if ((*verdicts)[i] != ReportVerdict::kTaken) {
        news.stale.emplace_back(report.task, (*verdicts)[i]);
      } else if (report.kind == ReportKind::kDone) {
        if (!input.texts[i].empty()) {
          round.batch.outcomes.push_back(
              {report.task.job, report.task.index, OutcomeKind::kResult, 0, std::move(input.texts[i])});
        }
      } else if (report.kind != ReportKind::kReleased) {
        round.batch.outcomes.push_back(
            {report.task.job, report.task.index, OutcomeKind::kError, 0, std::move(input.texts[i])});
      }
    }
  }
  if (!input.extend.empty()) {
    Result<std::vector<bool>> kept = round.engine.workers().Extend(round.now, worker, input.extend);
    if (!kept.ok()) return kept.error();
    for (std::size_t i = 0; i < kept->size(); ++i) {
      if (!(*kept)[i]) news.stale.emplace_back(input.extend[i], ReportVerdict::kStale);
    }
  }
  if (!input.progress.empty()) return round.engine.workers().NoteProgress(round.now, worker, input.progress);
  return {};
}

void QueueWorkers::AddHeaders(const Round& round, Session& session, WorkerNews& news) {
  if (session.headers == nullptr) return;
  std::deque<JobId>& known = *session.headers;
  for (std::size_t i = 0; i < news.grants.size(); ++i) {
    const JobId job = news.grants[i].task.job;
    // Neighbours mostly are of one job.
    if (!known.empty() && known.back() == job) continue;
    if (std::find(known.begin(), known.end(), job) != known.end()) continue;
    Result<JobHeaderView> header = round.engine.follow_looks().Header(job);
    if (!header.ok()) continue;  // removed meanwhile: the task is stale
    news.headers.emplace_back(i, std::move(*header));
    known.push_back(job);
    if (known.size() > kHeadersKept) known.pop_front();
  }
}

void QueueWorkers::OnMessage(Round& round, WorkerId worker, const WorkerLinkPtr& link, WorkerInput input) {
  Session* const session = Find(worker);
  if (session == nullptr || session->link != link) return;  // already notified, when it was replaced or removed
  WorkerNews news;
  news.answers = 1;
  // First, so that a pull beside it sees it, and that a message which is refused has changed nothing.
  if (input.set || input.strategy) {
    Result<void> set = AdmitStrategies(round, worker, input);
    if (set.ok() && input.set) set = Set(round, worker, *input.set);
    if (!set.ok()) {
      news.error = set.error();
      news.seq = input.seq;
      news.close = !input.seq;
      return Send(round, link, std::move(news));
    }
  }
  news.ack = input.seq;
  if (input.job_headers && session->headers == nullptr) session->headers = std::make_unique<std::deque<JobId>>();
  Result<void> applied = Apply(round, worker, input, news);
  if (applied.ok() && input.pull && !round.stopping) {
    PullOptions options;
    options.credit = *input.pull;
    options.strategy = std::move(input.strategy);
    applied = round.engine.workers().Pull(round.now, worker, options);
  } else if (applied.ok() && input.reports.empty() && input.extend.empty()) {
    applied = round.engine.workers().Heartbeat(round.now, worker);
  }
  if (!applied.ok()) {
    news = {};
    news.answers = 1;
    news.error = applied.error();
    news.seq = input.seq;
    news.close = true;
    sessions_.erase(worker);
    return Send(round, link, std::move(news));
  }
  if (input.bye) {
    round.engine.workers().Unregister(round.now, worker);
    sessions_.erase(worker);
    news.close = true;
    return Send(round, link, std::move(news));
  }
  Send(round, link, std::move(news));
}

void QueueWorkers::OnPull(Round& round, WorkerId worker, std::uint64_t key, milliseconds wait, WorkerInput input,
                          WorkerLinkPtr link) {
  Session* const session = Find(worker);
  const auto refuse = [&](Error error) {
    WorkerNews news;
    news.error = std::move(error);
    Send(round, link, std::move(news));
  };
  if (session == nullptr || session->connected || !round.engine.looks().KnowsKey(worker, key))
    return refuse(Unknown(worker));
  const Result<void> admitted = AdmitStrategies(round, worker, input);
  if (!admitted.ok()) return refuse(admitted.error());
  if (input.set) {
    const Result<void> set = Set(round, worker, *input.set);
    if (!set.ok()) return refuse(set.error());
  }
  if (session->link) Answer(round, *session);
  WorkerNews news;
  const Result<void> applied = Apply(round, worker, input, news);
  if (!applied.ok()) return refuse(applied.error());
  session->undelivered.stale = std::move(news.stale);
  session->headers = input.job_headers ? std::make_unique<std::deque<JobId>>() : nullptr;
  session->link = std::move(link);
  const std::uint32_t credit = round.stopping ? 0 : input.pull.value_or(0);
  PullOptions options;
  options.credit = credit;
  options.once = credit > 0;
  options.wait = wait;
  options.strategy = std::move(input.strategy);
  const Result<void> pulled = round.engine.workers().Pull(round.now, worker, options);
  if (!pulled.ok()) {
    session->undelivered.error = pulled.error();
    return Answer(round, *session);
  }
  if (credit == 0) return Answer(round, *session);
  if (wait.count() == 0 || !session->undelivered.stop_requests.empty() || session->draining)
    impatient_.push_back(worker);
}

void QueueWorkers::Answer(Round& round, Session& session) {
  WorkerNews news = std::move(session.undelivered);
  session.undelivered = {};
  news.drain = session.draining;
  Send(round, std::exchange(session.link, nullptr), std::move(news));
}

void QueueWorkers::OnGone(Round& round, WorkerId worker, const WorkerLink* link, std::vector<TaskRef> unsent) {
  GiveBack(round, unsent);
  Session* const session = Find(worker);
  if (session == nullptr || session->link.get() != link) return;
  session->link = nullptr;
  if (session->connected) {
    round.engine.workers().Disconnect(round.now, worker);
    sessions_.erase(worker);
  } else {
    PullOptions none;
    none.credit = 0;
    // It may be gone already, and then has no credit either.
    static_cast<void>(round.engine.workers().Pull(round.now, worker, none));
  }
}

void QueueWorkers::GiveBack(Round& round, const std::vector<TaskRef>& tasks) {
  if (tasks.empty()) return;
  for (const TaskRef& task : tasks) round.Touch(task.job);
  round.engine.workers().Undelivered(round.now, tasks);
}

void QueueWorkers::FailDamaged(Round& round, WorkerId worker, const std::vector<DamagedGrant>& damaged) {
  std::vector<Report> reports;
  for (const DamagedGrant& grant : damaged) {
    reports.push_back({grant.task, ReportKind::kRejected});
    LogError("a payload is damaged: its task fails",
             {{"job", grant.task.job.value}, {"task", grant.task.index}, {"error", grant.error}});
  }
  const Result<std::vector<ReportVerdict>> verdicts = round.engine.workers().ReportAll(round.now, worker, reports);
  if (!verdicts.ok()) return;  // it is gone, and its leases end by themselves
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    const TaskRef& task = damaged[i].task;
    round.Touch(task.job);
    if ((*verdicts)[i] != ReportVerdict::kTaken) continue;
    round.batch.outcomes.push_back({task.job, task.index, OutcomeKind::kError, 0, damaged[i].error});
  }
}

Result<void> QueueWorkers::Unregister(Round& round, WorkerId worker, std::uint64_t key) {
  Session* const session = Find(worker);
  if (session == nullptr || !round.engine.looks().KnowsKey(worker, key)) return Unknown(worker);
  if (session->link) {
    if (session->connected) {
      WorkerNews news;
      news.error = Unknown(worker);
      news.close = true;
      Send(round, session->link, std::move(news));
    } else {
      Answer(round, *session);
    }
  }
  round.engine.workers().Unregister(round.now, worker);
  sessions_.erase(worker);
  return {};
}

void QueueWorkers::OnEffects(Round& round, Effects& effects) {
  // Tasks before orders to stop them.
  for (GrantBatch& batch : effects.grant_batches) {
    for (const Grant& grant : batch.grants) round.Touch(grant.task.job);
    Session* const session = Find(batch.worker);
    if (session == nullptr || !session->link) {
      // Nobody is there to take them: they never left.
      std::vector<TaskRef> tasks;
      for (const Grant& grant : batch.grants) tasks.push_back(grant.task);
      GiveBack(round, tasks);
      continue;
    }
    if (session->connected) {
      if (batch.grants.empty()) continue;
      WorkerNews news;
      news.grants = std::move(batch.grants);
      AddHeaders(round, *session, news);
      Send(round, session->link, std::move(news));
    } else {
      session->undelivered.grants = std::move(batch.grants);
      AddHeaders(round, *session, session->undelivered);
      Answer(round, *session);
    }
  }
  for (const StopRequest& stop : effects.stop_requests) {
    Session* const session = Find(stop.worker);
    if (session == nullptr) continue;
    if (session->connected) {
      WorkerNews news;
      news.stop_requests.push_back(stop);
      Send(round, session->link, std::move(news));
    } else {
      session->undelivered.stop_requests.push_back(stop);
      if (session->link) impatient_.push_back(stop.worker);
    }
  }
  for (const WorkerId worker : effects.drains) {
    Session* const session = Find(worker);
    if (session == nullptr) continue;
    if (session->connected) {
      WorkerNews news;
      news.drain = true;
      Send(round, session->link, std::move(news));
    } else {
      session->draining = true;
      if (session->link) impatient_.push_back(worker);
    }
  }
  for (const WorkerId worker : effects.gone) {
    const auto it = sessions_.find(worker);
    if (it == sessions_.end()) continue;
    if (it->second.link) {
      WorkerNews news;
      news.error = Unknown(worker);
      news.close = true;
      Send(round, it->second.link, std::move(news));
    }
    sessions_.erase(it);
  }
}

void QueueWorkers::EndOfRound(Round& round) {
  if (impatient_.empty()) return;
  for (const WorkerId worker : impatient_) {
    Session* const session = Find(worker);
    if (session == nullptr || session->connected || !session->link) continue;
    PullOptions none;
    none.credit = 0;
    static_cast<void>(round.engine.workers().Pull(round.now, worker, none));
    Answer(round, *session);
  }
  impatient_.clear();
}

void QueueWorkers::OnStop(Round& round) {
  PullOptions none;
  none.credit = 0;
  for (auto& [worker, session] : sessions_) {
    static_cast<void>(round.engine.workers().Pull(round.now, worker, none));
    if (!session.connected && session.link) Answer(round, session);
  }
}

void QueueWorkers::CloseAll(Round& round, const Error& why) {
  for (auto& [worker, session] : sessions_) {
    if (!session.link) continue;
    WorkerNews news;
    news.error = why;
    news.close = true;
    Send(round, session.link, std::move(news));
  }
  sessions_.clear();
}

}  // namespace allot
