// SPDX-License-Identifier: Apache-2.0
#include "simulation/limits.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "strategy/some_strategy.h"

namespace allot::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t kLimitedWorkers = 20;

expr::Value ValueOf(const MetaValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return expr::Value::String(*text);
  if (const auto* number = std::get_if<std::int64_t>(&value)) return expr::Value::Integer(*number);
  if (const auto* real = std::get_if<double>(&value)) return expr::Value::Real(*real);
  return expr::Value::Boolean(std::get<bool>(value));
}

}  // namespace

Limits::Limits(std::uint64_t seed) : World(seed), large_(seed % 3 == 0), plain_(seed % 2 == 0) {
  policies_ = {ParseKnown("worker", true), ParseKnown("worker", true)};
  while (strategies_.size() < 8 || policies_.size() < 5) {
    bool worker = false;
    const StrategyPtr strategy = ParseKnown(testing::SomeStrategy(rng_, 2, worker));
    if (strategies_.size() < 8 && !(plain_ && MayBlock(*strategy))) strategies_.push_back(strategy);
    const StrategyPtr policy = ParseKnown(testing::SomePolicy(rng_, 2), true);
    if (policies_.size() < 5 && !(plain_ && MayBlock(*policy))) policies_.push_back(policy);
  }
  options_.policy = policies_[0];
  next_renewal_ = now_.mono + 1s;
  for (std::size_t i = 0; i < kLimitedWorkers; ++i) {
    AddWorkers(1);
    workers_.back().attributes = SomeAttributes();
  }
  LoadEngine(3s);
  for (Worker& worker : workers_) {
    ComeBack(worker);
    Settle();
  }
}

// --- What a limit says to a start.

std::uint32_t Limits::Looks(expr::Ad ad) {
  std::string text;
  ad.ForEach([&](std::string_view name, const expr::Value& value) {
    text += std::string(name) + "=" + expr::Print(value) + ";";
  });
  const auto [at, fresh] = look_ids_.emplace(text, static_cast<std::uint32_t>(looks_.size()));
  if (fresh) looks_.push_back(std::move(ad));
  return at->second;
}

std::uint32_t Limits::LooksOf(const JobSpec& spec) {
  expr::Ad ad;
  for (const auto& [name, value] : spec.meta) ad.Set(name, ValueOf(value));
  ad.Set("User", expr::Value::String(spec.user));
  ad.Set("Tasks", expr::Value::Integer(spec.count));
  if (spec.priority) ad.Set("Priority", expr::Value::Integer(*spec.priority));
  return Looks(std::move(ad));
}

std::uint32_t Limits::LooksOf(const Worker& worker) {
  expr::Ad ad;
  for (const auto& [name, value] : worker.attributes) ad.Set(name, ValueOf(value));
  ad.Set("Slots", expr::Value::Integer(worker.slots));
  return Looks(std::move(ad));
}

std::optional<std::int64_t> Limits::CostOf(const Limit& limit, const Job& job, const Worker& worker) {
  const std::uint64_t key = (std::uint64_t{limit.version} << 42) ^ (std::uint64_t{job.looks} << 21) ^ worker.looks;
  const auto [at, fresh] = costs_.try_emplace(key);
  if (!fresh) return at->second;
  const expr::Sides sides{&looks_[job.looks], &looks_[worker.looks], expr::Side::kJob, 0};
  if (!evaluator_.True(*limit.spec.expr, sides)) return at->second;
  at->second = 1'000'000;
  if (!limit.spec.cost) return at->second;
  const expr::Value cost = evaluator_.Evaluate(*limit.spec.cost, sides);
  if (!cost.is(expr::Type::kInteger) && !cost.is(expr::Type::kReal)) return at->second;
  const double number = cost.is(expr::Type::kInteger) ? static_cast<double>(cost.integer()) : cost.real();
  at->second = number > 0 ? std::llround(number * 1e6) : 0;
  return at->second;
}

void Limits::Start(const Worker& worker, const Grant& grant) {
  const Job& job = jobs_.at(grant.task.job);
  ++tally_["start"];
  bool limited = false;
  for (Limit& limit : limits_) {
    const auto cost = CostOf(limit, job, worker);
    if (!cost) continue;
    if (limit.ledger.Pays(*cost, now_.mono)) {
      limit.ledger.Draw(grant.task.lease.serial, *cost, now_.mono);
      limited = true;
    } else if (limit.spec.monitor) {
      ++tally_["start past a monitor"];
    } else {
      Wrong("a task of job " + ToText(grant.task.job) + " started, and limit " + limit.uuid + " with " +
            std::to_string(limit.ledger.Level(now_.mono)) + " left could not pay " + std::to_string(*cost));
    }
  }
  if (limited) ++tally_["start that draws"];
}

// The limit is gone: was all as it is to be, from its first start to its last?
void Limits::Close(std::size_t at) {
  const std::string wrong = limits_[at].ledger.Audit();
  if (!wrong.empty()) Wrong("limit " + limits_[at].uuid + ": " + wrong);
  limits_.erase(limits_.begin() + static_cast<std::ptrdiff_t>(at));
}

// --- What comes out.

void Limits::Settle() {
  auto [position, effects] = engine_->Take();
  // In one command all that ends does so before anything starts.
  for (const LimitNotice& notice : effects.limit_notices) {
    if (notice.kind == LimitNotice::Kind::kSummary) ++tally_["summary"];
    if (notice.kind == LimitNotice::Kind::kCostFailed) ++tally_["cost that fails"];
    if (notice.kind != LimitNotice::Kind::kExpired) continue;
    const auto limit =
        std::find_if(limits_.begin(), limits_.end(), [&](const Limit& one) { return one.uuid == notice.limit.uuid; });
    if (limit == limits_.end()) {
      Wrong("limit " + notice.limit.uuid + " has expired, and was gone");
      continue;
    }
    if (limit->expires > now_.mono) Wrong("limit " + limit->uuid + " expired too early");
    Close(static_cast<std::size_t>(limit - limits_.begin()));
    ++tally_["expired"];
  }
  for (const WorkerId id : effects.gone) {
    Find(id)->registered = false;
    ++tally_["gone"];
  }
  for (const Removal& removal : effects.removed) {
    DropRecords(removal.job);
    ++tally_["removed"];
  }
  started_.clear();
  decisions_.Note(effects);
  for (const GrantBatch& given : effects.grant_batches) {
    for (const Grant& grant : given.grants) {
      Start(*Find(given.worker), grant);
      started_.emplace_back(given.worker, grant.task);
    }
  }
  if (!effects.events.empty()) journal_[position] = std::move(effects.events);
  CheckLimits();
}

void Limits::CheckLimits() {
  const std::vector<LimitView> views = engine_->looks().Limits(now_, {});
  if (views.size() != limits_.size()) {
    return Wrong(std::to_string(views.size()) + " limits, and " + std::to_string(limits_.size()) + " in the books");
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    const LimitView& view = views[i];
    const Limit& limit = limits_[i];
    const auto wrong = [&](const std::string& what, double seen, double expected) {
      Wrong("limit " + limit.uuid + ": " + what + " " + std::to_string(seen) + ", in the books " +
            std::to_string(expected));
    };
    if (view.uuid != limit.uuid) return Wrong("limit " + limit.uuid + " is " + view.uuid);
    const double level = limit.ledger.Level(now_.mono);
    if (std::abs(view.tokens - level) > 1e-6) wrong("tokens", view.tokens, level);
    if (view.allowed != limit.ledger.allowed()) {
      wrong("starts", static_cast<double>(view.allowed), static_cast<double>(limit.ledger.allowed()));
    }
    if (std::abs(view.cost_allowed - limit.ledger.cost_allowed()) > 1e-6 * (1 + limit.ledger.cost_allowed())) {
      wrong("cost", view.cost_allowed, limit.ledger.cost_allowed());
    }
    if (view.expires_in != std::max(Duration::zero(), limit.expires - now_.mono)) {
      wrong("lease", static_cast<double>(view.expires_in.count()),
            static_cast<double>((limit.expires - now_.mono).count()));
    }
  }
}

// --- Who waits.

bool Limits::Plain(const Worker& worker) const {
  const Strategy& own = worker.pull.strategy ? *worker.pull.strategy : *worker.strategy;
  return !MayBlock(own) && !MayBlock(*options_.policy);
}

std::vector<JobView> Limits::Open() const {
  JobQuery query;
  query.limit = 1000;
  query.state = JobState::kActive;
  std::vector<JobView> open = engine_->looks().List(query).jobs;
  std::erase_if(open, [](const JobView& view) { return view.queued == 0; });
  return open;
}

std::optional<JobId> Limits::CouldStart(const Worker& worker, const std::vector<JobView>& open, bool surely) {
  for (const JobView& view : open) {
    const Job& job = jobs_.at(view.id);
    if (!std::includes(worker.tags.begin(), worker.tags.end(), job.spec.tags.begin(), job.spec.tags.end())) continue;
    const bool blocked = std::any_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
      if (limit.spec.monitor) return false;
      const auto cost = CostOf(limit, job, worker);
      return cost && !limit.ledger.Pays(*cost, now_.mono, surely);
    });
    if (!blocked) return view.id;
    ++tally_["held"];
  }
  return std::nullopt;
}

// What lists say of a job is what a look at every worker and limit says: somebody could start it, or nobody. It is as
// of the last second or so: only what stays wrong is wrong.
void Limits::CheckReasons(const std::vector<JobView>& open) {
  std::vector<const Worker*> free;
  for (const Worker& worker : workers_) {
    if (!worker.registered || worker.away || worker.draining) continue;
    if (!Plain(worker)) return;
    const auto view = engine_->looks().DescribeWorker(worker.id);
    if (view->running < view->slots) free.push_back(&worker);
  }
  std::map<JobId, Instant> unlike;
  for (const JobView& job : open) {
    if (!job.wait_reason) return Wrong("job " + ToText(job.id) + " has queued tasks and no reason");
    const ReasonCode code = job.wait_reason->code;
    // In the least fraction that a bucket may have lost, both are right.
    const bool could = std::any_of(free.begin(), free.end(), [&](const Worker* worker) {
      return CouldStart(*worker, {job}, code != ReasonCode::kCanStart);
    });
    if (code == ReasonCode::kBeingMatched) continue;
    ++tally_[std::string("is told ") + std::string(ReasonText(code))];
    if ((code == ReasonCode::kCanStart) == could) continue;
    const auto before = unlike_.find(job.id);
    const Instant since = unlike.emplace(job.id, before == unlike_.end() ? now_.mono : before->second).first->second;
    if (now_.mono - since > std::chrono::seconds(3)) {
      return Wrong("job " + ToText(job.id) + (could ? " could start" : " cannot start") + ", and lists say " +
                   std::string(ReasonText(code)) + " all the time");
    }
  }
  unlike_ = std::move(unlike);
}

void Limits::CheckWaiting() {
  if (paused_ || !Idle()) return;
  ++tally_["look at who waits"];
  const std::vector<JobView> open = Open();
  CheckReasons(open);
  const std::size_t from = rng_.Below(workers_.size());
  std::vector<Worker*> waiting;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& worker = workers_[(from + i) % workers_.size()];
    if (!worker.registered || worker.away || worker.draining) continue;
    const std::uint32_t credit = engine_->looks().DescribeWorker(worker.id)->credit;
    if (credit == 0) continue;
    worker.pull.credit = credit;
    waiting.push_back(&worker);
    if (!Plain(worker)) continue;
    ++tally_["waits"];
    if (const auto job = CouldStart(worker, open)) {
      return Wrong("worker " + ToText(worker.id) + " waits, and job " + ToText(*job) + " could start");
    }
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(2, waiting.size()); ++i) {
    CHECK(engine_->workers().Pull(now_, waiting[i]->id, waiting[i]->pull).ok());
    Settle();
    if (!started_.empty()) {
      const Strategy& own = waiting[i]->pull.strategy ? *waiting[i]->pull.strategy : *waiting[i]->strategy;
      return Wrong("worker " + ToText(waiting[i]->id) + " waited with " + PrintStrategy(own) + " in " +
                   PrintStrategy(*options_.policy) + ", and when it asks again job " + ToText(started_[0].second.job) +
                   " starts on " + ToText(started_[0].first));
    }
    ++tally_["asked again"];
  }
}

// --- Time.

void Limits::Pass(Duration time) {
  const Instant end = now_.mono + time;
  int at_once = 0;
  for (;;) {
    const auto wake = engine_->NextWake(now_);
    const Instant next = std::min(wake.value_or(end), std::min(end, next_renewal_));
    at_once = next > now_.mono ? 0 : at_once + 1;
    if (at_once > 1000) return Wrong("it wants a tick again and again");
    Move(std::max(next, now_.mono));
    if (now_.mono >= next_renewal_) {
      RenewKept();
      continue;
    }
    if (wake && *wake <= now_.mono) {
      engine_->Tick(now_);
      Settle();
      for (const Limit& limit : limits_) {
        if (limit.expires <= now_.mono && Idle()) {
          Wrong("limit " + limit.uuid + " outlives its lease");
        }
      }
      if (!wrong_.empty()) return;
      if (Chance(large_ ? 40 : 10)) CheckWaiting();
      continue;
    }
    if (now_.mono >= end) return;
  }
}

// The server is late: what comes next comes before the tick.
void Limits::Late() {
  Instant to = now_.mono + Duration(Between(1, 300'000));
  const std::optional<Instant> wake = engine_->NextWake(now_);
  if (wake && *wake < to && !Chance(3)) to = *wake;
  Move(std::max(to, now_.mono));
  if (Chance(2)) FailedCommand();
}

void Limits::Time(Duration most) {
  Pass(Duration(static_cast<std::int64_t>(Between(1, static_cast<std::uint64_t>(most.count())))));
}

// --- The store.

void Limits::Crash() {
  ++tally_["crash"];
  while (!limits_.empty()) Close(limits_.size() - 1);
  for (Worker& worker : workers_) worker.registered = worker.away = worker.draining = false;
  Move(now_.mono + 1s);
  LoadEngine(Chance(4) ? 0s : 3s);
  Settle();
  for (Worker& worker : workers_) {
    if (Chance(4)) continue;
    ComeBack(worker);
    Settle();
  }
}

// --- Things that happen.

bool Limits::Step() {
  ++steps_;
  const std::uint64_t dice = rng_.Below(1000);
  if (dice < 100) {
    Submit(false);
  } else if (dice < 105) {
    for (std::uint64_t i = large_ ? Between(50, 250) : Between(2, 8); i > 0; --i) Submit(large_);
  } else if (dice < 330) {
    PullOne();
  } else if (dice < 335) {
    PullAndVanish();
  } else if (dice < 500) {
    Report();
  } else if (dice < 590) {
    Register();
  } else if (dice < 610) {
    WorkerLeaves();
  } else if (dice < 640) {
    WorkerChanges();
  } else if (dice < 680) {
    JobCommand();
  } else if (dice < 710) {
    ChangeJob();
  } else if (dice < 720) {
    PauseOrResume();
  } else if (dice < 740) {
    FailedCommand();
  } else if (dice < 744) {
    SetPolicy();
  } else if (dice < 770) {
    CreateLimit();
  } else if (dice < 810) {
    UpdateLimit();
  } else if (dice < 817) {
    EndLimit();
  } else if (dice < 967) {
    Time(Chance(8) ? 6s : 400ms);
  } else if (dice < 987) {
    Late();
  } else if (dice < 998) {
    FoldSome();
  } else if (Chance(2)) {
    Crash();
  }
  Settle();
  if (wrong_.empty() && Chance(large_ ? 10 : 2)) CheckWaiting();
  return wrong_.empty();
}

bool Limits::Finish() {
  ++steps_;
  if (paused_) engine_->queue().Resume(now_);
  paused_ = false;
  options_.policy = policies_[0];
  engine_->queue().SetPolicy(now_, options_.policy, {});
  Settle();
  for (Limit& limit : limits_) limit.kept = false;
  Pass(30s);
  if (wrong_.empty() && !limits_.empty()) Wrong("a limit outlived its lease");
  if (wrong_.empty() && engine_->looks().Stats().limits_waiting != 0) Wrong("something waits for a limit that is gone");
  if (wrong_.empty()) CheckWaiting();
  return wrong_.empty();
}

}  // namespace allot::simulation
