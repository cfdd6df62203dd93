// SPDX-License-Identifier: Apache-2.0
// Why something does not run, what would come next, and how a start was decided.
#pragma once

#include "wire/field.h"
#include "wire/jobs.h"
#include "wire/limits.h"
#include "wire/queues.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kReasonFields[] = {
    Word("kind", kKind, "what to do about it"),
    Text("code", "a stable word"),
    Text("message", "in words"),
    Text("hint", "what to do about it"),
    OrNull(Time("since_at_ms", "null: not known")),
};
inline constexpr Object kReason{"Reason", "Why something does not run.", kReasonFields};

// Of all blocks: each has what it looked at.
inline constexpr Field kServedFields[] = {
    Maybe(Count("pick", "by which pick of this answer")),
    Maybe(Millis("never_since_ms", "never, since its oldest job was submitted")),
    Maybe(Millis("at_ms", "when")),
};
inline constexpr Object kServed{"Served", "When something was served: one of these.", kServedFields};
inline constexpr Field kWhyFields[] = {
    Text("block", "of the strategy"),
    Word("of", kSource, "whose block"),
    Maybe(Text("key", "what it goes by, as user")),
    Maybe(OrNull(Json("value", "of the key: text, a number or a boolean"))),
    Maybe(Count("running", "tasks with this value")),
    Maybe(Count("max", "how many may run")),
    Maybe(Count("percent", "of the slots")),
    Maybe(Count("slots", "how many there are")),
    Maybe(Count("level", "of the value")),
    Maybe(Count("weight", "of the value")),
    Maybe(One("served", kServed, "when this value was")),
    Maybe(Count("branch", "which branch, from 1")),
    Maybe(Count("branches", "how many there are")),
    Maybe(Real("rank", "that the worker gives the job")),
    Maybe(OrNull(Int("priority", "of the job"))),
    Maybe(Time("scheduled_at_ms", "of the job")),
    Maybe(Time("submitted_at_ms", "of the job")),
    Maybe(One("picked", kServed, "when this branch was")),
    Maybe(Count("candidates", "among which chance chose")),
    Text("text", "all of it in words"),
};
inline constexpr Object kWhy{"Why", "A block of a policy or strategy on the way to a pick, with what it looked at.",
                             kWhyFields};
inline constexpr Field kPickFields[] = {
    Id("job", "the job's id"),          OrNull(Count("index", "of the task; null: it was taken meanwhile")),
    Bool("random", "chance had a say"), Text("user", "of the job"),
    List(Text("tags", "of the job")),   Many("why", kWhy, "from the outermost block on"),
};
inline constexpr Object kPick{"PickedTask", "A task that a worker would be given.", kPickFields};

inline constexpr Field kBlockedByLimitsFields[] = {
    Count("jobs", "how many"),
    Count("tasks", "theirs"),
    OrNull(Id("job", "one of them")),
};
inline constexpr Object kBlockedByLimits{"BlockedByLimits", "What limits block.", kBlockedByLimitsFields};
inline constexpr Field kStrategyTryFields[] = {
    Text("strategy", "as text"),
    Text("policy", "as text"),
    Bool("paused", "the queue gives out nothing"),
    Bool("draining", "the worker is given nothing"),
    Bool("complete", "all jobs were looked at"),
    Count("jobs_looked_at", "how many"),
    Count("may_run", "jobs that the worker may run"),
    Count("queued_tasks", "theirs"),
    Millis("took_ms", "how long it took"),
    One("blocked", kBlockedByLimits, "what limits block, which is left out"),
    Bool("limited", "there are fewer picks than asked for, and limits block others"),
    Many("picks", kPick, "in order"),
};
inline constexpr Object kStrategyTry{"StrategyTry", "What a worker with some strategy would be given.",
                                     kStrategyTryFields};
inline constexpr Field kTryFields[] = {
    Json("strategy", "text, or the strategy as an object"),
    Maybe(OrNull(Json("policy", "instead of the queue's own"))),
    Maybe(Json("worker", "the id of one, or a description as in Hello; missing: one that may run every job")),
    Maybe(Count("count", "how many picks")),
};
inline constexpr Object kTry{"StrategyTrial", "A strategy to try.", kTryFields};
inline constexpr Field kTryWorkerFields[] = {
    Maybe(Text("name", "for people")),
    Maybe(List(Text("tags", "what kinds of work it does"))),
    Maybe(Count("slots", "tasks at a time")),
    Maybe(Of(Type::kTexts, "properties", "what constraints ask for")),
    Maybe(Of(Type::kValues, "attributes", "what expressions read")),
    Maybe(OrNull(Text("requirements", "an expression, true of jobs that it takes"))),
    Maybe(OrNull(Of(Type::kRank, "rank", "an expression: the jobs it prefers"))),
};
inline constexpr Object kTryWorker{"WorkerDescription", "A worker that might register.", kTryWorkerFields};

inline constexpr Field kOthersFields[] = {
    Word("stage", kStage, "where they fail; others: what was not looked at"),
    Count("classes", "ways of matching"),
    Count("tasks", "that are queued"),
    OrNull(Id("job", "an example")),
    Text("message", "in words"),
};
inline constexpr Object kOthers{"NotForWorker", "Queued tasks that a worker would not be given.", kOthersFields};
inline constexpr Field kWorkerNextFields[] = {
    Id("worker", "its id"),
    Text("name", "for people"),
    One("verdict", kReason, "how it stands"),
    Text("strategy", "as text"),
    Text("policy", "as text"),
    Bool("complete", "all jobs were looked at"),
    Many("picks", kPick, "what it would be given, in order"),
    Many("others", kOthers, "what not, and why"),
};
inline constexpr Object kWorkerNext{"WorkerNext", "What a worker would be given next.", kWorkerNextFields};
inline constexpr Field kNextQueryFields[] = {Maybe(Count("count", "how many picks"))};
inline constexpr Object kNextQuery{"NextQuery", "", kNextQueryFields};

// How a start was decided.
inline constexpr Field kReceiptStageFields[] = {
    Text("stage", "match, limits or dispatch"),
    Maybe(Count("open", "match: classes with open tasks")),
    Maybe(Count("passed", "match: those of them that the worker may run")),
    Maybe(Count("blocked", "limits: groups that they blocked")),
    Maybe(Count("met", "limits: limits that applied and were paid")),
    Maybe(Word("mode", kDispatchMode, "dispatch: who holds a queued task")),
    Maybe(Text("from", "dispatch: whose queue it came from")),
    Text("text", "in words"),
};
inline constexpr Object kReceiptStage{"ReceiptStage", "What a stage decided.", kReceiptStageFields};
inline constexpr Field kReceiptFields[] = {
    Count("serial", "its number"),
    Id("job", "the job's id"),
    Count("index", "of the task"),
    Count("attempt", "from 1"),
    Id("worker", "that was given it"),
    Text("worker_name", "for people"),
    Text("user", "of the job"),
    Time("at_ms", "when"),
    Millis("waited_ms", "how long it had waited"),
    Maybe(Many("stages", kReceiptStage, "not for tokens that are fixed to a user")),
    Text("strategy", "as text"),
    Maybe(Text("policy", "not for tokens that are fixed to a user")),
    Maybe(Many("why", kWhy, "not for tokens that are fixed to a user")),
};
inline constexpr Object kReceipt{"Receipt", "How a start was decided.", kReceiptFields};
inline constexpr Field kReceiptsPageFields[] = {
    Many("receipts", kReceipt, "the newest first"),
    OrNull(Count("next", "ask for it with `before`; null: that was all")),
};
inline constexpr Object kReceiptsPage{"ReceiptsPage", "A page of receipts.", kReceiptsPageFields};
inline constexpr Field kReceiptsQueryFields[] = {
    Maybe(Count("before", "only older ones")),
    Maybe(Count("limit", "at most so many")),
};
inline constexpr Object kReceiptsQuery{"ReceiptsQuery", "", kReceiptsQueryFields};

}  // namespace allot::wire
