// SPDX-License-Identifier: Apache-2.0
// The table against the plainest way to say what it does: for every start, every limit is evaluated, on all that job
// and worker show.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "limits/testing.h"

namespace allot {
namespace {

using namespace std::chrono_literals;
using expr::Value;
using testing::AdOf;
using testing::AtTime;
using testing::Attributes;
using testing::MustParseLimit;

struct Job {
  std::string user;
  std::shared_ptr<const expr::Ad> ad;
  GroupId group = 0;
  std::uint64_t epoch = 0;
};
struct Worker {
  std::shared_ptr<const expr::Ad> ad;
  LimitTable::WorkerHandle handle = 0;
};
struct Start {
  Duration at;
  Tokens amount;
};
struct ModelLimit {
  LimitSpec spec;
  Bucket bucket;
  Instant expires;
  bool same_terms = true;  // since it was made
  double deepest = 0;      // burst that it has had
  std::vector<Start> starts;
  std::uint64_t allowed = 0;
};
struct Open {  // a start that may still come back
  LimitTable::Drawn drawn;
  Duration at;
  std::vector<std::pair<std::string, Bucket::Taking>> takings;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : rng_(seed) {}

  void Run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFatalFailure(); ++step) {
      const std::uint64_t what = rng_.Below(100);
      if (what < 4) {
        CreateLimit();
      } else if (what < 8) {
        UpdateLimit();
      } else if (what < 10) {
        DeleteLimit();
      } else if (what < 18) {
        AddOrDropJob();
      } else if (what < 24) {
        ChangeWorkers();
      } else if (what < 40) {
        PassTime();
      } else if (what < 48) {
        Settle();
      } else {
        DrawOnce();
      }
    }
    while (!open_.empty()) Settle();
    for (const auto& [uuid, limit] : limits_) CheckIntervals(limit);
  }

 private:
  template <typename T>
  const T& OneOf(const std::vector<T>& all) {
    return all[rng_.Below(all.size())];
  }
  std::string SomeUuid() {
    if (limits_.empty()) return "none";
    auto at = limits_.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(rng_.Below(limits_.size())));
    return at->first;
  }

  LimitSpec SomeSpec() {
    static const std::vector<std::string> kExprs = {
        "true",
        "MY.User == \"u1\"",
        "JOB.User != \"u1\"",
        "MY.Weight > 1",
        "MY.Missing == 1",
        "MY.User == \"u0\" && TARGET.Site == \"x\"",
        "TARGET.Site == \"y\"",
        "Site == \"x\" || MY.User == \"u2\"",
        "MACHINE.Slots > JOB.Weight",
        "TARGET.Nowhere =?= undefined && MY.User == \"u3\"",
    };
    static const std::vector<std::string> kCosts = {"",   "", "2", "MY.Weight", "TARGET.Slots", "MY.Weight * Slots / 2",
                                                    "0.3"};
    static const std::vector<double> kCounts = {0, 1, 2, 3.5, 10, 50};
    LimitSpec spec = testing::SomeLimit("true", OneOf(kCounts));
    spec.expr = MustParseLimit(OneOf(kExprs));
    spec.cost = MustParseLimit(OneOf(kCosts));
    spec.window = Duration(1 + static_cast<std::int64_t>(rng_.Below(20'000'000)));
    spec.burst = rng_.Below(2) == 0 ? 0 : static_cast<double>(rng_.Below(4));
    spec.max_burst_cost = rng_.Below(3) == 0 ? 1.5 : 0;
    spec.expires_in = 1s * (1 + rng_.Below(60));
    spec.monitor = rng_.Below(6) == 0;
    return spec;
  }

  void CreateLimit() {
    if (limits_.size() > 12) return;
    const LimitSpec spec = SomeSpec();
    const std::string uuid = "l" + std::to_string(++made_);
    ASSERT_TRUE(table_.Create(uuid, spec, now_).ok());
    limits_.emplace(
        uuid,
        ModelLimit{spec, Bucket(TermsOf(spec), now_.mono), now_.mono + *spec.expires_in, true, spec.burst, {}, 0});
  }

  void UpdateLimit() {
    const std::string uuid = SomeUuid();
    LimitSpec spec = SomeSpec();
    const auto found = limits_.find(uuid);
    if (found != limits_.end() && rng_.Below(2) == 0) {
      // Something else than the bucket.
      const ModelLimit& limit = found->second;
      spec.count = limit.spec.count, spec.window = limit.spec.window, spec.burst = limit.spec.burst;
      spec.max_burst_cost = limit.spec.max_burst_cost, spec.monitor = limit.spec.monitor;
    }
    const bool ok = table_.Update(uuid, spec, now_).ok();
    ASSERT_EQ(ok, found != limits_.end());
    if (!ok) return;
    ModelLimit& limit = found->second;
    limit.same_terms = limit.same_terms && TermsOf(limit.spec) == TermsOf(spec) && limit.spec.monitor == spec.monitor;
    limit.bucket.Update(TermsOf(spec), now_.mono);
    limit.deepest = std::max(limit.deepest, spec.burst);
    limit.spec = spec;
    limit.expires = now_.mono + *spec.expires_in;
  }

  void DeleteLimit() {
    const std::string uuid = SomeUuid();
    ASSERT_EQ(table_.Delete(uuid, now_).ok(), limits_.contains(uuid));
    Gone(uuid);
  }

  void Gone(const std::string& uuid) {
    const auto found = limits_.find(uuid);
    if (found == limits_.end()) return;
    CheckIntervals(found->second);
    limits_.erase(found);
  }

  void AddOrDropJob() {
    if (jobs_.size() > 15 || (!jobs_.empty() && rng_.Below(3) == 0)) {
      const std::size_t which = rng_.Below(jobs_.size());
      table_.DropJob(jobs_[which].group, now_);
      jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(which));
      return;
    }
    static const std::vector<Value> kWeights = {Value::Undefined(),  Value::Integer(0),      Value::Integer(1),
                                                Value::Integer(-2),  Value::Real(2.5),       Value::Integer(7),
                                                Value::Integer(500), Value::String("heavy"), Value::Boolean(true)};
    Job job;
    job.user = "u" + std::to_string(rng_.Below(4));
    Attributes attributes = {{"User", Value::String(job.user)}, {"Weight", OneOf(kWeights)}};
    if (rng_.Below(4) == 0) attributes.emplace_back("Site", Value::String("x"));
    job.ad = std::make_shared<const expr::Ad>(AdOf(attributes));
    Group(job);
    jobs_.push_back(std::move(job));
  }

  void Group(Job& job) {
    job.group = table_.AddJob([&] {
      expr::Ad copy;
      job.ad->ForEach([&](std::string_view name, const Value& value) { copy.Set(name, value); });
      return copy;
    });
    job.epoch = table_.epoch();
  }

  void ChangeWorkers() {
    Attributes attributes;
    if (rng_.Below(4) != 0) attributes.emplace_back("Site", Value::String(rng_.Below(2) == 0 ? "x" : "y"));
    if (rng_.Below(3) != 0) attributes.emplace_back("Slots", Value::Integer(static_cast<std::int64_t>(rng_.Below(4))));
    const auto ad = std::make_shared<const expr::Ad>(AdOf(attributes));
    if (workers_.size() < 2 || (workers_.size() < 8 && rng_.Below(2) == 0)) {
      workers_.push_back({ad, table_.AddWorker(ad)});
      return;
    }
    const std::size_t which = rng_.Below(workers_.size());
    if (rng_.Below(2) == 0) {
      table_.ChangeWorker(workers_[which].handle, ad, now_);
      workers_[which].ad = ad;
    } else {
      table_.DropWorker(workers_[which].handle, now_);
      workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }

  void PassTime() {
    const Duration step = rng_.Below(4) == 0 ? Duration(static_cast<std::int64_t>(rng_.Below(5'000'000)))
                                             : Duration(static_cast<std::int64_t>(rng_.Below(300'000)));
    Instant next = now_.mono + step;
    if (const auto payable = table_.waits().NextPayable(); payable && *payable > now_.mono && rng_.Below(2) == 0)
      next = std::min(next, *payable);
    now_ = AtTime(next.time_since_epoch());
    std::set<std::string> gone, due;
    for (const LimitName& name : table_.Expire(now_)) gone.insert(name.uuid);
    for (const auto& [uuid, limit] : limits_) {
      if (limit.expires <= now_.mono) due.insert(uuid);
    }
    ASSERT_EQ(gone, due);
    for (const std::string& uuid : gone) Gone(uuid);
    // Renewed every second, all of them that are not left to expire.
    if (now_.mono >= next_renewal_) {
      next_renewal_ = now_.mono + 1s;
      for (auto& [uuid, limit] : limits_) {
        if (rng_.Below(20) == 0) continue;
        ASSERT_TRUE(table_.Renew(uuid, {}, now_).ok());
        limit.expires = now_.mono + *limit.spec.expires_in;
      }
    }
    table_.waits().TakePayable(now_);
    CheckBlocked();
    CheckViews();
  }

  // What applies to a start, as the design says.
  std::map<std::string, Tokens> Matching(const Job& job, const expr::Ad* worker) {
    std::map<std::string, Tokens> costs;
    const expr::Sides sides{job.ad.get(), worker, expr::Side::kJob, 0};
    for (const auto& [uuid, limit] : limits_) {
      if (!evaluator_.True(*limit.spec.expr, sides)) continue;
      Tokens cost = Tokens::Of(1.0);
      if (limit.spec.cost) {
        const Value value = evaluator_.Evaluate(*limit.spec.cost, sides);
        if (value.is(expr::Type::kInteger)) cost = Tokens::Of(static_cast<double>(value.integer()));
        if (value.is(expr::Type::kReal)) cost = Tokens::Of(value.real());
      }
      costs.emplace(uuid, cost);
    }
    return costs;
  }
  bool Denies(const ModelLimit& limit, Tokens cost) const {
    return !limit.spec.monitor && (limit.spec.count == 0 || !limit.bucket.CanPay(cost, now_.mono));
  }
  // Those that deny, and when the last of them will not any more.
  std::set<std::string> Denying(const std::map<std::string, Tokens>& costs, std::optional<Instant>& payable_at) const {
    std::set<std::string> denying;
    payable_at = now_.mono;
    for (const auto& [uuid, cost] : costs) {
      const ModelLimit& limit = limits_.at(uuid);
      if (!Denies(limit, cost)) continue;
      denying.insert(uuid);
      const std::optional<Instant> at = limit.spec.count == 0 ? std::nullopt : limit.bucket.CanPayAt(cost, now_.mono);
      payable_at = payable_at && at ? std::optional(std::max(*payable_at, *at)) : std::nullopt;
    }
    return denying;
  }

  void DrawOnce() {
    if (jobs_.empty() || workers_.empty()) return;
    Job& job = jobs_[rng_.Below(jobs_.size())];
    const Worker& worker = OneOf(workers_);
    if (job.epoch != table_.epoch()) {
      table_.DropJob(job.group, now_);
      Group(job);
    }
    const std::map<std::string, Tokens> costs = Matching(job, worker.ad.get());
    std::optional<Instant> payable_at;
    const std::set<std::string> denying = Denying(costs, payable_at);
    ASSERT_EQ(table_.looks().CanStart(job.group, worker.handle, now_), denying.empty());
    LimitTable::Outcome outcome = table_.Draw(job.group, worker.handle, job.user, now_);
    ASSERT_EQ(outcome.allowed(), denying.empty());
    if (!outcome.allowed()) {
      std::set<std::string> named;
      for (const auto slot : outcome.denial->limits) named.insert(table_.looks().NameOf(slot).uuid);
      ASSERT_EQ(named, denying);
      ASSERT_EQ(outcome.denial->payable_at, payable_at);
      ASSERT_TRUE(table_.waits().Blocked(job.group, worker.handle, now_));
      if (outcome.denial->any_worker) {
        ASSERT_TRUE(table_.waits().Blocked(job.group));
      }
      return;
    }
    Open open{std::move(outcome.drawn), now_.mono.time_since_epoch(), {}};
    for (const auto& [uuid, cost] : costs) {
      ModelLimit& limit = limits_.at(uuid);
      if (limit.spec.monitor && (limit.spec.count == 0 || !limit.bucket.CanPay(cost, now_.mono))) continue;
      open.takings.emplace_back(uuid, limit.bucket.Draw(cost, now_.mono));
      ++limit.allowed;
    }
    ASSERT_EQ(open.drawn.size(), open.takings.size());
    open_.push_back(std::move(open));
  }

  // A start has left, or comes back.
  void Settle() {
    if (open_.empty()) return;
    const std::size_t which = rng_.Below(open_.size());
    const Open open = std::move(open_[which]);
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(which));
    const bool back = rng_.Below(3) == 0;
    if (back) table_.Refund(open.drawn, now_);
    for (const auto& [uuid, taking] : open.takings) {
      const auto found = limits_.find(uuid);
      if (found == limits_.end()) continue;
      if (back) {
        found->second.bucket.Refund(taking, now_.mono);
        --found->second.allowed;
      } else {
        found->second.starts.push_back({open.at, taking.amount});
      }
    }
  }

  // Called when all that can pay has been taken.
  void CheckBlocked() {
    const std::optional<Instant> next = table_.waits().NextPayable();
    ASSERT_TRUE(!next || *next > now_.mono);
    for (const Job& job : jobs_) {
      for (const Worker& worker : workers_) {
        if (!table_.waits().Blocked(job.group, worker.handle, now_)) continue;
        std::optional<Instant> payable_at;
        // Blocked by what it was grouped by; limits since then can only add to that.
        ASSERT_FALSE(Denying(Matching(job, worker.ad.get()), payable_at).empty());
        if (payable_at) {
          ASSERT_TRUE(next && *next <= *payable_at) << "nobody would wake it";
        }
      }
    }
  }

  void CheckViews() {
    const auto views = table_.looks().List({}, now_);
    ASSERT_EQ(views.size(), limits_.size());
    std::size_t waiting = 0;
    for (const LimitView& view : views) {
      const ModelLimit& limit = limits_.at(view.uuid);
      ASSERT_EQ(view.allowed, limit.allowed);
      ASSERT_EQ(view.tokens, limit.bucket.Level(now_.mono));
      ASSERT_EQ(view.expires_in, limit.expires - now_.mono);
      ASSERT_LE(view.tokens, limit.spec.count);
      ASSERT_GE(view.tokens, -limit.deepest);
      waiting += view.waiting;
    }
    ASSERT_EQ(waiting, table_.waits().size());
  }

  void CheckIntervals(const ModelLimit& limit) {
    if (!limit.same_terms || limit.spec.monitor) return;
    std::vector<Start> starts = limit.starts;
    std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at < b.at; });
    const BucketTerms terms = TermsOf(limit.spec);
    for (std::size_t from = 0; from < starts.size(); ++from) {
      __int128 sum = 0;
      for (std::size_t to = from; to < starts.size(); ++to) {
        sum += starts[to].amount.millionths;
        const __int128 window = terms.window.count();
        const __int128 most = (__int128{terms.count.millionths} + terms.burst.millionths) * window +
                              __int128{terms.count.millionths} * (starts[to].at - starts[from].at).count();
        ASSERT_LE(sum * window, most);
      }
    }
  }

  Rng rng_;
  LimitTable table_;
  Now now_ = AtTime(1s);
  Instant next_renewal_{};
  expr::Evaluator evaluator_;
  std::map<std::string, ModelLimit> limits_;
  int made_ = 0;
  std::vector<Job> jobs_;
  std::vector<Worker> workers_;
  std::vector<Open> open_;
};

TEST(LimitProperty, TheTableDoesWhatEvaluatingEverythingEachTimeDoes) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Simulation(seed).Run(1500);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace allot
