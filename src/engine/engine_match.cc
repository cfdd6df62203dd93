// Matching inside the engine: what jobs and workers show to each other, the classes of jobs, and change at run time.
#include <algorithm>

#include "base/bounds.h"
#include "base/check.h"
#include "base/sampled_kinds.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/tallies/hold_reasons.h"
#include "match/constraints.h"

namespace allot {
namespace {

expr::Value ValueOf(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return expr::Value::String(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return expr::Value::Integer(*number);
  if (const auto* real = std::get_if<double>(&value)) return expr::Value::Real(*real);
  return expr::Value::Boolean(std::get<bool>(value));
}

void SetTags(expr::Ad& ad, const TagList& tags) {
  std::vector<expr::Value> items;
  items.reserve(tags.size());
  for (const std::string& tag : tags) items.push_back(expr::Value::String(tag));
  ad.Set("Tags", expr::Value::List(items));
}

// What folding costs at most, in about a microsecond.
std::size_t FoldCost(const ExprPtr& expr) {
  constexpr std::size_t kBytesInAMicrosecond = 16;
  return expr ? expr->source().size() / kBytesInAMicrosecond : 0;
}

// Of what expressions see of the job under that name.
std::size_t HashOfAttribute(const EngineJob& job, const std::string& name) {
  const std::hash<std::string> text;
  if (expr::SameName(name, "User")) return text(job.terms->user);
  if (expr::SameName(name, "Tasks")) return job.tasks.count();
  if (expr::SameName(name, "Async")) return job.terms->async ? 1 : 0;
  if (expr::SameName(name, "Priority")) return job.key.no_priority ? 0 : std::hash<std::int64_t>()(job.key.priority);
  if (expr::SameName(name, "Tags")) return 0;  // told apart by the class already
  if (!job.extras) return 0;
  for (const auto& [key, value] : *job.extras->meta) {
    if (expr::SameName(key, name)) return std::hash<MetaValue>()(value);
  }
  return 0;
}

bool SameText(const ExprPtr& a, const ExprPtr& b) { return a == b || (a && b && a->source() == b->source()); }

}  // namespace

bool operator==(const JobTerms& a, const JobTerms& b) {
  // The constraint tags follow from the constraints.
  return a.tags == b.tags && a.constraints == b.constraints && SameText(a.requirements, b.requirements) &&
         SameText(a.rank, b.rank) && a.user == b.user && a.async == b.async && a.max_attempts == b.max_attempts &&
         a.backoff == b.backoff && a.lease == b.lease && a.timeout == b.timeout &&
         a.max_failed_tasks == b.max_failed_tasks && a.retention == b.retention;
}

JobTerms Engine::TermsOf(const JobSpec& spec) {
  JobTerms terms;
  terms.tags = spec.tags;
  terms.constraints = spec.constraints;
  terms.constraint_tags = ConstraintTags(spec.constraints);
  terms.requirements = spec.requirements;
  terms.rank = spec.rank;
  terms.user = spec.user;
  terms.async = spec.async;
  terms.max_attempts = spec.max_attempts;
  terms.backoff = spec.backoff;
  terms.lease = spec.lease;
  terms.timeout = spec.timeout;
  terms.max_failed_tasks = spec.max_failed_tasks;
  terms.retention = spec.retention;
  return terms;
}

expr::Ad Engine::AdOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta) {
  expr::Ad ad;
  for (const auto& [name, value] : meta) ad.Set(name, ValueOf(value));
  ad.Set("User", expr::Value::String(terms.user));
  SetTags(ad, terms.tags);
  if (!key.no_priority) ad.Set("Priority", expr::Value::Integer(key.priority));
  ad.Set("Async", expr::Value::Boolean(terms.async));
  ad.Set("Tasks", expr::Value::Integer(count));
  return ad;
}

WorkerTraits Engine::TraitsOf(const EngineWorker& worker) {
  expr::Ad ad;
  for (const auto& [name, value] : worker.attributes) ad.Set(name, ValueOf(value));
  for (const auto& [name, value] : worker.properties) ad.Set(name, expr::Value::String(value));
  ad.Set("Name", expr::Value::String(worker.name));
  SetTags(ad, worker.tags);
  ad.Set("Slots", expr::Value::Integer(worker.slots));
  return WorkerTraits{worker.tags,         worker.properties, ConstraintTags(worker.properties),
                      worker.requirements, worker.rank,       std::make_shared<const expr::Ad>(std::move(ad))};
}

ClassTable::Terms Engine::ClassTerms(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                                     const JobFold* fold) const {
  MemoryPool::Scope scope(&memory_.classes);
  const std::function<expr::Ad()> ad = [&] { return AdOf(terms, key, count, meta); };
  return classes_.TermsOf(JobTraits{terms.tags, terms.constraint_tags, terms.requirements, terms.rank, ad, fold});
}

JobFold Engine::FoldOf(const JobSpec& spec) {
  if (!spec.requirements && !spec.rank) return {};
  const JobTerms terms = TermsOf(spec);
  const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
  const std::function<expr::Ad()> ad = [&] { return AdOf(terms, key, spec.count, spec.meta); };
  JobFold fold = FoldJob(JobTraits{terms.tags, terms.constraint_tags, terms.requirements, terms.rank, ad});
  if (terms.requirements) fold.never = Never(*terms.requirements, ad());
  return fold;
}

void Engine::Enter(EngineJob& job, std::string_view token, const JobFold* fold) {
  CHECK(job.cls == kNoClass);
  const Meta none;
  job.cls = Enter(*job.terms, job.key, job.tasks.count(), job.extras ? job.extras->meta : none, token, fold);
}

ClassId Engine::Enter(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                      std::string_view token, const JobFold* fold) {
  const ClassId cls = JoinClass(ClassTerms(terms, key, count, meta, fold), terms.user, token);
  if (fold != nullptr && fold->never && !reasons_.Judged(cls)) reasons_.Judge(cls, *fold->never);
  return cls;
}

void Engine::Leave(EngineJob& job) {
  if (job.cls == kNoClass) return;
  CHECK(!job.open);
  LeaveClass(job.cls);
  job.cls = kNoClass;
}

Result<void> Engine::AdmitClass(const ClassTable::Terms& terms, std::string_view user, std::string_view token) const {
  return classes_.Knows(terms) ? Result<void>() : AdmitClasses(user, 1, token, 1);
}

Result<void> Engine::AdmitReads(const WorkerTraits& traits) const {
  if (!traits.requirements && !traits.rank) return {};
  const std::uint64_t live = jobs_in_state_[0] + jobs_in_state_[1] + jobs_in_state_[2];
  if (live <= bounds::kMaxClasses) return {};
  const std::vector<std::string> fresh = classes_.FreshReads(traits);
  if (fresh.empty()) return {};
  // A look at so many jobs, evenly spread, shows whether they would be told apart too often.
  constexpr std::size_t kLookedAt = 4096;
  constexpr std::size_t kMostCompared = 500'000;  // names
  const std::size_t stride = std::max<std::size_t>(1, jobs_.places() / kLookedAt);
  SampledKinds apart;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < jobs_.places() && compared < kMostCompared; i += stride) {
    const EngineJob* job = jobs_.At(i);
    if (job == nullptr || job->cls == kNoClass) continue;
    std::size_t hash = job->cls;
    for (const std::string& name : fresh) {
      hash = (hash ^ HashOfAttribute(*job, name)) * 0x9E3779B97F4A7C15ull;
      compared += 1 + (job->extras ? job->extras->meta->size() : 0);
    }
    apart.Add(hash);
  }
  if (std::min(apart.Estimate(), static_cast<double>(live)) <= static_cast<double>(bounds::kMaxClasses)) return {};
  Error error = TooManyClasses();
  error.message = "the worker reads `" + fresh.front() + "` of jobs, which tells too many of them apart";
  error.hint = "let its requirements and rank read attributes with few different values";
  return error;
}

Result<void> Engine::ChangeWorker(const Now& now, WorkerId id, const WorkerChange& change) {
  Begin(now);
  EngineWorker* worker = FindWorker(id);
  if (worker == nullptr || !worker->registered) return UnknownWorker(id);
  if (change.requirements || change.rank) {
    WorkerTraits traits = *classes_.TraitsOf(worker->handle);
    if (change.requirements) traits.requirements = *change.requirements;
    if (change.rank) traits.rank = *change.rank;
    if (auto admitted = AdmitReads(traits); !admitted) return admitted.error();
  }
  StrategyPtr strategy;
  if (change.strategy) strategy = *change.strategy ? *change.strategy : DefaultStrategy();
  std::optional<Orders::Id> order;
  if (strategy) {
    auto used = UseStrategy(strategy, worker->charged_to);
    if (!used) return used.error();
    order = *used;
  }
  if (change.tags) {
    RememberTags(*worker);
    worker->tags = *change.tags;
  }
  if (change.properties) worker->properties = *change.properties;
  if (change.attributes) worker->attributes = *change.attributes;
  if (change.requirements) worker->requirements = *change.requirements;
  if (change.rank) worker->rank = *change.rank;
  if (order) {
    const bool waits = worker->waiting() && !worker->pull_strategy;
    const Orders::Id before = worker->order;
    worker->strategy = strategy;
    worker->order = *order;
    if (waits) MoveAmong(*worker, worker->waiting_kind);
    UnuseOrder(before);
  }
  crew_.current = false;
  const WorkerTraits traits = TraitsOf(*worker);
  limits_.ChangeWorker(worker->limited, traits.ad, now_);
  MemoryPool::Scope scope(&memory_.classes);
  classes_.ChangeWorker(worker->handle, traits);
  holds_->OnWorkers();
  Recount(*worker);
  if (worker->waiting()) MoveAmong(*worker, worker->waiting_kind);
  End();
  return {};
}

void Engine::RememberTags(const EngineWorker& worker) {
  constexpr std::size_t kMostTagsRemembered = 10'000;
  for (const std::string& tag : worker.tags) seen_tags_[tag] = now_.wall;
  if (seen_tags_.size() <= kMostTagsRemembered) return;
  // The older half is forgotten, so that this happens seldom.
  std::vector<WallTime> times;
  for (const auto& [tag, time] : seen_tags_) times.push_back(time);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::erase_if(seen_tags_, [&](const auto& entry) { return entry.second < *middle; });
  if (seen_tags_.size() > kMostTagsRemembered) seen_tags_.clear();  // all at one moment
}

MatchSnapshot Engine::SnapshotOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                                 std::optional<WorkerId> only) const {
  MatchSnapshot snapshot;
  for (const std::string& tag : terms.tags) {
    MatchSnapshot::Tag& entry = snapshot.tags.emplace_back(MatchSnapshot::Tag{tag, std::nullopt});
    if (const auto found = seen_tags_.find(tag); found != seen_tags_.end()) entry.last_seen = found->second;
  }
  snapshot.constraints = terms.constraints;
  snapshot.constraint_tags = terms.constraint_tags;
  snapshot.requirements = terms.requirements;
  snapshot.rank = terms.rank;
  snapshot.ad = std::make_shared<const expr::Ad>(AdOf(terms, key, count, meta));
  snapshot.queue_paused = paused_;
  snapshot.now = now_.wall;
  if (!only) {
    const Crew& crew = CrewNow();
    snapshot.workers = crew.rows;
    snapshot.kept = crew.kept;
  } else if (const EngineWorker* worker = FindWorker(*only); worker != nullptr && worker->registered) {
    snapshot.workers.push_back({*only, classes_.TraitsOf(worker->handle), worker->slots,
                                static_cast<std::uint32_t>(worker->leases.size()), worker->draining, worker->away});
  }
  return snapshot;
}

const Engine::Crew& Engine::CrewNow() const {
  if (!crew_.current) {
    auto kept = std::make_shared<std::vector<std::shared_ptr<const WorkerTraits>>>();
    kept->reserve(registered_workers_);
    crew_.workers.clear();
    crew_.rows.clear();
    for (const auto& [id, worker] : workers_) {
      if (!worker->registered) continue;
      kept->push_back(classes_.TraitsOf(worker->handle));
      crew_.workers.push_back(worker.get());
      // Without an owner: `kept` is that of all.
      crew_.rows.push_back({id, {std::shared_ptr<const WorkerTraits>(), kept->back().get()}});
    }
    crew_.kept = std::move(kept);
    crew_.current = true;
  }
  for (std::size_t i = 0; i < crew_.rows.size(); ++i) {
    const EngineWorker& worker = *crew_.workers[i];
    MatchSnapshot::Worker& row = crew_.rows[i];
    row.slots = worker.slots;
    row.leased = static_cast<std::uint32_t>(worker.leases.size());
    row.draining = worker.draining;
    row.away = worker.away;
  }
  return crew_;
}

Result<MatchSnapshot> Engine::Snapshot(JobId id) const {
  const EngineJob* job = FindJob(id);
  if (job == nullptr) return UnknownJob(id);
  const Meta none;
  MatchSnapshot snapshot =
      SnapshotOf(*job->terms, job->key, job->tasks.count(), job->extras ? job->extras->meta : none);
  snapshot.job = id;
  snapshot.state = job->state;
  snapshot.unsettled = job->cls != kNoClass && classes_.Unsettled(job->cls);
  snapshot.leased = job->tasks.out();
  if (Ended(job->state)) return snapshot;
  snapshot.ready = job->tasks.ready();
  snapshot.waiting = job->tasks.waiting();
  if (job->state == JobState::kScheduled) snapshot.scheduled_for = job->key.scheduled_for;
  snapshot.next_retry_at = job->tasks.NextDue();
  return snapshot;
}

MatchSnapshot Engine::Snapshot(const JobSpec& spec) const {
  const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
  MatchSnapshot snapshot = SnapshotOf(TermsOf(spec), key, spec.count, spec.meta);
  snapshot.ready = spec.count;
  const WallTime at = spec.scheduled_for.value_or(now_.wall + std::chrono::duration_cast<milliseconds>(spec.delay));
  if (at > now_.wall) {
    snapshot.state = JobState::kScheduled;
    snapshot.scheduled_for = at;
  }
  return snapshot;
}

void Engine::MoveWaiting(KindId from) {
  for (Orders::Id order = 0; order < waiting_.orders(); ++order) {
    std::vector<EngineWorker*> moved;
    if (const Waiting::Lists* lists = waiting_.Of(order, from)) {
      for (const auto& [profile, list] : *lists) {
        for (const EngineWorker& worker : list) {
          if (classes_.KindOf(worker.handle) != from) moved.push_back(FindWorker(worker.id));
        }
      }
    }
    for (EngineWorker* worker : moved) MoveAmong(*worker, classes_.KindOf(worker->handle));
  }
}

GroupText Engine::Keys::Get(const PickJob& picked, const StrategyKey& key) const {
  const auto& job = static_cast<const EngineJob&>(picked);
  switch (key.kind) {
    case StrategyKey::Kind::kUser:
      return job.terms->user.empty() ? std::nullopt : GroupText("s" + job.terms->user);
    case StrategyKey::Kind::kTag: {
      if (job.terms->tags.empty()) return std::nullopt;
      std::string text = "s";
      for (const std::string& tag : job.terms->tags) {
        if (text.size() > 1) text += ',';
        text += tag;
      }
      return text;
    }
    case StrategyKey::Kind::kAsync:
      return TextOf(job.terms->async);
    case StrategyKey::Kind::kPriority:
      return job.key.no_priority ? std::nullopt : TextOf(job.key.priority);
    case StrategyKey::Kind::kJob:
      return "s" + std::to_string(job.id().value);
    case StrategyKey::Kind::kMeta:
      break;
  }
  if (!job.extras) return std::nullopt;
  for (const auto& [name, value] : *job.extras->meta) {
    if (expr::SameName(name, key.name)) return TextOf(value);
  }
  return std::nullopt;
}

bool Engine::Keys::HasTag(const PickJob& job, const std::string& tag) const {
  const TagList& tags = static_cast<const EngineJob&>(job).terms->tags;
  return std::binary_search(tags.begin(), tags.end(), tag);
}

bool Engine::StepOrders(std::size_t& budget) {
  constexpr std::size_t kLookEvery = 64;  // jobs
  std::size_t jobs = 0;
  while (orders_.Building()) {
    orders_.BeginBuild();
    JobCursor cursor = JobCursor::After(orders_.built_to());
    const bool all = jobs_.Walk(cursor, [&](EngineJob* job) {
      if (budget == 0) return false;
      if (job == nullptr) {
        --budget;
        orders_.BuildPast(cursor.next);  // else a walk that ends among those begins there again, and again
        return true;
      }
      budget -= std::min(budget, orders_.build_cost());
      orders_.Build(*job);
      if (++jobs % kLookEvery == 0 && !Fits(0)) orders_.GiveUp();
      return true;
    });
    if (!all) return false;
    orders_.Built();
  }
  holds_->Renew();
  return orders_.Clean(budget);
}

void Engine::Verdicts::OnClass(ClassId cls) {
  engine_.orders_.OnClass(cls);
  engine_.reasons_.OnVerdicts(cls);
  engine_.dispatcher_->OnClass(cls);
  engine_.opened_.push_back(cls);
}

void Engine::Verdicts::OnKind(KindId kind) {
  engine_.orders_.OnKind(kind);
  engine_.reasons_.OnKind();
  engine_.dispatcher_->OnKind(kind);
  engine_.woken_.push_back(kind);
}

void Engine::Verdicts::OnMoved(KindId from) {
  engine_.dispatcher_->OnMoved(from);
  engine_.reasons_.OnMoved(from, [this](const ClassReasons::Member& member) {
    return engine_.classes_.KindOf(static_cast<const EngineWorker&>(member).handle);
  });
  engine_.MoveWaiting(from);
}

bool Engine::StepRenewal(std::size_t& budget) {
  const std::int64_t second = ToMillis(now_.wall) / 1000;
  if (classes_.Timed() && classes_.Settled() && second != renewed_at_) {
    renewed_at_ = second;
    classes_.Renew();
  }
  MemoryPool::Scope scope(&memory_.classes);
  return classes_.Settled() || classes_.Settle(budget);
}

bool Engine::StepRegrouping(std::size_t& budget) {
  constexpr std::size_t kRegroupCost = 4;
  if (grouped_epoch_ == classes_.epoch()) return true;
  if (regroup_epoch_ != classes_.epoch()) {
    regroup_epoch_ = classes_.epoch();
    regrouping_ = {};
  }
  const bool all = jobs_.Walk(regrouping_, [&](EngineJob* job) {
    if (budget == 0 || !orders_.MayTell()) return false;
    --budget;
    if (job == nullptr || job->cls == kNoClass || !classes_.Outdated(job->cls)) return true;
    budget -= std::min(budget, kRegroupCost + FoldCost(job->terms->requirements) + FoldCost(job->terms->rank));
    const Meta none;
    auto terms = ClassTerms(*job->terms, job->key, job->tasks.count(), job->extras ? job->extras->meta : none);
    // Where there is no room it stays where it is, and is not for those who read more of it.
    if (classes_.classes() >= bounds::kMaxClasses && !classes_.Knows(terms)) return true;
    const bool open = job->open;
    if (open) {
      dispatcher_->Close(*job);
      orders_.Close(*job);
    }
    const ClassId cls = JoinClass(std::move(terms), job->terms->user, TokenOf(job->cls));
    if (job->terms->requirements && !reasons_.Judged(cls)) {
      reasons_.Judge(cls, Never(*job->terms->requirements, AdOf(*job)));
    }
    if (job->counted_open) reasons_.Regroup(job->cls, cls, job->id(), job->counted_ready);
    LeaveClass(job->cls);
    job->cls = cls;
    Recell(*job);
    if (!open) return true;
    orders_.Open(*job);
    Promise(*job);
    opened_.push_back(cls);
    return true;
  });
  if (!all) return false;
  grouped_epoch_ = classes_.epoch();
  return true;
}

}  // namespace allot
