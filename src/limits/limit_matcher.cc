// SPDX-License-Identifier: Apache-2.0
#include "limits/limit_matcher.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/check.h"
#include "base/text.h"

namespace allot {
namespace {

using expr::Scope;
using expr::Side;

// May a name in that scope be one of that side? MY is the job.
bool Reaches(Scope scope, Side side) {
  if (scope == Scope::kNone) return true;
  return (scope == Scope::kMy || scope == Scope::kJob) == (side == Side::kJob);
}

std::string Lower(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = AsciiLower(c);
  return lower;
}

bool ReadsWorker(const ExprPtr& expr) { return expr && expr->Reads(Side::kMachine, Side::kJob); }

// Names and values, so that different ones never look the same.
void PutValue(ByteWriter& out, const expr::Value* value) {
  out.U8(value == nullptr ? 0 : 1);
  if (value != nullptr) out.Text(expr::Print(*value));
}

// What the residuals of one limit still read of the job although it is there: values that no text can hold.
std::shared_ptr<const expr::Ad> JobPart(const ExprPtr& expr, const ExprPtr& cost, const expr::Ad& all) {
  expr::Ad job_part;
  for (const ExprPtr* one : {&expr, &cost}) {
    if (!*one) continue;
    for (const expr::Reference& reference : (*one)->References()) {
      const expr::Value* value = Reaches(reference.scope, Side::kJob) ? all.Find(reference.name) : nullptr;
      if (value != nullptr) job_part.Set(reference.name, *value);
    }
  }
  return job_part.empty() ? nullptr : std::make_shared<const expr::Ad>(std::move(job_part));
}

std::uint64_t HashOf(const std::string& key) { return Mixed(std::hash<std::string>()(key)); }

}  // namespace

LimitMatcher::LimitMatcher() {
  groups_.emplace_back();
  groups_[kFreeGroup].serial = next_serial_++;
}

// --- Limits.

LimitMatcher::Version LimitMatcher::Put(Slot slot, ExprPtr expr, ExprPtr cost) {
  if (slot >= rules_.size()) rules_.resize(slot + 1);
  const bool job_only = !ReadsWorker(expr) && !ReadsWorker(cost);
  rules_[slot] = {true, ++last_version_, std::move(expr), std::move(cost), job_only, false};
  ++epoch_;
  changed_ = true;
  return last_version_;
}

void LimitMatcher::Remove(Slot slot) {
  rules_[slot] = {};
  changed_ = true;
}

void LimitMatcher::Refresh() {
  if (!changed_) return;
  changed_ = false;
  known_.Clear();
  live_.clear();
  std::vector<Name> of_job, of_worker;
  for (Slot slot = 0; slot < rules_.size(); ++slot) {
    const Rule& rule = rules_[slot];
    if (!rule.live) continue;
    live_.push_back(slot);
    for (const ExprPtr* one : {&rule.expr, &rule.cost}) {
      if (!*one) continue;
      for (const expr::Reference& reference : (*one)->References()) {
        const Name name{Lower(reference.name), expr::HashName(reference.name)};
        if (Reaches(reference.scope, Side::kJob)) of_job.push_back(name);
        if (Reaches(reference.scope, Side::kMachine)) of_worker.push_back(name);
      }
    }
  }
  for (std::vector<Name>* names : {&of_job, &of_worker}) {
    std::sort(names->begin(), names->end(), [](const Name& a, const Name& b) { return a.lower < b.lower; });
    names->erase(std::unique(names->begin(), names->end()), names->end());
  }
  job_names_ = std::move(of_job);
  if (of_worker == worker_names_) return;
  worker_names_ = std::move(of_worker);
  ++reads_;
}

Tokens LimitMatcher::CostOf(Slot slot, const ExprPtr& cost, const expr::Sides& sides) {
  if (!cost) return Tokens::Of(std::int64_t{1});
  ++evaluations_;
  const expr::Value value = evaluator_.Evaluate(*cost, sides);
  if (value.is(expr::Type::kInteger)) return Tokens::Of(value.integer());
  if (value.is(expr::Type::kReal)) return Tokens::Of(value.real());
  rules_[slot].cost_failed = true;
  ++cost_failures_;
  return Tokens::Of(std::int64_t{1});
}

// --- Jobs.

const std::shared_ptr<const std::vector<LimitMatcher::Charge>>& LimitMatcher::NoCharges() {
  static const auto none = std::make_shared<const std::vector<Charge>>();
  return none;
}

LimitMatcher::Group LimitMatcher::Evaluate(const expr::Ad& ad) {
  const expr::Sides sides{&ad, nullptr, Side::kJob, 0};
  Group group;
  std::vector<Charge> charges;
  ByteWriter key(group.key);
  for (const Slot slot : live_) {
    const Rule& rule = rules_[slot];
    ExprPtr expr = rule.expr, cost = rule.cost;
    ++evaluations_;
    if (!rule.job_only) {
      expr = expr::Flatten(*expr, sides);
      if (cost) cost = expr::Flatten(*cost, sides);
    }
    // Here a worker may not matter any more, though it does to the limit.
    const bool expr_waits = ReadsWorker(expr), cost_waits = ReadsWorker(cost);
    if (!expr_waits && !evaluator_.True(*expr, sides)) continue;
    key.Varint(slot);
    key.Varint(rule.version);
    if (!expr_waits && !cost_waits) {
      const Charge charge{slot, rule.version, CostOf(slot, cost, sides)};
      charges.push_back(charge);
      key.U8(0);
      key.Signed(charge.cost.millionths);
      continue;
    }
    Term term{slot, rule.version, expr, cost, JobPart(expr, cost, ad)};
    key.U8(1);
    key.Text(expr->Print());
    key.Text(cost ? cost->Print() : "");
    key.Varint(term.job_part ? term.job_part->size() : 0);
    if (term.job_part) {
      term.job_part->ForEach([&key](std::string_view name, const expr::Value& value) {
        key.Text(Lower(name));
        PutValue(key, &value);
      });
    }
    group.terms.push_back(std::move(term));
  }
  if (!charges.empty()) group.charges = std::make_shared<const std::vector<Charge>>(charges.begin(), charges.end());
  return group;
}

GroupId LimitMatcher::AddJob(const std::function<expr::Ad()>& ad) {
  Refresh();
  if (live_.empty()) return kFreeGroup;
  const expr::Ad shown = ad();
  std::string looks;
  ByteWriter key(looks);
  for (const Name& name : job_names_) PutValue(key, shown.Find(name.lower, name.hash));
  if (const Known* known = known_.Find(looks); known != nullptr && groups_[known->group].serial == known->serial) {
    if (known->group != kFreeGroup) ++groups_[known->group].members;
    return known->group;
  }
  Group group = Evaluate(shown);
  GroupId id = kFreeGroup;
  if (!group.key.empty()) {
    const std::uint64_t hash = HashOf(group.key);
    const GroupId* const same = group_ids_.Find(hash, [&](GroupId other) { return groups_[other].key == group.key; });
    if (same != nullptr) {
      id = *same;
    } else {
      if (free_groups_.empty()) {
        free_groups_.push_back(static_cast<GroupId>(groups_.size()));
        groups_.emplace_back();
      }
      id = free_groups_.back();
      free_groups_.pop_back();
      group.serial = next_serial_++;
      groups_[id] = std::move(group);
      group_ids_.Insert(hash, id);
    }
    ++groups_[id].members;
  }
  known_.Put(looks, {id, groups_[id].serial}, looks.size());
  return id;
}

bool LimitMatcher::DropJob(GroupId id) {
  known_.Sweep();
  if (id == kFreeGroup) return false;
  Group& group = groups_[id];
  CHECK(group.members > 0);
  if (--group.members > 0) return false;
  group_ids_.Erase(HashOf(group.key), [id](GroupId other) { return other == id; });
  group = {};
  free_groups_.push_back(id);
  return true;
}

// --- Workers.

LimitMatcher::WorkerHandle LimitMatcher::AddWorker(std::shared_ptr<const expr::Ad> ad) {
  WorkerHandle worker = static_cast<WorkerHandle>(workers_.size());
  if (free_workers_.empty()) {
    workers_.emplace_back();
  } else {
    worker = free_workers_.back();
    free_workers_.pop_back();
  }
  workers_[worker] = {std::move(ad), 0, 0};
  return worker;
}

void LimitMatcher::Detach(WorkerHandle handle, std::vector<LimitProfileId>& gone) {
  Worker& worker = workers_[handle];
  if (worker.reads == 0) return;
  worker.reads = 0;
  Profile& profile = profiles_[worker.profile];
  CHECK(profile.members > 0);
  if (--profile.members > 0) return;
  profile_ids_.erase(profile.key);
  gone.push_back(worker.profile);
}

std::vector<LimitProfileId> LimitMatcher::ChangeWorker(WorkerHandle worker, std::shared_ptr<const expr::Ad> ad) {
  std::vector<LimitProfileId> gone;
  Detach(worker, gone);
  workers_[worker].ad = std::move(ad);
  return gone;
}

std::vector<LimitProfileId> LimitMatcher::DropWorker(WorkerHandle worker) {
  std::vector<LimitProfileId> gone;
  Detach(worker, gone);
  workers_[worker] = {};
  free_workers_.push_back(worker);
  return gone;
}

LimitProfileId LimitMatcher::ProfileOf(WorkerHandle handle, std::vector<LimitProfileId>& gone) {
  Refresh();
  Worker& worker = workers_[handle];
  if (worker.reads == reads_) return worker.profile;
  Detach(handle, gone);
  std::string looks;
  ByteWriter key(looks);
  key.Varint(reads_);
  for (const Name& name : worker_names_) PutValue(key, worker.ad ? worker.ad->Find(name.lower, name.hash) : nullptr);
  const auto [at, fresh] = profile_ids_.emplace(looks, 0);
  if (fresh) {
    if (free_profiles_.empty()) {
      at->second = static_cast<LimitProfileId>(profiles_.size());
      profiles_.emplace_back();
    } else {
      at->second = free_profiles_.back();
      free_profiles_.pop_back();
    }
    Profile& profile = profiles_[at->second];
    profile.key = looks;
    profile.serial = next_serial_++;
    for (const Name& name : worker_names_) {
      const expr::Value* value = worker.ad ? worker.ad->Find(name.lower, name.hash) : nullptr;
      if (value != nullptr) profile.ad.Set(name.lower, *value);
    }
  }
  ++profiles_[at->second].members;
  worker.profile = at->second;
  worker.reads = reads_;
  return at->second;
}

std::span<const LimitMatcher::Charge> LimitMatcher::PairCharges(GroupId group_id, LimitProfileId profile_id) {
  const Group& group = groups_[group_id];
  if (group.terms.empty()) return {};
  const Profile& profile = profiles_[profile_id];
  const Serials serials{group.serial, profile.serial};
  if (const std::vector<Charge>* known = pairs_.Find(serials)) return *known;
  std::vector<Charge> charges;
  for (const Term& term : group.terms) {
    // Another version has other expressions, and other attributes that the profile may not have.
    if (rules_[term.slot].version != term.version) continue;
    const expr::Sides sides{term.job_part.get(), &profile.ad, Side::kJob, 0};
    ++evaluations_;
    if (!evaluator_.True(*term.expr, sides)) continue;
    charges.push_back({term.slot, term.version, CostOf(term.slot, term.cost, sides)});
  }
  const std::size_t bytes = charges.capacity() * sizeof(Charge);
  return pairs_.Put(serials, std::move(charges), bytes);
}

}  // namespace allot
