// SPDX-License-Identifier: Apache-2.0
// Why a job does not run.
#pragma once

#include "wire/decisions.h"

namespace allot::wire {

inline constexpr Field kSeenValueFields[] = {Text("name", "of the attribute"),
                                             OrNull(Text("value", "null: it has none"))};
inline constexpr Object kSeenValue{"SeenValue", "What a condition read.", kSeenValueFields};
inline constexpr Field kConditionFields[] = {
    Word("stage", kStage, "which stage it is of"),
    Text("condition", "as text"),
    Bool("holds", "for this worker"),
    Word("outcome", kOutcome, "of the expression"),
    Many("values", kSeenValue, "what it read"),
    Text("message", "in words"),
};
inline constexpr Object kCondition{"Condition", "What a worker must be, and whether it is.", kConditionFields};
inline constexpr Field kFunnelFields[] = {Word("stage", kStage, "the stage"), Count("workers", "that come past it")};
inline constexpr Object kFunnel{"FunnelStage", "How many workers come past a stage.", kFunnelFields};
inline constexpr Field kTagStandingFields[] = {
    Text("tag", "of the job"),         Word("status", kTagStatus, "of workers with it"),
    Count("workers", "with it"),       Count("available", "neither draining nor away"),
    Count("free", "with a free slot"), OrNull(Time("last_seen_at_ms", "when a worker had it")),
};
inline constexpr Object kTagStanding{"TagStanding", "Who has a tag of the job.", kTagStandingFields};
inline constexpr Field kPropertyStandingFields[] = {
    Text("key", "of the property"),
    Text("value", "that is asked for"),
    Count("workers", "that have it"),
};
inline constexpr Object kPropertyStanding{"PropertyStanding", "Who has a property.", kPropertyStandingFields};
inline constexpr Field kConstraintStandingFields[] = {
    Text("tag", "its constraint tag"),
    Count("workers", "that meet it"),
    Many("properties", kPropertyStanding, "one by one"),
};
inline constexpr Object kConstraintStanding{"ConstraintStanding", "Who meets one of the alternatives.",
                                            kConstraintStandingFields};
inline constexpr Field kClauseFields[] = {
    Text("clause", "as text"),
    Count("reached", "workers for which it was asked"),
    Count("failed", "of these: it was false"),
    Count("undefined", "of these: something was missing"),
    Count("error", "of these: it had an error"),
    OrNull(Text("best", "the value that came nearest")),
};
inline constexpr Object kClause{"Clause", "A part of requirements, and where it fails.", kClauseFields};
inline constexpr Field kNearestFields[] = {
    Id("worker", "its id"),
    Text("name", "for people"),
    Many("misses", kCondition, "what it is not"),
};
inline constexpr Object kNearest{"Nearest", "The worker that misses the least.", kNearestFields};
inline constexpr Field kSuggestionFields[] = {
    Text("kind", "what looks like a slip"), Text("given", "what the job says"), Text("nearest", "what is there"),
    Text("where", "whose it is"),           Text("message", "in words"),
};
inline constexpr Object kSuggestion{"Suggestion", "What may have been meant.", kSuggestionFields};

inline constexpr Field kExplainedLimitFields[] = {
    Text("uuid", "its id"),
    Text("tag", "for whoever made it"),
    Text("name", "for people"),
    Bool("monitor", "it holds nothing back"),
    Bool("reads_worker", "it holds on some workers alone"),
    Real("level", "its tokens"),
    Real("cost", "of a start"),
    Bool("blocks", "now"),
    Bool("never", "it can never pay"),
    Bool("stops", "its count is 0"),
    Bool("overtaken", "cheaper starts keep the job waiting"),
    OrNull(Millis("payable_in_ms", "when it can pay, if nothing else starts")),
    Count("workers", "that it applies to, where it reads the worker"),
    Count("workers_blocked", "on which it blocks the job"),
};
inline constexpr Object kExplainedLimit{"ExplainedLimit", "How a limit stands to a job.", kExplainedLimitFields};
inline constexpr Field kCeilingFields[] = {
    kBlockedByCeilingFields[0], kBlockedByCeilingFields[1], kBlockedByCeilingFields[2],
    kBlockedByCeilingFields[3], kBlockedByCeilingFields[4],
};
inline constexpr Object kCeiling{"Ceiling", "A ceiling of a strategy that a value has reached.", kCeilingFields};
inline constexpr Field kFirstFields[] = {
    Id("job", "the job's id"),
    Text("user", "of the job"),
    Many("why", kWhy, "from the outermost block on"),
};
inline constexpr Object kFirst{"FirstInOrder", "What comes first.", kFirstFields};
inline constexpr Field kOwnFields[] = {Many("why", kWhy, "from the outermost block on")};
inline constexpr Object kOwn{"OwnPlace", "How the job itself stands.", kOwnFields};
inline constexpr Field kOrderFields[] = {
    Maybe(Text("strategy", "of most workers that are given it; not for tokens that are fixed to a user")),
    Maybe(Text("policy", "of the queue; the same")),
    Maybe(Count("workers", "that have this strategy")),
    Maybe(OrNull(Count("place", "from 1; null: not known"))),
    Maybe(Bool("complete", "all jobs were looked at")),
    Maybe(OrNull(One("first", kFirst, "null: nothing comes first"))),
    Maybe(One("own", kOwn, "how the job itself stands")),
    Many("ceilings", kCeiling, "that hold it back"),
};
inline constexpr Object kOrder{"Order", "Where a job stands among the others.", kOrderFields};
inline constexpr Field kLongestFields[] = {
    Id("worker", "its id"),
    Text("name", "for people"),
    Count("tasks", "of the job that it was promised"),
    Count("queue", "all that it was promised"),
};
inline constexpr Object kLongest{"PromisedMost", "The worker that was promised the most of a job.", kLongestFields};
inline constexpr Field kPromisedFields[] = {
    Count("tasks", "that were promised"),
    Count("workers", "to how many"),
    OrNull(One("longest", kLongest, "null: none, or not told")),
};
inline constexpr Object kPromised{"Promised", "Who holds a job's tasks, where dispatch is balanced.", kPromisedFields};

inline constexpr Field kTaskCountsFields[] = {
    Count("queued", "tasks that may start"),
    Count("running", "tasks that workers have"),
    Count("retrying", "tasks that wait for their next attempt"),
};
inline constexpr Object kTaskCounts{"TaskCounts", "A job's tasks that have not ended.", kTaskCountsFields};
inline constexpr Field kExaminedFields[] = {
    Count("total", "workers"), Count("examined", "in the time there was"), Count("draining", "workers"),
    Count("away", "workers"),  Count("matching", "that may run it"),
};
inline constexpr Object kExamined{"Examined", "Workers, as an explanation saw them.", kExaminedFields};

inline constexpr Field kHeadFields[] = {
    OrNull(Id("job", "null: it is not submitted")),   Word("state", kJobState, "how it stands"),
    One("tasks", kTaskCounts, "that have not ended"), One("verdict", kReason, "the first of the reasons"),
    Many("reasons", kReason, "the gravest first"),    Many("limits", kExplainedLimit, "that apply"),
};
inline constexpr Field kExplanationFields[] = {
    kHeadFields[0],
    kHeadFields[1],
    kHeadFields[2],
    kHeadFields[3],
    kHeadFields[4],
    kHeadFields[5],
    Maybe(One("order", kOrder, "where it stands among the others")),
    OrNull(One("promised", kPromised, "null: dispatch is not balanced")),
    Maybe(One("task", kTask, "where it was asked for")),
    One("workers", kExamined, "as they were seen"),
    Many("funnel", kFunnel, "how many workers come past each stage"),
    Many("tags", kTagStanding, "of the job"),
    Many("constraints", kConstraintStanding, "one for each alternative"),
    Many("requirements", kClause, "of the job"),
    Many("worker_requirements", kClause, "of workers"),
    OrNull(One("nearest", kNearest, "null: none, or not told")),
    Many("suggestions", kSuggestion, "what may have been meant"),
};
inline constexpr Object kExplanation{"Explanation", "Why a job does not run.", kExplanationFields};
inline constexpr Field kRankFields[] = {OrNull(Text("expression", "null: none")),
                                        Real("value", "0 where there is none")};
inline constexpr Object kRank{"Rank", "What a rank comes to.", kRankFields};
inline constexpr Field kWorkerExplanationFields[] = {
    kHeadFields[0],
    kHeadFields[1],
    kHeadFields[2],
    kHeadFields[3],
    kHeadFields[4],
    kHeadFields[5],
    Id("worker", "its id"),
    Text("name", "for people"),
    Bool("matches", "it may run the job"),
    Many("conditions", kCondition, "one by one"),
    One("job_rank", kRank, "that the job gives the worker"),
    One("worker_rank", kRank, "that the worker gives the job"),
};
inline constexpr Object kWorkerExplanation{"WorkerExplanation", "A job and one worker, condition by condition.",
                                           kWorkerExplanationFields};

}  // namespace allot::wire
