// SPDX-License-Identifier: Apache-2.0
// What a worker with some strategy would get now, without an order for it.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/looks/looks.h"
#include "engine/looks/prepared_looks.h"
#include "engine/looks/preview_walk.h"
#include "engine/parts.h"
#include "match/eligible.h"

namespace allot {
namespace {

// What a look at a job costs, and beside it each key that is looked up; a verdict, and a step of its expressions.
constexpr std::int64_t kPreviewJobNanoseconds = 200;
constexpr std::int64_t kPreviewKeyNanoseconds = 500;
constexpr std::int64_t kPreviewVerdictNanoseconds = 1500;
constexpr std::int64_t kPreviewStepNanoseconds = 10;
// What it costs to ask limits about a group of jobs.
constexpr std::int64_t kPreviewLimitsNanoseconds = 5000;
constexpr std::int64_t kPreviewLimitNanoseconds = 100;
constexpr std::int64_t kPreviewEvaluationNanoseconds = 2000;
// Jobs and values that a walk remembers at most, a few hundred MB: what comes behind them is not looked at.
constexpr std::size_t kPreviewMostKept = 4'000'000;

}  // namespace

PreviewWalk::PreviewWalk(PreviewRequest request) : request_(std::move(request)) {}
PreviewWalk::~PreviewWalk() = default;

void PreviewWalk::Pick(std::function<bool()> enough) {
  CHECK(begun_);
  enough_ = std::move(enough);
  jobs_ = preview_->jobs();
  queued_tasks_ = preview_->tasks();
  if (request_.focus) {
    bool random = false;
    const std::vector<JobId> first = preview_->Allowed(random);
    focus_by_chance_ = random && std::find(first.begin(), first.end(), *request_.focus) != first.end();
  }
  while (tasks_.size() < request_.count) {
    std::optional<PreviewPick> pick = preview_->Next();
    if (!pick) break;
    tasks_.push_back(Task{std::move(*pick), std::nullopt, {}, {}});
  }
  complete_ = seen_all_ && !preview_->stopped();
  ran_out_ = tasks_.size() < request_.count && (preview_->gated() || blocked_jobs_ > 0);
  preview_.reset();
}

bool PreviewWalk::Purses::Open(std::uint32_t group) {
  open.resize(groups.size(), -1);
  if (open[group] < 0) open[group] = left.CanTake(groups[group]) ? 1 : 0;
  return open[group] > 0;
}

void PreviewWalk::Purses::Take(std::uint32_t group) {
  left.Take(groups[group], 1);
  // Others may draw from the same.
  std::fill(open.begin(), open.end(), -1);
}

Result<void> PreparedLooks::Start(const Now& now, PreviewWalk& walk) {
  const PreviewRequest& request = walk.request_;
  if (request.worker) {
    const EngineWorker* worker = p_.workers.Find(*request.worker);
    if (worker == nullptr || !worker->registered) return UnknownWorker(*request.worker);
    walk.traits_ = p_.classes.TraitsOf(worker->handle);
    walk.draining_ = worker->draining;
    walk.own_first_ = p_.dispatcher.OwnFirst(*worker);
    EngineJob* focus = request.by_limits && request.focus ? p_.jobs.Find(*request.focus) : nullptr;
    if (focus != nullptr && focus->open) walk.focus_limits_ = BlockingLimits(now, *focus, *worker);
  } else if (request.like) {
    EngineWorker like;
    like.name = request.like->name;
    like.tags = request.like->tags;
    like.properties = request.like->properties;
    like.attributes = request.like->attributes;
    like.requirements = request.like->requirements;
    like.rank = request.like->rank;
    like.slots = request.like->slots;
    walk.traits_ = std::make_shared<const WorkerTraits>(TraitsOf(like));
  }
  walk.strategy_ = request.strategy ? request.strategy : DefaultStrategy();
  walk.policy_ = request.policy ? request.policy : p_.orders.indices().policy();
  walk.paused_ = p_.queue.paused;
  walk.seconds_ = ToMillis(now.wall) / 1000;
  Preview::Options options;
  options.policy = walk.policy_;
  options.worker = walk.strategy_;
  options.weights = {p_.orders.indices().values().weights().begin(), p_.orders.indices().values().weights().end()};
  options.slots = p_.workers.slots();
  options.now = now.wall;
  options.seed = request.seed;
  options.enough = [&walk] { return walk.enough_ && walk.enough_(); };
  if (request.by_limits && !request.focus && p_.limits.size() > 0) {
    walk.purses_ = std::make_unique<PreviewWalk::Purses>(p_.limits, now);
    options.gate = walk.purses_.get();
  }
  walk.preview_ = std::make_unique<Preview>(std::move(options));
  walk.preview_->Expect(std::min(p_.jobs.places(), kPreviewMostKept));
  walk.begun_ = true;
  return {};
}

std::vector<std::string> PreparedLooks::BlockingLimits(const Now& now, EngineJob& job, const EngineWorker& worker) {
  std::vector<std::string> blocked;
  p_.limiting.Group(job);
  if (job.group == kFreeGroup) return blocked;
  for (LimitStatus& status : p_.limits.looks().StatusesOf(job.group, worker.limited, now)) {
    if (status.blocks && !status.monitor) blocked.push_back(std::move(status.limit.uuid));
  }
  return blocked;
}

std::optional<double> PreparedLooks::Judge(PreviewWalk& walk, const EngineJob& job, std::int64_t& nanoseconds) const {
  if (!walk.traits_) return 0;
  // Jobs of a class are alike for whoever reads no more of them than it holds.
  const bool alike = !walk.reads_more_ && !p_.classes.Outdated(job.cls);
  const std::uint64_t serial = p_.classes.SerialOf(job.cls);
  if (alike) {
    if (const auto found = walk.verdicts_.find(serial); found != walk.verdicts_.end()) return found->second;
  }
  const WorkerTraits& worker = *walk.traits_;
  const JobTerms& terms = *job.terms;
  const ExprPtr unranked;  // how the job ranks the worker is not asked for
  std::optional<expr::Ad> ad;
  const auto job_ad = [&] { return &ad.emplace(AdOf(terms, job.key, job.tasks.count(), MetaOf(job))); };
  const std::uint64_t steps = walk.evaluator_.steps();
  const Verdict verdict =
      Eligible({terms.tags, terms.constraint_tags, terms.requirements, unranked},
               {worker.tags, worker.constraint_tags, worker.requirements, worker.rank, worker.ad.get()}, job_ad,
               walk.seconds_, walk.evaluator_);
  const std::optional<double> rank = verdict.match ? std::optional(verdict.worker_rank) : std::nullopt;
  nanoseconds +=
      kPreviewVerdictNanoseconds + static_cast<std::int64_t>(walk.evaluator_.steps() - steps) * kPreviewStepNanoseconds;
  if (alike) walk.verdicts_.emplace(serial, rank);
  return rank;
}

Result<bool> PreparedLooks::Collect(const Now& now, PreviewWalk& walk, std::size_t budget) {
  if (!p_.budget.LooksFit()) return p_.budget.Admit(1, "a look at all jobs").error();
  MemoryPool::Scope scope(&p_.memory.looks);
  if (!walk.begun_) {
    if (const Result<void> started = Start(now, walk); !started.ok()) return started.error();
  }
  walk.reads_more_ = walk.traits_ && !p_.classes.FreshReads(*walk.traits_).empty();
  if (walk.preview_->kept() >= kPreviewMostKept) return true;
  const EngineWorker* owner = walk.own_first_ ? p_.workers.Find(*walk.request_.worker) : nullptr;
  auto left = static_cast<std::int64_t>(budget) * 1000;
  const auto keys = static_cast<std::int64_t>(walk.preview_->keys());
  const EngineWorker* worker = walk.request_.by_limits && walk.request_.worker && p_.limits.size() > 0
                                   ? p_.workers.Find(*walk.request_.worker)
                                   : nullptr;
  if (worker != nullptr && !worker->registered) worker = nullptr;
  // What limits see of the worker; one that is only described is there for as long as this takes.
  std::optional<LimitTable::WorkerHandle> limited, described;
  if (worker != nullptr) limited = worker->limited;
  if (walk.purses_ && walk.request_.like) limited = described = p_.limits.AddWorker(walk.traits_->ad);
  const auto leave = [&] {
    if (described) p_.limits.DropWorker(*described, now);
  };
  std::unordered_map<GroupId, bool> blocked;  // by limits that do not block the focus, too
  walk.seen_all_ = p_.jobs.Walk(walk.cursor_, [&](EngineJob* job) {
    if (left <= 0) return false;
    std::uint32_t group = 0;
    std::int64_t cost = kPreviewJobNanoseconds + keys * kPreviewKeyNanoseconds;
    if (job != nullptr) {
      ++walk.jobs_seen_;
      std::optional<double> rank = job->open ? Judge(walk, *job, cost) : std::nullopt;
      if (rank && walk.purses_) {
        const std::uint64_t before = p_.limits.matcher().evaluations();
        if (!p_.limiting.Grouped(*job))
          cost += kOrderNanoseconds * static_cast<std::int64_t>(p_.orders.updates().cost());
        p_.limiting.Group(*job);
        cost += static_cast<std::int64_t>(p_.limits.matcher().evaluations() - before) * kPreviewEvaluationNanoseconds;
        group = PurseGroup(now, walk, job->group, limited, cost);
        if (group != 0 && !walk.purses_->Open(group)) rank.reset(), walk.LeaveOut(*job);
      } else if (rank && worker != nullptr) {
        const std::uint64_t before = p_.limits.matcher().evaluations();
        if (!p_.limiting.Grouped(*job))
          cost += kOrderNanoseconds * static_cast<std::int64_t>(p_.orders.updates().cost());
        p_.limiting.Group(*job);
        cost += static_cast<std::int64_t>(p_.limits.matcher().evaluations() - before) * kPreviewEvaluationNanoseconds;
        const auto [at, fresh] = blocked.try_emplace(job->group);
        if (fresh) {
          const std::vector<std::string> limits = BlockingLimits(now, *job, *worker);
          at->second = std::any_of(limits.begin(), limits.end(), [&](const std::string& uuid) {
            return std::find(walk.focus_limits_.begin(), walk.focus_limits_.end(), uuid) == walk.focus_limits_.end();
          });
          cost += kPreviewLimitsNanoseconds + static_cast<std::int64_t>(p_.limits.size()) * kPreviewLimitNanoseconds;
        }
        if (at->second && job->id() != walk.request_.focus) {
          rank.reset();
          walk.LeaveOut(*job);
        }
      }
      walk.preview_->Know(p_.keys, *job, rank, &p_.orders.indices().values(),
                          owner != nullptr ? PromisedTo(*owner, *job) : 0, group);
    }
    left -= cost;
    return true;
  });
  leave();
  return walk.seen_all_;
}

std::uint32_t PreparedLooks::PurseGroup(const Now& now, PreviewWalk& walk, GroupId group,
                                        std::optional<LimitTable::WorkerHandle> worker, std::int64_t& nanoseconds) {
  if (group == kFreeGroup) return 0;
  PreviewWalk::Purses& purses = *walk.purses_;
  const auto [at, fresh] = purses.places.try_emplace({group, p_.limits.matcher().SerialOf(group)},
                                                     static_cast<std::uint32_t>(purses.groups.size()));
  if (fresh) {
    const bool by_worker = worker && !p_.limits.matcher().Terms(group).empty();
    purses.groups.push_back(by_worker ? LimitForecast::Group{std::make_shared<const std::vector<LimitMatcher::Charge>>(
                                                                 p_.limits.looks().ChargesOn(group, *worker, now)),
                                                             {}}
                                      : LimitForecast::GroupOf(p_.limits.matcher(), group));
    nanoseconds += kPreviewLimitsNanoseconds;
  }
  return at->second;
}

void Looks::Resolve(PreviewWalk& walk) const {
  constexpr int kDraws = 32;
  std::set<std::pair<JobId, TaskIndex>> taken;
  Rng rng(walk.request_.seed);
  for (PreviewWalk::Task& task : walk.tasks_) {
    const EngineJob* job = p_.jobs.Find(task.pick.job);
    if (job == nullptr) continue;
    task.user = job->terms->user;
    task.tags = job->terms->tags;
    if (!job->open) continue;
    const auto is_free = [&](TaskIndex index) { return !taken.contains({job->id(), index}); };
    for (int draw = 0; task.pick.random && !task.index && draw < kDraws; ++draw) {
      if (const TaskIndex index = job->tasks.RandomQueued(rng); is_free(index)) task.index = index;
    }
    std::optional<TaskIndex> next = job->tasks.FirstQueued();
    while (!task.index && next) {
      if (is_free(*next)) {
        task.index = next;
      } else {
        next = *next + 1 < job->tasks.count() ? job->tasks.FirstQueued(*next + 1) : std::nullopt;
      }
    }
    if (task.index) taken.insert({job->id(), *task.index});
  }
}

}  // namespace allot
