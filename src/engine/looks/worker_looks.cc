// SPDX-License-Identifier: Apache-2.0
// Workers: what they are and hold, and why one does not get what it may not run.
#include <algorithm>

#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/looks/looks.h"
#include "engine/looks/view_bounds.h"
#include "engine/looks/worker_outlook.h"
#include "engine/parts.h"

namespace allot {
namespace {

constexpr std::size_t kMaxTasksOfWorkerView = 1000;
constexpr std::size_t kMaxPromisesOfWorkerView = 100;
// Of a longer queue, the first of so many: a look must not take long.
constexpr std::size_t kMaxPromisesSorted = 10'000;

// About as many as its view has on the wire.
std::size_t BytesOf(const EngineWorker& worker) {
  std::size_t bytes = 500;
  for (const std::string& tag : worker.tags) bytes += tag.size() + 3;
  for (const auto& [key, value] : worker.properties) bytes += key.size() + value.size() + 6;
  for (const auto& [name, value] : worker.attributes) {
    const auto* const text = std::get_if<std::string>(&value);
    bytes += name.size() + (text == nullptr ? 16 : text->size()) + 6;
  }
  return bytes;
}

// At jobs, for one of each class.
constexpr std::size_t kMostLooks = 2000;

}  // namespace

WorkerView Looks::View(const EngineWorker& worker) const {
  WorkerView view;
  view.id = worker.id;
  view.name = worker.name;
  view.tags = worker.tags;
  view.properties = worker.properties;
  view.attributes = worker.attributes;
  view.requirements = worker.requirements;
  view.rank = worker.rank;
  view.strategy = worker.strategy;
  view.slots = worker.slots;
  view.running = static_cast<std::uint32_t>(worker.leases.size());
  view.credit = worker.credit;
  view.draining = worker.draining;
  view.connected = worker.connected;
  view.away = worker.away;
  view.address = worker.address;
  view.user = worker.user;
  view.registered_at = worker.registered_at;
  view.last_seen = worker.last_seen_at;
  if (worker.queue) {
    view.promised = worker.queue->promised;
    view.promised_jobs = worker.queue->promises.size();
  }
  return view;
}

std::vector<PromisedView> Looks::QueueOf(const EngineWorker& worker, std::optional<std::string_view> user) const {
  std::vector<std::pair<const EngineJob*, std::uint32_t>> promises;
  ForEachPromise(worker, kMaxPromisesSorted, [&](const DispatchJob& job, std::uint32_t tasks) {
    const auto& promised = static_cast<const EngineJob&>(job);
    if (!user || promised.terms->user == *user) promises.emplace_back(&promised, tasks);
  });
  const std::size_t shown = std::min(promises.size(), kMaxPromisesOfWorkerView);
  std::partial_sort(promises.begin(), promises.begin() + static_cast<std::ptrdiff_t>(shown), promises.end(),
                    [](const auto& a, const auto& b) { return a.first->key < b.first->key; });
  std::vector<PromisedView> views;
  for (std::size_t i = 0; i < shown; ++i) {
    const EngineJob& job = *promises[i].first;
    PromisedView& view =
        views.emplace_back(PromisedView{job.id(), promises[i].second, {}, job.terms->user, job.terms->tags});
    if (!job.key.no_priority) view.priority = job.key.priority;
  }
  return views;
}

WorkerPage Looks::Workers(std::optional<WorkerId> after, std::size_t limit) const {
  WorkerPage page;
  std::size_t bytes = 0;
  for (auto it = after ? p_.workers.upper_bound(*after) : p_.workers.begin(); it != p_.workers.end(); ++it) {
    const EngineWorker& worker = *it->second;
    if (!worker.registered) continue;
    if (page.workers.size() >= limit || bytes >= kMaxPageBytes) {
      page.more = true;
      break;
    }
    page.workers.push_back(View(worker));
    bytes += BytesOf(worker);
  }
  return page;
}

Result<WorkerView> Looks::DescribeWorker(WorkerId id, std::optional<std::string_view> jobs_of) const {
  const EngineWorker* worker = p_.workers.Find(id);
  if (worker == nullptr || !worker->registered) {
    return Error{Code::kUnknownWorker, "there is no worker " + ToText(id),
                 "`allot workers` lists those that are registered"};
  }
  WorkerView view = View(*worker);
  view.queue = QueueOf(*worker, jobs_of);
  view.constraint_tags = p_.classes.TraitsOf(worker->handle)->constraint_tags;
  for (const Lease& lease : worker->leases) {
    if (view.tasks.size() >= kMaxTasksOfWorkerView) break;
    if (!jobs_of || lease.job->terms->user == *jobs_of) view.tasks.push_back(lease.task);
  }
  return view;
}

Result<OutlookSnapshot> Looks::OutlookOf(const Now& now, WorkerId id) const {
  const EngineWorker* worker = p_.workers.Find(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  OutlookSnapshot out;
  out.worker = id;
  out.name = worker->name;
  out.strategy = p_.orders.uses().strategy(worker->Pulls());
  out.slots = worker->slots;
  out.running = static_cast<std::uint32_t>(worker->leases.size());
  out.draining = worker->draining;
  out.away = worker->away;
  out.queue_paused = p_.queue.paused;
  const KindId kind = p_.classes.KindOf(worker->handle);
  std::vector<std::pair<std::uint64_t, ClassId>> others;  // by their queued tasks
  for (ClassId cls = 0; cls < p_.reasons.slots(); ++cls) {
    const ClassReasons::Row& row = p_.reasons.row(cls);
    if (row.jobs > 0 && !p_.classes.kinds().Matches(kind, cls)) others.emplace_back(row.tasks, cls);
  }
  const std::size_t shown = std::min(others.size(), OutlookSnapshot::kMostClasses);
  std::partial_sort(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(shown), others.end(),
                    std::greater<>());
  std::size_t looks = kMostLooks;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const auto& [tasks, cls] = others[i];
    const EngineJob* job = i < shown ? p_.tallies.OneOf(cls, looks) : nullptr;
    if (job == nullptr) {
      ++out.more_classes;
      out.more_tasks += tasks;
      continue;
    }
    MatchSnapshot match = SnapshotOf(*job->terms, job->key, job->tasks.count(), MetaOf(*job), id);
    match.job = job->id();
    match.now = now.wall;
    match.queued = job->tasks.queued();
    out.classes.push_back({tasks, std::move(match)});
  }
  return out;
}

bool Looks::KnowsKey(WorkerId worker, std::uint64_t key) const { return p_.leases.WorkerKey(worker) == key; }

}  // namespace allot
