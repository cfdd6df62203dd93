// SPDX-License-Identifier: Apache-2.0
#include "match/explain_conditions.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"

namespace allot {
namespace {

using expr::Scope;
using expr::Side;

constexpr std::size_t kMostValues = 4;  // told of one condition

const std::string* PropertyOf(const Properties& properties, std::string_view key) {
  for (const auto& [name, value] : properties) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::size_t Missing(const Properties& wanted, const Properties& properties) {
  return static_cast<std::size_t>(std::count_if(wanted.begin(), wanted.end(), [&](const auto& pair) {
    const std::string* value = PropertyOf(properties, pair.first);
    return value == nullptr || *value != pair.second;
  }));
}

std::string PairsText(const Properties& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs) out += (out.empty() ? "" : ",") + key + "=" + value;
  return out;
}

bool Has(const TagList& tags, const std::string& tag) { return std::binary_search(tags.begin(), tags.end(), tag); }

std::string ValueText(const expr::Value& value) { return Cut(expr::Print(value)); }

}  // namespace

std::string Cut(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

std::string Plural(std::size_t n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", FormatCount(n), n == 1 ? one : many);
}

std::vector<ExprPtr> ClausesOf(const ExprPtr& expr) {
  if (!expr) return {};
  std::vector<ExprPtr> clauses = expr->Clauses();
  // A single one is shown as it was written.
  if (clauses.size() == 1) return {expr};
  if (clauses.size() > kMaxClausesExplained) clauses.resize(kMaxClausesExplained);
  return clauses;
}

bool ReachesWorker(Scope scope, Side my) {
  switch (scope) {
    case Scope::kMy:
      return my == Side::kMachine;
    case Scope::kTarget:
      return my == Side::kJob;
    case Scope::kJob:
      return false;
    case Scope::kNone:
    case Scope::kMachine:
      return true;
  }
  return true;
}

std::string ReferenceText(const expr::Reference& reference) {
  switch (reference.scope) {
    case Scope::kNone:
      return reference.name;
    case Scope::kMy:
      return "MY." + reference.name;
    case Scope::kTarget:
      return "TARGET." + reference.name;
    case Scope::kJob:
      return "JOB." + reference.name;
    case Scope::kMachine:
      return "MACHINE." + reference.name;
  }
  return reference.name;
}

Conditions::Conditions(const MatchSnapshot& snapshot)
    : snapshot_(snapshot), clauses_(ClausesOf(snapshot.requirements)) {}

std::string Conditions::NameOf(const Worker& worker) {
  const expr::Value* name = worker.traits->ad->Find("Name");
  return name != nullptr && name->is(expr::Type::kString) ? std::string(name->string()) : std::string();
}

std::size_t Conditions::MissingTags(const Worker& worker) const {
  return static_cast<std::size_t>(
      std::count_if(snapshot_.tags.begin(), snapshot_.tags.end(),
                    [&](const MatchSnapshot::Tag& wanted) { return !Has(worker.traits->tags, wanted.tag); }));
}

std::size_t Conditions::MissingProperties(const Worker& worker) const {
  if (snapshot_.constraints.empty()) return 0;
  std::size_t least = SIZE_MAX;
  for (const Properties& wanted : snapshot_.constraints)
    least = std::min(least, Missing(wanted, worker.traits->properties));
  return least;
}

Truth Conditions::Of(const ExprPtr& expr, const Worker& worker, Side my) {
  if (!expr) return Truth::kTrue;
  const expr::Sides sides{snapshot_.ad.get(), worker.traits->ad.get(), my, ToMillis(snapshot_.now) / 1000};
  const expr::Value value = evaluator_.Evaluate(*expr, sides);
  switch (value.type()) {
    case expr::Type::kBoolean:
      return value.boolean() ? Truth::kTrue : Truth::kFalse;
    case expr::Type::kInteger:
      return value.integer() != 0 ? Truth::kTrue : Truth::kFalse;
    case expr::Type::kReal:
      return value.real() != 0 ? Truth::kTrue : Truth::kFalse;
    case expr::Type::kUndefined:
      return Truth::kUndefined;
    case expr::Type::kError:
      return Truth::kError;
    case expr::Type::kString:
    case expr::Type::kList:
    case expr::Type::kRecord:
      return Truth::kNoBoolean;
  }
  return Truth::kError;
}

std::size_t Conditions::FailedClauses(const Worker& worker, Side my) {
  const ExprPtr& whole = my == Side::kJob ? snapshot_.requirements : worker.traits->requirements;
  if (Of(whole, worker, my) == Truth::kTrue) return 0;
  std::size_t failed = 0;
  for (const ExprPtr& clause : my == Side::kJob ? clauses_ : ClausesOf(whole))
    failed += Of(clause, worker, my) != Truth::kTrue;
  return std::max<std::size_t>(failed, 1);
}

double Conditions::Rank(const ExprPtr& expr, const Worker& worker, Side my) {
  if (!expr) return 0;
  return evaluator_.Number(
      *expr, expr::Sides{snapshot_.ad.get(), worker.traits->ad.get(), my, ToMillis(snapshot_.now) / 1000});
}

Truth Conditions::ForAny(const ExprPtr& clause) {
  if (clause->UsesTime()) return Truth::kTrue;
  const expr::Sides sides{snapshot_.ad.get(), nullptr, Side::kJob, 0};
  ExprPtr residual = clause;
  // A missing attribute of the job's own stays in the residual, and still does not depend on the worker.
  if (clause->Reads(Side::kMachine, Side::kJob)) {
    residual = expr::Flatten(*clause, sides);
    if (!residual->Constant()) return Truth::kTrue;
  }
  const expr::Value value = evaluator_.Evaluate(*residual, sides);
  if (value.is(expr::Type::kUndefined)) return Truth::kUndefined;
  if (value.is(expr::Type::kError)) return Truth::kError;
  return evaluator_.True(*residual, sides) ? Truth::kTrue : Truth::kFalse;
}

const expr::Value* Conditions::Find(const expr::Reference& reference, const Worker& worker, Side my) const {
  const expr::Ad* job = snapshot_.ad.get();
  const expr::Ad* machine = worker.traits->ad.get();
  const auto in = [&](const expr::Ad* ad) { return ad == nullptr ? nullptr : ad->Find(reference.name); };
  if (reference.scope == Scope::kNone) {
    const expr::Value* own = in(my == Side::kJob ? job : machine);
    return own != nullptr ? own : in(my == Side::kJob ? machine : job);
  }
  return in(ReachesWorker(reference.scope, my) ? machine : job);
}

void Conditions::AddAvailability(const Worker& worker, std::vector<Condition>& out) const {
  const auto add = [&](const char* text, bool holds, const char* yes, const char* no) {
    out.push_back({Stage::kAvailable, text, holds ? Truth::kTrue : Truth::kFalse, {}, holds ? yes : no});
  };
  add("not draining", !worker.draining, "not draining", "it is draining: it takes nothing new");
  add("connected", !worker.away, "connected", "it lost its connection, and may come back");
}

void Conditions::AddTags(const Worker& worker, std::vector<Condition>& out) const {
  for (const MatchSnapshot::Tag& wanted : snapshot_.tags) {
    const bool has = Has(worker.traits->tags, wanted.tag);
    out.push_back({Stage::kTags,
                   wanted.tag,
                   has ? Truth::kTrue : Truth::kFalse,
                   {},
                   fmt::format("tag `{}`: {}", wanted.tag, has ? "there" : "missing")});
  }
}

void Conditions::AddProperties(const Properties& wanted, const Worker& worker, std::vector<Condition>& out) const {
  for (const auto& [key, value] : wanted) {
    const std::string* has = PropertyOf(worker.traits->properties, key);
    const bool holds = has != nullptr && *has == value;
    Condition& condition = out.emplace_back(Condition{
        Stage::kConstraint, key + "=" + value, holds ? Truth::kTrue : Truth::kFalse, {{key, std::nullopt}}, {}});
    if (has != nullptr) condition.values[0].value = *has;
    condition.message = fmt::format("property {}: {}", condition.text,
                                    holds            ? "has it"
                                    : has == nullptr ? fmt::format("has no {}", key)
                                                     : fmt::format("has {}", *has));
  }
}

void Conditions::AddConstraint(const Worker& worker, bool nearest_only, std::vector<Condition>& out) const {
  const std::vector<Properties>& all = snapshot_.constraints;
  if (all.empty()) return;
  const Properties& properties = worker.traits->properties;
  if (nearest_only || all.size() == 1) {
    const auto nearest = std::min_element(all.begin(), all.end(), [&](const Properties& a, const Properties& b) {
      return Missing(a, properties) < Missing(b, properties);
    });
    return AddProperties(*nearest, worker, out);
  }
  for (const Properties& wanted : all) {
    std::vector<Condition> parts;
    AddProperties(wanted, worker, parts);
    Condition& condition = out.emplace_back(Condition{Stage::kConstraint, PairsText(wanted), Truth::kTrue, {}, {}});
    std::string why;
    for (Condition& part : parts) {
      condition.values.push_back(std::move(part.values[0]));
      if (part.holds()) continue;
      condition.outcome = Truth::kFalse;
      why += (why.empty() ? "" : ", ") + part.message;
    }
    condition.message = fmt::format("alternative {}: {}", condition.text, why.empty() ? "has it" : why);
  }
}

Condition Conditions::Spell(const ExprPtr& clause, Truth outcome, const Worker& worker, Side my) const {
  Condition condition{
      my == Side::kJob ? Stage::kRequirements : Stage::kWorkerRequirements, clause->source(), outcome, {}, {}};
  for (const expr::Reference& reference : clause->References()) {
    if (condition.values.size() == kMostValues) break;
    const expr::Value* value = Find(reference, worker, my);
    condition.values.push_back({ReferenceText(reference), std::nullopt});
    if (value != nullptr) condition.values.back().value = ValueText(*value);
  }
  std::string facts;
  const auto& values = condition.values;
  if (values.size() == 1 && my == Side::kJob && clause->AsComparison() &&
      ReachesWorker(clause->References()[0].scope, my) &&
      (snapshot_.ad == nullptr || clause->References()[0].scope != Scope::kNone ||
       snapshot_.ad->Find(clause->References()[0].name) == nullptr)) {
    facts = values[0].value ? "has " + *values[0].value : "has no " + clause->References()[0].name;
  } else {
    for (const Condition::Value& value : values) {
      facts += facts.empty() ? "" : ", ";
      facts += value.value ? value.name + " is " + *value.value : value.name + " is not there";
    }
  }
  if (outcome == Truth::kError) facts += facts.empty() ? "is an error" : ", which is an error";
  if (outcome == Truth::kNoBoolean) facts += facts.empty() ? "is neither true nor false" : ": neither true nor false";
  if (facts.empty()) facts = std::string("is ") + std::string(TruthText(outcome));
  condition.message = Cut(condition.text) + ": " + facts;
  return condition;
}

void Conditions::AddClauses(const Worker& worker, Side my, std::vector<Condition>& out) {
  const ExprPtr& whole = my == Side::kJob ? snapshot_.requirements : worker.traits->requirements;
  if (!whole) return;
  const std::size_t before = out.size();
  bool all = true;
  for (const ExprPtr& clause : my == Side::kJob ? clauses_ : ClausesOf(whole)) {
    const Truth outcome = Of(clause, worker, my);
    out.push_back(Spell(clause, outcome, worker, my));
    all = all && outcome == Truth::kTrue;
  }
  const Truth outcome = Of(whole, worker, my);
  // What was not looked at one by one, or the whole costs more than its parts.
  if (all && outcome != Truth::kTrue) out.push_back(Spell(whole, outcome, worker, my));
  if (my == Side::kMachine) {
    for (std::size_t i = before; i < out.size(); ++i) out[i].message = "its own requirement " + out[i].message;
  }
}

std::vector<Condition> Conditions::All(const Worker& worker, bool misses_only) {
  std::vector<Condition> out;
  AddAvailability(worker, out);
  AddTags(worker, out);
  AddConstraint(worker, misses_only, out);
  AddClauses(worker, Side::kJob, out);
  AddClauses(worker, Side::kMachine, out);
  if (misses_only) {
    std::erase_if(out, [](const Condition& condition) { return condition.holds(); });
    return out;
  }
  out.push_back({Stage::kFreeSlot,
                 "a free slot",
                 Free(worker) ? Truth::kTrue : Truth::kFalse,
                 {},
                 fmt::format("{} of {} in use", FormatCount(worker.running), Plural(worker.slots, "slot", "slots"))});
  return out;
}

}  // namespace allot
