// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_ad.h"

#include <algorithm>

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

bool SameText(const ExprPtr& a, const ExprPtr& b) { return a == b || (a && b && a->source() == b->source()); }

}  // namespace

bool operator==(const JobTerms& a, const JobTerms& b) {
  // The constraint tags follow from the constraints.
  return a.tags == b.tags && a.constraints == b.constraints && SameText(a.requirements, b.requirements) &&
         SameText(a.rank, b.rank) && a.user == b.user && a.async == b.async && a.max_attempts == b.max_attempts &&
         a.backoff == b.backoff && a.lease == b.lease && a.timeout == b.timeout &&
         a.max_failed_tasks == b.max_failed_tasks && a.retention == b.retention;
}

JobTerms TermsOf(const JobSpec& spec) {
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

expr::Ad AdOf(const JobTerms& terms, const OrderKey& key, std::uint32_t count, const Meta& meta) {
  expr::Ad ad;
  for (const auto& [name, value] : meta) ad.Set(name, ValueOf(value));
  ad.Set("User", expr::Value::String(terms.user));
  SetTags(ad, terms.tags);
  if (!key.no_priority) ad.Set("Priority", expr::Value::Integer(key.priority));
  ad.Set("Async", expr::Value::Boolean(terms.async));
  ad.Set("Tasks", expr::Value::Integer(count));
  return ad;
}

expr::Ad AdOf(const EngineJob& job) { return AdOf(*job.terms, job.key, job.tasks.count(), MetaOf(job)); }

WorkerTraits TraitsOf(const EngineWorker& worker) {
  expr::Ad ad;
  for (const auto& [name, value] : worker.attributes) ad.Set(name, ValueOf(value));
  for (const auto& [name, value] : worker.properties) ad.Set(name, expr::Value::String(value));
  ad.Set("Name", expr::Value::String(worker.name));
  SetTags(ad, worker.tags);
  ad.Set("Slots", expr::Value::Integer(worker.slots));
  return WorkerTraits{worker.tags,         worker.properties, ConstraintTags(worker.properties),
                      worker.requirements, worker.rank,       std::make_shared<const expr::Ad>(std::move(ad))};
}

JobFold FoldOf(const JobSpec& spec) {
  if (!spec.requirements && !spec.rank) return {};
  const JobTerms terms = TermsOf(spec);
  const OrderKey key{!spec.priority.has_value(), spec.priority.value_or(0), {}, {}};
  const std::function<expr::Ad()> ad = [&] { return AdOf(terms, key, spec.count, spec.meta); };
  JobFold fold = FoldJob(JobTraits{terms.tags, terms.constraint_tags, terms.requirements, terms.rank, ad});
  if (terms.requirements) fold.never = Never(*terms.requirements, ad());
  return fold;
}

bool Never(const expr::Expr& requirements, const expr::Ad& ad) {
  const expr::Sides sides{&ad, nullptr, expr::Side::kJob, 0};
  expr::Evaluator evaluator;
  for (const ExprPtr& clause : requirements.Clauses()) {
    if (clause->UsesTime()) continue;
    // What reads the worker may still be the same for every one.
    const ExprPtr left = clause->Reads(expr::Side::kMachine, expr::Side::kJob) ? expr::Flatten(*clause, sides) : clause;
    if (left != clause && !left->Constant()) continue;
    if (!evaluator.True(*left, sides)) return true;
  }
  return false;
}

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

}  // namespace allot
