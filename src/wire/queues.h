// SPDX-License-Identifier: Apache-2.0
// Queues, how they stand, and who shares them.
#pragma once

#include "wire/field.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kQueueSettingsFields[] = {
    Count("max_finished_jobs", "that are kept"),
    Millis("worker_grace_ms", "how long a worker may be away"),
    Count("max_result_bytes", "of one task"),
    List(Text("property_keys", "that jobs and workers may use")),
    Count("max_property_keys", "how many there may be"),
    Maybe(Text("policy", "the strategy above those of workers; not for tokens that are fixed to a user")),
    Maybe(Of(Type::kCounts, "weights", "of users and other values; not for tokens that are fixed to a user")),
    Millis("max_limit_expiration_ms", "how long a limit may last without being renewed"),
    Millis("limit_ban_window_ms", "how long a user that a limit blocked counts as blocked"),
    Millis("demand_lookahead_ms", "how far ahead demand looks"),
    Word("dispatch", kDispatchMode, "who holds a queued task"),
    Word("balance", kBalancing, "who is promised it, where dispatch is balanced"),
    Count("memory_budget_bytes", "0: as much as the server has for all queues"),
};
inline constexpr Object kQueueSettings{"QueueSettings", "What is set for a queue.", kQueueSettingsFields};

inline constexpr Field kQueueSettingsChangeFields[] = {
    Maybe(Count("max_finished_jobs", "that are kept")),
    Maybe(Millis("worker_grace_ms", "how long a worker may be away")),
    Maybe(Count("max_result_bytes", "of one task")),
    Maybe(List(Text("property_keys", "that jobs and workers may use"))),
    Maybe(Count("max_property_keys", "how many there may be")),
    Maybe(OrNull(Json("policy", "text, or a strategy as an object, with the word worker in it"))),
    Maybe(OrNull(Of(Type::kCounts, "weights", "those to change; a null takes one away, or all"))),
    Maybe(Millis("max_limit_expiration_ms", "how long a limit may last without being renewed")),
    Maybe(OrNull(Word("dispatch", kDispatchMode, "who holds a queued task"))),
    Maybe(OrNull(Word("balance", kBalancing, "who is promised it, where dispatch is balanced"))),
    Maybe(OrNull(Count("memory_budget_bytes", "0: as much as the server has for all queues"))),
    Maybe(Millis("limit_ban_window_ms", "how long a user that a limit blocked counts as blocked")),
    Maybe(Millis("demand_lookahead_ms", "how far ahead demand looks")),
};
inline constexpr Object kQueueSettingsChange{"QueueSettingsChange", "What to set; what is not there stays.",
                                             kQueueSettingsChangeFields};
inline constexpr Field kQueueCreateFields[] = {
    Text("name", "its name"),
    Maybe(One("settings", kQueueSettingsChange, "what differs from the defaults")),
};
inline constexpr Object kQueueCreate{"QueueCreate", "A queue to create.", kQueueCreateFields};
inline constexpr Field kQueueChangeFields[] = {One("settings", kQueueSettingsChange, "what to set")};
inline constexpr Object kQueueChange{"QueueChange", "A change of a queue.", kQueueChangeFields};

inline constexpr Field kJobCountsFields[] = {
    Count("scheduled", "jobs in this state"), Count("active", "jobs in this state"),
    Count("paused", "jobs in this state"),    Count("done", "jobs in this state"),
    Count("failed", "jobs in this state"),    Count("cancelled", "jobs in this state"),
};
inline constexpr Object kJobCounts{"JobCounts", "Jobs by state.", kJobCountsFields};
inline constexpr Field kOpenTasksFields[] = {
    Count("queued", "tasks that may start"),
    Count("retrying", "tasks that wait for their next attempt"),
    Count("running", "tasks that workers have"),
};
inline constexpr Object kOpenTasks{"OpenTasks", "Tasks that have not ended, by state.", kOpenTasksFields};
inline constexpr Field kStoreUseFields[] = {
    Count("file_bytes", "of the queue's file"),
    Count("journal_rows", "that are not folded yet"),
};
inline constexpr Object kStoreUse{"StoreUse", "What a queue takes on disk.", kStoreUseFields};
inline constexpr Field kMemoryUseFields[] = {
    Count("budget_bytes", "what it may use"),
    Count("used_bytes", "what it uses"),
    Of(Type::kCounts, "parts", "by what uses it"),
};
inline constexpr Object kMemoryUse{"MemoryUse", "What a queue takes of memory.", kMemoryUseFields};

inline constexpr Field kQueueFields[] = {
    Text("name", "its name"),
    Bool("paused", "it gives out nothing"),
    Time("created_at_ms", "when it was created"),
    One("jobs", kJobCounts, "jobs by state"),
    One("tasks", kOpenTasks, "tasks that have not ended"),
    Count("workers", "that are registered"),
    Count("workers_waiting", "that wait for tasks"),
    One("settings", kQueueSettings, "what is set for it"),
    One("store", kStoreUse, "what it takes on disk"),
    One("memory", kMemoryUse, "what it takes of memory"),
};
inline constexpr Object kQueue{"Queue", "A queue.", kQueueFields};
inline constexpr Field kQueuesFields[] = {
    Many("queues", kQueue, "those that the token may reach"),
    Maybe(List(Text("missing", "nodes of a cluster that did not answer in time"))),
};
inline constexpr Object kQueues{"Queues", "The queues.", kQueuesFields};
inline constexpr Field kForceQueryFields[] = {Maybe(Bool("force", "also with open jobs"))};
inline constexpr Object kForceQuery{"ForceQuery", "", kForceQueryFields};

// How it stands.
inline constexpr Field kRatesFields[] = {
    Real("submitted", "tasks a second"),
    Real("started", "tasks a second"),
    Real("done", "tasks a second"),
    Real("failed", "attempts a second"),
};
inline constexpr Object kRates{"Rates", "Over the last ten seconds.", kRatesFields};
inline constexpr Field kOldestWaitingFields[] = {
    Maybe(Id("job", "not for tokens that are fixed to a user")),
    Time("since_at_ms", "since when"),
};
inline constexpr Object kOldestWaiting{"OldestWaiting", "The job that waits the longest.", kOldestWaitingFields};
inline constexpr Field kWorkerCountsFields[] = {
    Count("registered", "workers"), Count("waiting", "for tasks"),    Count("away", "their connections were lost"),
    Count("draining", "workers"),   Count("slots", "of all workers"), Count("busy", "slots"),
};
inline constexpr Object kWorkerCounts{"WorkerCounts", "Workers and their slots.", kWorkerCountsFields};
inline constexpr Field kBlockedByLimitFields[] = {
    Text("uuid", "the limit's"),
    Text("tag", "the limit's"),
    Text("name", "the limit's"),
    Count("tasks", "that it stops"),
};
inline constexpr Object kBlockedByLimit{"BlockedByLimit", "A limit that stops tasks.", kBlockedByLimitFields};
inline constexpr Field kBlockedByCeilingFields[] = {
    Word("of", kSource, "whose rule it is"),
    Text("key", "what it goes by, as user"),
    OrNull(Json("value", "of the key: text, a number or a boolean")),
    Count("running", "tasks with this value"),
    Count("max", "how many may run"),
    Count("tasks", "that it stops"),
};
inline constexpr Object kBlockedByCeiling{"BlockedByCeiling", "A ceiling of a strategy that stops tasks.",
                                          kBlockedByCeilingFields};
inline constexpr Field kOverviewReasonFields[] = {
    Text("code", "the reason, as in an explanation"),
    Word("kind", kKind, "what to do about it"),
    Count("tasks", "that do not run for it"),
    Count("jobs", "theirs"),
    Count("classes", "ways of matching, theirs"),
    OrNull(Time("since_at_ms", "null: since before the server's start")),
    Maybe(OrNull(Id("job", "the one with the most tasks; not for tokens that are fixed to a user"))),
    Maybe(List(Text("tags", "of that job"))),
    Maybe(Many("limits", kBlockedByLimit, "those that stop the most, where limits do")),
    Maybe(Many("ceilings", kBlockedByCeiling, "those that stop the most, where ceilings do")),
};
inline constexpr Object kOverviewReason{"OverviewReason", "Why tasks do not run.", kOverviewReasonFields};
inline constexpr Field kBannerFields[] = {
    Word("level", kLevel, "how bad it is"), Text("code", "a stable word"),  Text("message", "what is wrong"),
    Text("hint", "what to do about it"),    Maybe(Id("job", "an example")),
};
inline constexpr Object kBanner{"Banner", "What people should know at once.", kBannerFields};
inline constexpr Field kOverviewFields[] = {
    One("queue", kQueue, "the queue"),
    One("rates", kRates, "what goes through it"),
    OrNull(One("oldest_waiting", kOldestWaiting, "null: nothing waits")),
    One("workers", kWorkerCounts, "who works"),
    Many("reasons", kOverviewReason, "those first that block the most"),
    Many("banners", kBanner, "the gravest first"),
};
inline constexpr Object kOverview{"Overview", "How a queue stands.", kOverviewFields};

inline constexpr Field kHistoryFields[] = {
    Millis("step_ms", "between two numbers"),
    Time("from_at_ms", "of the first"),
    List(Count("submitted", "tasks within the step")),
    List(Count("started", "tasks within the step")),
    List(Count("done", "tasks within the step")),
    List(Count("failed", "attempts within the step")),
    List(Count("queued", "tasks at its end")),
    List(Count("retrying", "tasks at its end")),
    List(Count("running", "tasks at its end")),
    List(Count("oldest_ms", "how long the oldest job had waited at its end")),
};
inline constexpr Object kHistory{"History", "A queue's numbers over time, the oldest first.", kHistoryFields};
inline constexpr Field kHistoryQueryFields[] = {Maybe(Word("step", kHistoryStep, "between two numbers"))};
inline constexpr Object kHistoryQuery{"HistoryQuery", "", kHistoryQueryFields};

inline constexpr Field kWaitedFields[] = {
    Count("mean", "in milliseconds"),
    Count("p50", "in milliseconds"),
    Count("p95", "in milliseconds"),
};
inline constexpr Object kWaited{"Waited", "How long the last starts had waited.", kWaitedFields};
inline constexpr Field kUserFields[] = {
    Text("user", "the name; empty: jobs of nobody"),
    Count("weight", "of the queue's settings"),
    Real("share", "the part of the queue that is due, 0 to 1"),
    Real("use", "the part of what runs, 0 to 1"),
    Count("jobs", "that have not ended"),
    Count("queued", "tasks that may start"),
    Count("retrying", "tasks that wait for their next attempt"),
    Count("running", "tasks that workers have"),
    Count("started", "tasks since the server's start"),
    Real("starts_per_s", "in the last time"),
    OrNull(Time("oldest_at_ms", "the oldest job that waits")),
    One("waited_ms", kWaited, "how long the last starts had waited"),
};
inline constexpr Object kUser{"User", "A user's share of a queue against its use.", kUserFields};
inline constexpr Field kUsersPageFields[] = {
    Many("users", kUser, "in the order of their names"),
    OrNull(Text("next", "ask for it with `after`; null: that was all")),
    Count("active", "users with something that may start, or runs"),
    Count("running", "tasks of all"),
    Real("starts_per_s", "of all"),
};
inline constexpr Object kUsersPage{"UsersPage", "A page of users.", kUsersPageFields};
inline constexpr Field kUsersQueryFields[] = {
    Maybe(Text("after", "only later ones")),
    Maybe(Count("limit", "at most so many")),
    Maybe(Text("user", "only this one")),
};
inline constexpr Object kUsersQuery{"UsersQuery", "", kUsersQueryFields};

}  // namespace allot::wire
