// SPDX-License-Identifier: Apache-2.0
#include "match/explain_reasons.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "match/explain_conditions.h"
#include "match/start_command.h"

namespace allot {
namespace {

constexpr std::size_t kMostNamed = 3;  // tags or clauses in one message

std::string Workers(std::size_t n) { return Plural(n, "worker", "workers"); }
std::string Tasks(std::size_t n) { return Plural(n, "task", "tasks"); }

std::string In(WallTime at, WallTime now) { return at > now ? "in " + FormatDuration(at - now) : std::string("now"); }

// Of reasons that are equally grave, what decides goes before what would only matter next.
int Order(const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::kJobPaused:
      return 1;
    case ReasonCode::kQueuePaused:
      return 2;
    case ReasonCode::kScheduled:
    case ReasonCode::kBeingMatched:
      return 3;
    case ReasonCode::kBackoff:
      return 5;
    case ReasonCode::kWorkersAway:
      return 6;
    case ReasonCode::kAllBusy:
      return 7;
    default:
      return 4;
  }
}

bool Before(const Reason& a, const Reason& b) {
  const int of_a = Gravity(a.advice, a.code), of_b = Gravity(b.advice, b.code);
  return of_a != of_b ? of_a < of_b : Order(a) < Order(b);
}

// Where nothing waits to be handed out there is one reason, and no other matters.
std::optional<Reason> Settled(const MatchSnapshot& s) {
  if (Ended(s.state)) {
    Reason reason{Advice::kWait,
                  ReasonCode::kEnded,
                  fmt::format("the job is {}: nothing of it is left to run", StateText(s.state)),
                  {}};
    if (s.state != JobState::kDone && s.job) reason.hint = "allot retry " + ToText(*s.job);
    return reason;
  }
  if (s.queued + s.retrying > 0) return std::nullopt;
  if (!s.job) return Reason{Advice::kWait, ReasonCode::kEmpty, "it has no tasks: it would be done at once", {}};
  return Reason{
      Advice::kWait, ReasonCode::kRunning, fmt::format("all that is left of it runs: {}", Tasks(s.running)), {}};
}

void AddStates(const MatchSnapshot& s, std::vector<Reason>& out) {
  if (s.state == JobState::kPaused) {
    out.push_back({Advice::kOperator, ReasonCode::kJobPaused, "the job is paused",
                   s.job ? "allot resume " + ToText(*s.job) : std::string()});
  }
  if (s.queue_paused)
    out.push_back({Advice::kOperator, ReasonCode::kQueuePaused, "the queue is paused", "allot queue resume"});
  if (s.unsettled) {
    out.push_back({Advice::kWait, ReasonCode::kBeingMatched, "the queue is still working out which workers may run it",
                   "look again in a moment; if it stays so, workers read attributes that tell too many jobs apart"});
  }
  if (s.scheduled_for) {
    out.push_back({Advice::kWait,
                   ReasonCode::kScheduled,
                   fmt::format("its time has not come: it may start {}", In(*s.scheduled_for, s.now)),
                   {}});
  } else if (s.queued == 0 && s.retrying > 0) {
    out.push_back({Advice::kWait,
                   ReasonCode::kBackoff,
                   fmt::format("{} for the next attempt, the first {}",
                               s.retrying == 1 ? "1 task waits" : Tasks(s.retrying) + " wait",
                               In(s.next_retry_at.value_or(s.now), s.now)),
                   {}});
  }
}

// `allot work` for a worker that would do.
std::string StartOne(const MatchSnapshot& s) {
  WorkerNeeds needs{{}, s.constraints, s.requirements, s.ad.get()};
  for (const MatchSnapshot::Tag& tag : s.tags) needs.tags.push_back(tag.tag);
  return StartCommand(needs);
}

class Blame {
 public:
  Blame(const MatchSnapshot& s, const Survey& survey, const ExplainOptions& options, const Explanation& e)
      : s_(s), survey_(survey), options_(options), e_(e) {}

  // Why no worker matches.
  Reason Mismatch() const {
    if (s_.workers.empty()) return {Advice::kOperator, ReasonCode::kNoWorkers, "no worker is there", StartOne(s_)};
    if (survey_.with_tags == 0) return OfTags();
    if (survey_.with_properties == 0) return OfProperties();
    if (survey_.met == 0) return OfRequirements();
    return OfWorkers();
  }

 private:
  const Suggestion* Suggested(std::initializer_list<Suggestion::Kind> kinds) const {
    for (const Suggestion& suggestion : e_.suggestions) {
      if (std::find(kinds.begin(), kinds.end(), suggestion.kind) != kinds.end()) return &suggestion;
    }
    return nullptr;
  }
  static std::string DidYouMean(const Suggestion* suggestion) {
    return suggestion == nullptr ? std::string() : fmt::format("; did you mean `{}`?", Cut(suggestion->nearest));
  }

  std::string TagNames(std::string_view status) const {
    std::string names;
    std::size_t n = 0;
    for (const Explanation::Tag& tag : e_.tags) {
      if (tag.status != status) continue;
      if (++n > kMostNamed) return names + ", …";
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", tag.tag);
    }
    return (n > 1 ? "tags " : "tag ") + names;
  }
  bool AnyTag(std::string_view status) const {
    return std::any_of(e_.tags.begin(), e_.tags.end(), [&](const auto& tag) { return tag.status == status; });
  }

  Reason OfTags() const {
    if (AnyTag("never_seen")) {
      const Suggestion* near = Suggested({Suggestion::Kind::kTag});
      return {near == nullptr ? Advice::kOperator : Advice::kChangeRequest, ReasonCode::kTagNeverSeen,
              fmt::format("no worker has been seen with the {}{}", TagNames("never_seen"), DidYouMean(near)),
              near == nullptr ? StartOne(s_) : std::string()};
    }
    if (AnyTag("gone")) {
      WallTime last{};
      for (const Explanation::Tag& tag : e_.tags) last = std::max(last, tag.last_seen.value_or(WallTime{}));
      return {Advice::kOperator, ReasonCode::kTagGone,
              fmt::format("the last worker with the {} left {} ago", TagNames("gone"),
                          FormatDuration(std::max(s_.now - last, milliseconds(0)))),
              StartOne(s_)};
    }
    if (AnyTag("unavailable")) {
      return {Advice::kOperator, ReasonCode::kTagUnavailable,
              fmt::format("all workers with the {} are draining or away", TagNames("unavailable")), StartOne(s_)};
    }
    std::string counts;
    for (const Explanation::Tag& tag : e_.tags)
      counts += fmt::format("{}`{}` {}", counts.empty() ? "" : ", ", tag.tag, FormatCount(tag.available));
    return {Advice::kOperator, ReasonCode::kTagsApart,
            fmt::format("no worker has all of its tags together ({})", counts), StartOne(s_)};
  }

  // `the 3 workers with its tags`: those that passed the tags and, from `properties` on, the constraint.
  std::string Whom(std::size_t n, bool properties) const {
    std::string with;
    if (!s_.tags.empty()) with = " with its tags";
    if (properties && !s_.constraints.empty()) with += with.empty() ? " with its properties" : " and properties";
    return (n == 1 ? "the only worker" : fmt::format("the {} workers", FormatCount(n))) + with;
  }

  Reason OfProperties() const {
    const Suggestion* near = Suggested({Suggestion::Kind::kProperty});
    const std::string wanted = e_.constraints.size() == 1
                                   ? "`" + Cut(e_.constraints[0].tag.substr(2)) + "`"
                                   : fmt::format("any of its {} alternatives", e_.constraints.size());
    const std::size_t n = survey_.with_tags;
    return {near == nullptr ? Advice::kOperator : Advice::kChangeRequest, ReasonCode::kConstraintUnmet,
            fmt::format("{} {} {}{}", n == 1 ? Whom(n, false) : "none of " + Whom(n, false),
                        n == 1 ? "does not have" : "has", wanted, DidYouMean(near)),
            near == nullptr ? StartOne(s_) : std::string()};
  }

  // Why a clause holds for none.
  std::string Why(const Explanation::Clause& clause) const {
    const std::string& reads = survey_.reads[static_cast<std::size_t>(&clause - e_.requirements.data())];
    if (clause.undefined == clause.reached) {
      if (reads.empty()) return ": it is undefined";
      return fmt::format(": {} `{}`", clause.reached == 1 ? "it shows no" : "they show no", Cut(reads));
    }
    if (clause.error == clause.reached) return ": it is an error";
    if (clause.best) return fmt::format(": {} {}", clause.reached == 1 ? "it has" : "the nearest has", *clause.best);
    return {};
  }

  Reason OfRequirements() const {
    const Suggestion* near =
        Suggested({Suggestion::Kind::kAttribute, Suggestion::Kind::kJobAttribute, Suggestion::Kind::kValue});
    Reason reason{Advice::kChangeRequest, ReasonCode::kRequirementsUnmet, {}, {}};
    // A worker that has what is missing would do as well, unless what is missing is a slip of the pen.
    if (near == nullptr) reason.hint = StartOne(s_);
    if (s_.job) {
      reason.hint +=
          (reason.hint.empty() ? "allot job set " : "; or allot job set ") + ToText(*s_.job) + " --requirements …";
    }
    const Explanation::Clause* sole = nullptr;  // one that fails everywhere, if one does
    std::string counts;
    std::size_t named = 0;
    for (const Explanation::Clause& clause : e_.requirements) {
      if (clause.failed == 0) continue;
      if (clause.failed == clause.reached && (sole == nullptr || clause.undefined > sole->undefined)) sole = &clause;
      if (++named > kMostNamed) continue;
      counts +=
          fmt::format("{}`{}` fails on {}", counts.empty() ? "" : ", ", Cut(clause.text), FormatCount(clause.failed));
    }
    const std::size_t n = survey_.with_properties;
    if (sole != nullptr) {
      reason.message =
          fmt::format("`{}` {} {}{}{}", Cut(sole->text), n == 1 ? "does not hold for" : "holds for none of",
                      Whom(n, true), Why(*sole), DidYouMean(near));
    } else {
      reason.message = fmt::format(
          "{} {} all of its requirements{}{}", n == 1 ? Whom(n, true) : "none of " + Whom(n, true),
          n == 1 ? "does not meet" : "meets", counts.empty() ? "" : fmt::format(" ({})", counts), DidYouMean(near));
    }
    return reason;
  }

  Reason OfWorkers() const {
    Reason reason{Advice::kChangeRequest, ReasonCode::kWorkersRefuse, {}, {}};
    const bool one = survey_.met == 1;
    reason.message =
        one ? std::string("the worker that fits refuses it by its own requirements")
            : fmt::format("the {} workers that fit refuse it by their own requirements", FormatCount(survey_.met));
    if (options_.show_workers && !e_.worker_requirements.empty())
      reason.message += fmt::format(": `{}`", Cut(e_.worker_requirements[0].text));
    reason.hint = "change the job to suit them, or ask who runs them";
    return reason;
  }

  const MatchSnapshot& s_;
  const Survey& survey_;
  const ExplainOptions& options_;
  const Explanation& e_;
};

// Of the workers that match: why none of them takes it now.
std::optional<Reason> NotNow(const MatchSnapshot& s, const Survey& survey) {
  const std::size_t matching = survey.available + survey.draining + survey.away;
  if (survey.available == 0) {
    const std::string who = matching == 1 ? "the only worker that could run it"
                                          : fmt::format("all {} workers that could run it", FormatCount(matching));
    if (survey.away > 0) {
      return Reason{
          Advice::kWait,
          ReasonCode::kWorkersAway,
          fmt::format(
              "{} lost {} connection{}, and may come back", who, matching == 1 ? "its" : "their",
              survey.draining > 0 ? " or " + std::string(survey.draining == 1 ? "is" : "are") + " draining" : ""),
          {}};
    }
    return Reason{Advice::kOperator, ReasonCode::kWorkersDraining,
                  fmt::format("{} {} draining", who, matching == 1 ? "is" : "are"), StartOne(s)};
  }
  if (survey.free > 0 || s.scheduled_for || s.queued == 0) return std::nullopt;
  return Reason{Advice::kWait,
                ReasonCode::kAllBusy,
                fmt::format("{} could run it, and {} busy ({} of {} slots): it starts when one is free",
                            Workers(survey.available), survey.available == 1 ? "is" : "all are",
                            FormatCount(survey.running), FormatCount(survey.slots)),
                {}};
}

}  // namespace

void GiveReasons(const MatchSnapshot& s, const Survey& survey, const ExplainOptions& options, Explanation& e) {
  if (auto settled = Settled(s)) {
    e.reasons.push_back(std::move(*settled));
    return;
  }
  AddStates(s, e.reasons);
  if (survey.never) {
    e.reasons.push_back({Advice::kChangeRequest, ReasonCode::kRequirementsNeverTrue, *survey.never,
                         s.job ? "allot job set " + ToText(*s.job) + " --requirements …" : std::string()});
  } else if (e.matching == 0) {
    Reason reason = Blame(s, survey, options, e).Mismatch();
    if (e.examined < s.workers.size())
      reason.message += fmt::format(" (after a look at {} of {})", FormatCount(e.examined), Workers(s.workers.size()));
    e.reasons.push_back(std::move(reason));
  } else if (auto not_now = NotNow(s, survey)) {
    e.reasons.push_back(std::move(*not_now));
  }
  if (e.reasons.empty()) {
    const std::string who = Workers(survey.free);
    e.reasons.push_back({Advice::kWait,
                         ReasonCode::kCanStart,
                         s.job ? fmt::format("{} {} a free slot for it: it starts when its turn comes", who,
                                             survey.free == 1 ? "has" : "have")
                               : fmt::format("{} could start it now", who),
                         {}});
  }
  std::stable_sort(e.reasons.begin(), e.reasons.end(), Before);
}

void GiveReasons(const MatchSnapshot& s, const MatchSnapshot::Worker& worker, PairExplanation& pair) {
  if (auto settled = Settled(s)) {
    pair.reasons.push_back(std::move(*settled));
    return;
  }
  AddStates(s, pair.reasons);
  if (!pair.matches) {
    // Alternatives count as one, and not at all where one of them holds.
    const bool alternatives = s.constraints.size() > 1;
    bool counted = std::any_of(pair.conditions.begin(), pair.conditions.end(), [](const Condition& condition) {
      return condition.stage == Stage::kConstraint && condition.holds();
    });
    std::size_t failed = 0;
    const Condition* first = nullptr;
    for (const Condition& condition : pair.conditions) {
      if (condition.holds() || condition.stage == Stage::kAvailable || condition.stage == Stage::kFreeSlot) continue;
      if (condition.stage == Stage::kConstraint && alternatives && std::exchange(counted, true)) continue;
      ++failed;
      if (first == nullptr) first = &condition;
    }
    std::string message = "this worker cannot run it";
    if (first != nullptr) message += ": " + first->message;
    if (failed > 1) message += fmt::format(", and {} more", failed - 1);
    pair.reasons.push_back({Advice::kChangeRequest, ReasonCode::kMismatch, std::move(message), {}});
  }
  if (worker.draining)
    pair.reasons.push_back(
        {Advice::kOperator, ReasonCode::kWorkersDraining, "the worker is draining: it takes nothing new", {}});
  if (worker.away)
    pair.reasons.push_back(
        {Advice::kWait, ReasonCode::kWorkersAway, "the worker lost its connection, and may come back", {}});
  if (pair.matches && !Conditions::Free(worker)) {
    pair.reasons.push_back(
        {Advice::kWait,
         ReasonCode::kAllBusy,
         fmt::format("the worker is busy ({} of {} slots)", FormatCount(worker.running), FormatCount(worker.slots)),
         {}});
  }
  if (pair.reasons.empty())
    pair.reasons.push_back(
        {Advice::kWait, ReasonCode::kCanStart, "the worker has a free slot for it: it starts when its turn comes", {}});
  std::stable_sort(pair.reasons.begin(), pair.reasons.end(), Before);
}

}  // namespace allot
