// SPDX-License-Identifier: Apache-2.0
// Limits on starts, and demand.
#pragma once

#include "wire/field.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kLimitSpecFields[] = {
    Text("tag", "for whoever made it, to find its own"),
    Maybe(Text("name", "for people")),
    Text("expr", "to which starts it applies"),
    Maybe(OrNull(Of(Type::kRank, "cost", "of a start: an expression; 1 if there is none"))),
    Real("count", "tokens of a window"),
    Millis("window_ms", "the window"),
    Maybe(Real("burst", "how far it may go into debt")),
    Maybe(Real("max_burst_cost", "no start costs more; 0: as much as it costs")),
    Maybe(Bool("monitor", "it counts, and holds nothing back")),
    Millis("expires_in_ms", "unless it is renewed"),
};
inline constexpr Object kLimitSpec{"LimitSpec", "A limit to set.", kLimitSpecFields};
inline constexpr Field kRenewalFields[] = {Maybe(Millis("expires_in_ms", "as before if it is not given"))};
inline constexpr Object kRenewal{"Renewal", "A renewal of a limit.", kRenewalFields};
inline constexpr Field kLimitQuestionFields[] = {
    Text("expr", "to which starts it would apply"),
    Maybe(OrNull(Of(Type::kRank, "cost", "of a start"))),
};
inline constexpr Object kLimitQuestion{"LimitQuestion", "A limit to try.", kLimitQuestionFields};

inline constexpr Field kIgnoredFields[] = {
    Text("user", "whose starts it blocked"),
    Time("at_ms", "when the last time"),
};
inline constexpr Object kIgnored{"IgnoredUser", "A user that a limit blocks.", kIgnoredFields};
inline constexpr Field kLimitFields[] = {
    Text("uuid", "its id"),
    Text("tag", "for whoever made it, to find its own"),
    Text("name", "for people"),
    Text("expr", "to which starts it applies"),
    OrNull(Text("cost", "of a start; null: 1")),
    Real("count", "tokens of a window"),
    Millis("window_ms", "the window"),
    Real("burst", "how far it may go into debt"),
    Real("max_burst_cost", "no start costs more; 0: as much as it costs"),
    Bool("monitor", "it counts, and holds nothing back"),
    Bool("job_only", "it does not read the worker"),
    Millis("expires_in_ms", "unless it is renewed"),
    Real("tokens", "its level; below 0: in debt"),
    Count("allowed", "starts that it paid for"),
    Real("cost_allowed", "what those cost"),
    Count("skipped", "tries that it denied"),
    Count("ignored_matches", "starts that it met while it only monitored, or blocked"),
    OrNull(Time("last_ignored_at_ms", "when the last time")),
    List(Text("ignored_users", "that it blocks, the last one last")),
    Many("ignored", kIgnored, "the same, with when"),
    Millis("blocked_ms", "how long it blocked something, in all"),
    Count("waiting", "groups of jobs that wait for it"),
    Count("waiting_forever", "those of them that it can never pay for"),
    OrNull(Real("cheapest", "the cost of the cheapest that waits")),
    OrNull(Millis("payable_in_ms", "when it can pay that")),
    Bool("cost_failed", "its cost was no number for some start"),
};
inline constexpr Object kLimit{"Limit", "A limit, and what it does.", kLimitFields};
inline constexpr Field kLimitsFields[] = {Many("limits", kLimit, "in the order of their ids")};
inline constexpr Object kLimits{"Limits", "The limits of a queue.", kLimitsFields};
inline constexpr Field kLimitAnswerFields[] = {
    Text("uuid", "its id"),
    Maybe(Bool("created", "false: one that was there was replaced")),
    Millis("expires_in_ms", "unless it is renewed"),
    Bool("capped", "it is less than was asked for"),
};
inline constexpr Object kLimitAnswer{"LimitAnswer", "A limit's lease.", kLimitAnswerFields};
inline constexpr Field kLimitsQueryFields[] = {
    Maybe(Text("tag", "only those with it")),
    Maybe(Text("uuid", "only this one")),
};
inline constexpr Object kLimitsQuery{"LimitsQuery", "", kLimitsQueryFields};
inline constexpr Field kLimitHistoryFields[] = {
    Millis("step_ms", "between two numbers"),
    Time("from_at_ms", "of the first"),
    List(Real("tokens", "its level")),
    List(Count("waiting", "groups of jobs that wait for it")),
};
inline constexpr Object kLimitHistory{"LimitHistory", "A limit's level over time.", kLimitHistoryFields};

inline constexpr Field kLimitTryUserFields[] = {
    Text("user", "the name"),
    Count("jobs", "that it would apply to"),
    Count("tasks", "theirs"),
};
inline constexpr Object kLimitTryUser{"LimitTryUser", "A user whose jobs a limit would apply to.", kLimitTryUserFields};
inline constexpr Field kNamedWorkerFields[] = {Id("worker", "its id"), Text("name", "for people")};
inline constexpr Object kNamedWorker{"NamedWorker", "A worker by name.", kNamedWorkerFields};
inline constexpr Field kLimitTryFields[] = {
    Bool("job_only", "it does not read the worker"),
    Bool("complete", "all jobs were looked at"),
    Count("jobs_looked_at", "how many"),
    Count("jobs", "that it would apply to"),
    Count("tasks", "theirs"),
    Real("least_cost", "of a start"),
    Real("most_cost", "of a start"),
    Bool("cost_failed", "its cost was no number for some start"),
    Many("users", kLimitTryUser, "those with the most tasks"),
    Count("worker_count", "workers that it would apply to, where it reads the worker"),
    Many("workers", kNamedWorker, "the first of them"),
    Millis("took_ms", "how long it took"),
};
inline constexpr Object kLimitTry{"LimitTry", "What a limit would apply to.", kLimitTryFields};

inline constexpr Field kLimitNameFields[] = {
    Text("uuid", "its id"),
    Text("tag", "for whoever made it"),
    Text("name", "for people"),
};
inline constexpr Object kLimitName{"LimitName", "A limit by name.", kLimitNameFields};
inline constexpr Field kDemandTotalsFields[] = {
    Count("queued", "tasks that have not started"),
    Count("startable", "of those, what could start if workers were there"),
    Count("running", "also of jobs of which nothing waits, which have no row"),
    Count("wanted", "startable and running: how many slots there is work for"),
    Count("jobs", "of all rows"),
    Count("rows", "shown or not"),
    OrNull(Time("oldest_at_ms", "the oldest job that waits")),
    OrNull(Millis("oldest_age_ms", "how long it waits")),
};
inline constexpr Object kDemandTotals{"DemandTotals", "Demand of all rows.", kDemandTotalsFields};
inline constexpr Field kDemandRowFields[] = {
    Text("user", "whose jobs"),
    List(Text("tags", "theirs")),
    List(Of(Type::kTexts, "constraints", "theirs")),
    List(Text("constraint_tags", "one for each alternative")),
    OrNull(Text("requirements", "theirs; null: none")),
    Count("jobs", "how many"),
    Count("queued", "tasks that have not started"),
    Count("startable", "of those, what could start if workers were there"),
    Count("running", "tasks that workers have"),
    OrNull(Time("oldest_at_ms", "the oldest job that waits")),
    OrNull(Millis("oldest_age_ms", "how long it waits")),
    Many("limits", kLimitName, "that are in the way"),
};
inline constexpr Object kDemandRow{"DemandRow", "Jobs that ask for the same workers.", kDemandRowFields};
inline constexpr Field kDemandFields[] = {
    One("totals", kDemandTotals, "of all rows"),  Bool("paused", "the queue gives out nothing"),
    Bool("complete", "all jobs were looked at"),  Millis("lookahead_ms", "how far it looks ahead"),
    Many("rows", kDemandRow, "the oldest first"), Millis("took_ms", "how long it took"),
};
inline constexpr Object kDemand{"Demand", "What could start if workers were there.", kDemandFields};
inline constexpr Field kDemandQueryFields[] = {
    Maybe(Text("user", "only this user's")),
    Maybe(Text("tag", "only jobs with it")),
    Maybe(Count("limit", "at most so many rows")),
};
inline constexpr Object kDemandQuery{"DemandQuery", "", kDemandQueryFields};

}  // namespace allot::wire
