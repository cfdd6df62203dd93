// SPDX-License-Identifier: Apache-2.0
#include "engine/jobs/job_table.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "base/check.h"

namespace allot {
namespace {

// Over every field: jobs that differ in one alone must not pile up under one hash.
std::size_t HashOf(const JobTerms& terms) {
  const std::hash<std::string> text;
  std::size_t hash = text(terms.user);
  const auto mix = [&hash](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15ull; };
  for (const std::string& tag : terms.tags) mix(text(tag));
  for (const std::string& tag : terms.constraint_tags) mix(text(tag));
  if (terms.requirements) mix(text(terms.requirements->source()));
  if (terms.rank) mix(text(terms.rank->source()) + 1);
  mix(static_cast<std::uint64_t>(terms.lease.count()));
  mix(static_cast<std::uint64_t>(terms.timeout.count()));
  mix(static_cast<std::uint64_t>(terms.retention.count()));
  mix(terms.max_attempts);
  mix(terms.max_failed_tasks.number);
  mix(std::bit_cast<std::uint64_t>(terms.max_failed_tasks.percent.value_or(-1)));
  mix(static_cast<std::uint64_t>(terms.backoff.first.count()));
  mix(std::bit_cast<std::uint64_t>(terms.backoff.factor));
  mix(static_cast<std::uint64_t>(terms.backoff.max.count()));
  mix(std::bit_cast<std::uint64_t>(terms.backoff.jitter));
  mix(terms.async ? 1 : 0);
  return hash;
}

}  // namespace

EngineJob& JobTable::Add(JobId id, std::uint32_t count) {
  CHECK(id.value >> 63 == 0);
  auto owned = std::make_unique<EngineJob>(id, count);
  EngineJob& job = *owned;
  jobs_.Insert(std::move(owned));
  by_id_.emplace(by_id_.begin() + static_cast<std::ptrdiff_t>(PlaceOf(id)), job);
  return job;
}

bool JobTable::Remove(EngineJob& job) {
  const std::size_t place = PlaceOf(job.id());
  CHECK(place < by_id_.size() && by_id_[place].job() == &job);
  by_id_[place].Leave();
  ++holes_;
  const bool many = holes_ > 1024 && holes_ > by_id_.size() / 2;
  if (many) Compact();
  jobs_.Erase(job);
  return many;
}

void JobTable::Compact() {
  std::erase_if(by_id_, [](const auto& entry) { return entry.job() == nullptr; });
  holes_ = 0;
}

std::size_t JobTable::PlaceOf(JobId from) const {
  if (by_id_.empty() || by_id_.back().id() < from) return by_id_.size();
  const auto place = std::lower_bound(by_id_.begin(), by_id_.end(), from,
                                      [](const Place& entry, JobId key) { return entry.id() < key; });
  return static_cast<std::size_t>(place - by_id_.begin());
}

const EngineJob* JobTable::FindKey(std::string_view user, std::string_view key) const {
  const auto found = by_key_.find(UserKey{user, key});
  return found == by_key_.end() ? nullptr : *found;
}

void JobTable::RememberKey(const EngineJob& job) {
  if (job.extras && !job.extras->idempotency_key.empty()) by_key_.insert(&job);
}

void JobTable::ForgetKey(const EngineJob& job) {
  if (!job.extras || job.extras->idempotency_key.empty()) return;
  // In a replay a later job may have the key already.
  const auto found = by_key_.find(KeyOf(job));
  if (found != by_key_.end() && *found == &job) by_key_.erase(found);
}

void JobTable::RememberSet(const EngineJob& job) {
  if (const JobId set = job.payload_set(); set && set != job.id()) streamed_sets_.insert(set);
}

void JobTable::ForgetSet(const EngineJob& job) {
  if (const JobId set = job.payload_set(); set && set != job.id()) streamed_sets_.erase(set);
}

bool JobTable::UsesPayloadSet(JobId set) const {
  if (streamed_sets_.contains(set)) return true;
  const EngineJob* job = Find(set);
  return job != nullptr && job->payload_set() == set;
}

TermsPtr JobTable::Intern(JobTerms terms) {
  const std::uint64_t hash = Mixed(HashOf(terms));
  const auto same = [&terms](const std::shared_ptr<InternedTerms>& known) {
    return static_cast<const JobTerms&>(*known) == terms;
  };
  if (const std::shared_ptr<InternedTerms>* known = terms_.Find(hash, same)) return TermsPtr(**known);
  // What its expressions have comes from elsewhere.
  const std::uint64_t exprs =
      (terms.requirements ? terms.requirements->MemoryBytes() : 0) + (terms.rank ? terms.rank->MemoryBytes() : 0);
  expr_bytes_ += exprs;
  const auto kept = std::make_shared<InternedTerms>(std::move(terms));
  kept->table = this;
  kept->hash = hash;
  kept->expr_bytes = exprs;
  terms_.Insert(hash, kept);
  return TermsPtr(*kept);
}

void JobTable::Forget(const InternedTerms& terms) {
  expr_bytes_ -= terms.expr_bytes;
  terms_.Erase(terms.hash, [&terms](const std::shared_ptr<InternedTerms>& known) { return known.get() == &terms; });
}

void TermsPtr::Forget(const InternedTerms& terms) { terms.table->Forget(terms); }

}  // namespace allot
