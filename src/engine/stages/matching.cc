// SPDX-License-Identifier: Apache-2.0
#include "engine/stages/matching.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/bounds.h"
#include "base/check.h"
#include "base/sampled_kinds.h"
#include "base/text.h"
#include "engine/errors.h"
#include "engine/jobs/job_ad.h"
#include "engine/parts.h"

namespace allot {
namespace {

// What folding costs at most, in about a microsecond.
std::size_t FoldCost(const ExprPtr& expr) {
  constexpr std::size_t kBytesInAMicrosecond = 16;
  return expr ? expr->source().size() / kBytesInAMicrosecond : 0;
}

}  // namespace

ClassTable::Terms Matching::ClassTerms(const JobTerms& terms, const OrderKey& key, std::uint32_t count,
                                       const Meta& meta, const JobFold* fold) const {
  MemoryPool::Scope scope(&p_.memory.classes);
  const std::function<expr::Ad()> ad = [&] { return AdOf(terms, key, count, meta); };
  return p_.classes.TermsOf(JobTraits{terms.tags, terms.constraint_tags, terms.requirements, terms.rank, ad, fold});
}

void Matching::Enter(EngineJob& job, std::string_view token, const JobFold* fold) {
  CHECK(job.cls == kNoClass);
  job.cls = Enter(*job.terms, job.key, job.tasks.count(), MetaOf(job), token, fold);
}

ClassId Matching::Enter(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta,
                        std::string_view token, const JobFold* fold) {
  const ClassId cls = JoinClass(ClassTerms(terms, key, count, meta, fold), terms.user, token);
  if (fold != nullptr && fold->never && !p_.reasons.Judged(cls)) p_.reasons.Judge(cls, *fold->never);
  return cls;
}

void Matching::Leave(EngineJob& job) {
  if (job.cls == kNoClass) return;
  CHECK(!job.open);
  LeaveClass(job.cls);
  job.cls = kNoClass;
}

ClassId Matching::JoinClass(ClassTable::Terms terms, std::string_view user, std::string_view token) {
  MemoryPool::Scope scope(&p_.memory.classes);
  const std::size_t before = p_.classes.classes();
  const ClassId cls = p_.classes.AddJob(std::move(terms));
  if (p_.classes.classes() == before) return cls;
  if (class_owners_.size() <= cls) class_owners_.resize(cls + 1);
  class_owners_[cls].user = &class_users_.Take(user);
  class_owners_[cls].token = &class_tokens_.Take(token);
  return cls;
}

void Matching::LeaveClass(ClassId cls) {
  MemoryPool::Scope scope(&p_.memory.classes);
  const std::size_t before = p_.classes.classes();
  p_.classes.DropJob(cls);
  if (p_.classes.classes() == before) return;
  const ClassOwner owner = std::exchange(class_owners_[cls], {});
  class_users_.Give(*owner.user);
  class_tokens_.Give(*owner.token);
}

std::string_view Matching::TokenOf(ClassId cls) const { return class_owners_[cls].token->first; }

// --- Is there room?

Result<void> Matching::AdmitClass(const ClassTable::Terms& terms, std::string_view user, std::string_view token) const {
  return p_.classes.Knows(terms) ? Result<void>() : AdmitClasses(user, 1, token, 1);
}

Result<void> Matching::AdmitClasses(std::string_view user, std::size_t of_user, std::string_view token,
                                    std::size_t of_token) const {
  if (p_.classes.classes() + of_user > bounds::kMaxClasses) return TooManyClasses();
  const bool users = class_users_.Admits(user, of_user);
  if (users && (token.empty() || class_tokens_.Admits(token, of_token))) return {};
  const QuotaPool& pool = users ? class_tokens_ : class_users_;
  const std::string owner = !users ? (user.empty() ? "jobs without a user" : "jobs of the user " + std::string(user))
                                   : "jobs of the token " + std::string(token);
  Error error = TooManyClasses();
  error.message = owner + " differ in " + FormatCount(pool.Of(users ? token : user)) +
                  " ways that decide on their workers, of the " + FormatCount(bounds::kMaxClasses) +
                  " that all in the queue share; what is left is kept for others";
  return error;
}

Result<void> Matching::AdmitClasses(std::span<const JobSpec> specs, std::span<const JobFold> folds) const {
  // Nearly always there is room for all of them, were each a class of its own.
  const bool room = std::all_of(specs.begin(), specs.end(), [&](const JobSpec& spec) {
    return class_users_.Admits(spec.user, specs.size()) &&
           (spec.token.empty() || class_tokens_.Admits(spec.token, specs.size()));
  });
  if (room && p_.classes.classes() + specs.size() <= bounds::kMaxClasses) return {};
  std::map<std::string_view, std::size_t> users, tokens;  // new classes of each
  std::set<std::string> fresh;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const JobSpec& spec = specs[i];
    const JobTerms terms = TermsOf(spec);
    const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
    const auto class_terms = ClassTerms(terms, key, spec.count, spec.meta, folds.empty() ? nullptr : &folds[i]);
    if (p_.classes.Knows(class_terms) || !fresh.insert(class_terms.key()).second) continue;
    auto admitted = AdmitClasses(spec.user, ++users[spec.user], spec.token, ++tokens[spec.token]);
    if (!admitted) return admitted;
  }
  if (!fresh.empty() && p_.classes.classes() + fresh.size() > bounds::kMaxClasses) return TooManyClasses();
  return {};
}

Result<void> Matching::AdmitReads(const WorkerTraits& traits) const {
  if (!traits.requirements && !traits.rank) return {};
  const std::uint64_t live = p_.tallies.live_jobs();
  if (live <= bounds::kMaxClasses) return {};
  const std::vector<std::string> fresh = p_.classes.FreshReads(traits);
  if (fresh.empty()) return {};
  // A look at so many jobs, evenly spread, shows whether they would be told apart too often.
  constexpr std::size_t kLookedAt = 4096;
  constexpr std::size_t kMostCompared = 500'000;  // names
  const std::size_t stride = std::max<std::size_t>(1, p_.jobs.places() / kLookedAt);
  SampledKinds apart;
  std::size_t compared = 0;
  for (std::size_t i = 0; i < p_.jobs.places() && compared < kMostCompared; i += stride) {
    const EngineJob* job = p_.jobs.At(i);
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

// --- In steps.

bool Matching::StepRenewal(std::size_t& budget) {
  const std::int64_t second = ToMillis(p_.clock.now.wall) / 1000;
  if (p_.classes.Timed() && p_.classes.Settled() && second != renewed_at_) {
    renewed_at_ = second;
    p_.classes.Renew();
  }
  MemoryPool::Scope scope(&p_.memory.classes);
  return p_.classes.Settled() || p_.classes.Settle(budget);
}

bool Matching::StepRegrouping(std::size_t& budget) {
  constexpr std::size_t kRegroupCost = 4;
  if (grouped_epoch_ == p_.classes.epoch()) return true;
  if (regroup_epoch_ != p_.classes.epoch()) {
    regroup_epoch_ = p_.classes.epoch();
    regrouping_ = {};
  }
  const bool all = p_.jobs.Walk(regrouping_, [&](EngineJob* job) {
    if (budget == 0 || !p_.orders.updates().MayUpdate()) return false;
    --budget;
    if (job == nullptr || job->cls == kNoClass || !p_.classes.Outdated(job->cls)) return true;
    budget -= std::min(budget, kRegroupCost + FoldCost(job->terms->requirements) + FoldCost(job->terms->rank));
    auto terms = ClassTerms(*job->terms, job->key, job->tasks.count(), MetaOf(*job));
    // Where there is no room it stays where it is, and is not for those who read more of it.
    if (p_.classes.classes() >= bounds::kMaxClasses && !p_.classes.Knows(terms)) return true;
    const bool open = job->open;
    if (open) p_.flow.Close(*job, JobFlow::Grouping::kKept);
    const ClassId cls = JoinClass(std::move(terms), job->terms->user, TokenOf(job->cls));
    if (job->terms->requirements && !p_.reasons.Judged(cls)) {
      p_.reasons.Judge(cls, Never(*job->terms->requirements, AdOf(*job)));
    }
    if (job->counted_open) p_.reasons.Regroup(job->cls, cls, job->id(), job->counted_queued);
    LeaveClass(job->cls);
    job->cls = cls;
    p_.tallies.Recell(*job);
    if (!open) return true;
    p_.flow.Open(*job, JobFlow::Grouping::kKept);
    return true;
  });
  if (!all) return false;
  grouped_epoch_ = p_.classes.epoch();
  return true;
}

void Matching::RegroupFrom(JobId job) {
  if (grouped_epoch_ != p_.classes.epoch()) return;
  regroup_epoch_ = grouped_epoch_;
  regrouping_ = {job};
  grouped_epoch_ = 0;
}

void Matching::AfterCommand(std::size_t& budget) {
  if (busy()) StepRegrouping(budget);
}

void Matching::Tick(TickBudget& tick) {
  if (!tick.through) return;
  tick.through = StepRenewal(tick.due) && (StepRegrouping(tick.due) || tick.due > 0);
}

void Matching::AddWakes(NextTick& next) const {
  if (works() > 0) next.AtOnce();
  if (p_.classes.Timed()) next.At(next.now().mono + milliseconds(1000 - ToMillis(next.now().wall) % 1000));
}

std::size_t Matching::works() const { return (busy() ? 1 : 0) + (p_.classes.Settled() ? 0 : 1); }

bool Matching::busy() const { return grouped_epoch_ != p_.classes.epoch(); }

// --- What verdicts change.

void Verdicts::OnWidth() { p_.orders.OnWidth(); }

void Verdicts::OnClass(ClassId cls) {
  p_.orders.OnClass(cls);
  p_.reasons.OnVerdicts(cls);
  p_.dispatcher.OnClass(cls);
  p_.wakes.opened.push_back(cls);
}

void Verdicts::OnKind(KindId kind) {
  p_.orders.OnKind(kind);
  p_.reasons.OnKind();
  p_.dispatcher.OnKind(kind);
  p_.wakes.kinds.push_back(kind);
}

void Verdicts::OnMoved(KindId from) {
  p_.dispatcher.OnMoved(from);
  p_.reasons.OnMoved(from, [this](const ClassReasons::Member& member) {
    return p_.classes.KindOf(static_cast<const EngineWorker&>(member).handle);
  });
  p_.pulls.MoveWaiting(from);
}

}  // namespace allot
