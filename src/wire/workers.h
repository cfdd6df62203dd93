// SPDX-License-Identifier: Apache-2.0
// Workers, and what goes between them and the server.
#pragma once

#include "wire/field.h"
#include "wire/server.h"
#include "wire/tasks.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kTaskRefFields[] = {
    Id("job", "the job's id"),
    Count("index", "the task's number in it"),
    Text("lease", "the lease it is held by"),
};
inline constexpr Object kTaskRef{"TaskRef", "A task in a worker's hands.", kTaskRefFields};
inline constexpr Field kExtendFields[] = {
    kTaskRefFields[0],
    kTaskRefFields[1],
    kTaskRefFields[2],
    Maybe(One("progress", kProgress, "how far it is; what was said before is replaced")),
};
inline constexpr Object kExtend{"Extend", "A task that goes on.", kExtendFields};

inline constexpr Field kHelloFields[] = {
    Maybe(Text("name", "for people")),
    Maybe(List(Text("tags", "what kinds of work it does"))),
    Maybe(Count("slots", "tasks at a time")),
    Maybe(Of(Type::kTexts, "properties", "what constraints ask for")),
    Maybe(Of(Type::kValues, "attributes", "what expressions read")),
    Maybe(OrNull(Text("requirements", "an expression, true of jobs that it takes"))),
    Maybe(OrNull(Of(Type::kRank, "rank", "an expression: the jobs it prefers"))),
    Maybe(OrNull(Json("strategy", "which task first: text, or the strategy as an object"))),
    Maybe(Id("worker", "it was registered before")),
    Maybe(Text("key", "given with `worker`")),
    Maybe(Many("resume", kTaskRef, "what it still works on")),
};
inline constexpr Object kHello{"Hello", "How a worker introduces itself.", kHelloFields};
inline constexpr Field kFirstMessageFields[] = {One("hello", kHello, "who it is")};
inline constexpr Object kFirstMessage{"FirstMessage", "What a worker sends first.", kFirstMessageFields};

inline constexpr Field kWelcomeFields[] = {
    Id("worker", "its id"),
    Text("key", "proves that it is it"),
    Millis("heartbeat_ms", "it says something at least so often"),
    Many("resumed", kTaskRef, "what it goes on with"),
    Many("lost", kTaskRef, "what is no longer its own"),
    List(Word("features", kFeature, "what it may use")),
};
inline constexpr Object kWelcome{"Welcome", "A worker is registered.", kWelcomeFields};

inline constexpr Field kWorkerChangeFields[] = {
    Maybe(OrNull(List(Text("tags", "what kinds of work it does")))),
    Maybe(OrNull(Of(Type::kTexts, "properties", "what constraints ask for"))),
    Maybe(OrNull(Of(Type::kValues, "attributes", "what expressions read"))),
    Maybe(OrNull(Text("requirements", "an expression, true of jobs that it takes"))),
    Maybe(OrNull(Of(Type::kRank, "rank", "an expression: the jobs it prefers"))),
    Maybe(OrNull(Json("strategy", "which task first: text, or the strategy as an object"))),
};
inline constexpr Object kWorkerChange{
    "WorkerChange", "What to change of a worker; null empties, what is not there stays.", kWorkerChangeFields};
inline constexpr Field kWorkerPatchFields[] = {
    kWorkerChangeFields[0],
    kWorkerChangeFields[1],
    kWorkerChangeFields[2],
    kWorkerChangeFields[3],
    kWorkerChangeFields[4],
    kWorkerChangeFields[5],
    Maybe(Text("key", "where the worker itself asks for it")),
};
inline constexpr Object kWorkerPatch{"WorkerPatch", "A change of a worker as a request.", kWorkerPatchFields};

inline constexpr Field kDoneFields[] = {
    kTaskRefFields[0],
    kTaskRefFields[1],
    kTaskRefFields[2],
    Maybe(Json("result", "what came out of it")),
};
inline constexpr Object kDone{"Done", "A task that is done.", kDoneFields};
inline constexpr Field kFailedFields[] = {
    kTaskRefFields[0],
    kTaskRefFields[1],
    kTaskRefFields[2],
    Maybe(Text("error", "why")),
    Maybe(Bool("final", "without a further attempt")),
    Maybe(Millis("retry_in_ms", "when its next attempt may start, instead of after its backoff")),
};
inline constexpr Object kFailed{"Failed", "An attempt that failed.", kFailedFields};

inline constexpr Field kWorkerMessageFields[] = {
    Maybe(Count("seq", "comes back as `ack`")),
    Maybe(Bool("bye", "it leaves, and has nothing in its hands")),
    Maybe(Many("done", kDone, "tasks that are done")),
    Maybe(Many("failed", kFailed, "attempts that failed")),
    Maybe(Many("released", kTaskRef, "tasks that were not started")),
    Maybe(Many("extend", kExtend, "tasks that go on: their leases begin anew")),
    Maybe(Count("pull", "tasks that it can take")),
    Maybe(OrNull(Json("strategy", "of this pull"))),
    Maybe(One("set", kWorkerChange, "what it changes of itself")),
    Maybe(Bool("job_headers", "from now on, headers of jobs come with their first tasks")),
};
inline constexpr Object kWorkerMessage{"WorkerMessage", "What a worker says.", kWorkerMessageFields};
inline constexpr Field kPullFields[] = {
    kWorkerMessageFields[2],
    kWorkerMessageFields[3],
    kWorkerMessageFields[4],
    kWorkerMessageFields[5],
    kWorkerMessageFields[6],
    kWorkerMessageFields[7],
    kWorkerMessageFields[8],
    Maybe(Bool("job_headers", "headers of their jobs come with the tasks")),
    Text("key", "proves that it is this worker"),
    Maybe(Millis("wait_ms", "how long to wait for tasks")),
};
inline constexpr Object kPull{"Pull", "What a worker says over plain HTTP.", kPullFields};
inline constexpr Field kKeyBodyFields[] = {Text("key", "proves that it is this worker")};
inline constexpr Object kKeyBody{"WorkerKey", "A worker's key.", kKeyBodyFields};

inline constexpr Field kAssignmentFields[] = {
    kTaskRefFields[0],
    kTaskRefFields[1],
    kTaskRefFields[2],
    Count("attempt", "from 1"),
    Count("count", "tasks of the job"),
    Millis("lease_ms", "how long the worker may be silent"),
    Millis("timeout_ms", "how long the attempt may take; 0: as long as it likes"),
    Maybe(Json("payload", "the task's own, or else the job's")),
    Maybe(Json("job_payload", "the job's, where the task has its own")),
    Maybe(Text("payload_prefix", "stands before the payload where a command reads it")),
    Maybe(Text("trace", "as the job has it")),
};
inline constexpr Object kAssignment{"Assignment", "A task for a worker.", kAssignmentFields};

inline constexpr Field kJobHeaderFields[] = {
    Id("id", "the job's id"),
    List(Text("tags", "what kind of work it is")),
    Of(Type::kValues, "meta", "what expressions can read, and people"),
    Text("user", "whose it is"),
};
inline constexpr Object kJobHeader{"JobHeader", "What a worker may know of a job.", kJobHeaderFields};

inline constexpr Field kStaleFields[] = {
    kTaskRefFields[0],
    kTaskRefFields[1],
    kTaskRefFields[2],
    Text("code", "stale or job_ended"),
};
inline constexpr Object kStale{"Stale", "A report that changed nothing.", kStaleFields};
inline constexpr Field kCancelFields[] = {
    kTaskRefFields[0],
    kTaskRefFields[1],
    kTaskRefFields[2],
    Text("reason", "cancelled, job_failed, timeout, expired or lost"),
};
inline constexpr Object kCancel{"Cancel", "A task that the worker should stop.", kCancelFields};

inline constexpr Field kPullAnswerFields[] = {
    Many("stale", kStale, "reports that changed nothing"),
    Many("tasks", kAssignment, "for the worker"),
    Many("cancel", kCancel, "what it should stop"),
    Bool("drain", "it should finish what it has, and leave"),
    Maybe(One("set", kWorkerChange, "what others changed of it")),
    Maybe(Many("jobs", kJobHeader, "of the tasks, where they are asked for")),
};
inline constexpr Object kPullAnswer{"PullAnswer", "What a worker is told over plain HTTP.", kPullAnswerFields};

inline constexpr Field kWorkerNewsFields[] = {
    Maybe(Count("ack", "the `seq` of a message that is on disk")),
    Maybe(Many("stale", kStale, "reports that changed nothing")),
    Maybe(Many("cancel", kCancel, "what it should stop")),
    Maybe(Bool("drain", "it should finish what it has, and leave")),
    Maybe(One("set", kWorkerChange, "what others changed of it")),
    Maybe(Many("tasks", kAssignment, "for the worker")),
    Maybe(Many("jobs", kJobHeader, "of tasks of this message, where they are asked for")),
    Maybe(One("welcome", kWelcome, "the answer to its hello")),
    Maybe(One("error", kError, "what it said is refused")),
    Maybe(Count("seq", "of the message that is refused")),
};
inline constexpr Object kWorkerNews{"WorkerNews", "What a worker is told.", kWorkerNewsFields};

inline constexpr Field kPromisedShareFields[] = {
    Id("job", "the job's id"),  Count("tasks", "how many of its tasks"), OrNull(Int("priority", "of the job")),
    Text("user", "of the job"), List(Text("tags", "of the job")),
};
inline constexpr Object kPromisedShare{"PromisedShare", "Tasks of one job in a worker's queue.", kPromisedShareFields};
inline constexpr Field kHeldTaskFields[] = {kTaskRefFields[0], kTaskRefFields[1]};
inline constexpr Object kHeldTask{"WorkerTask", "A task that a worker has.", kHeldTaskFields};

inline constexpr Field kWorkerFields[] = {
    Id("id", "its id"),
    Text("name", "for people"),
    List(Text("tags", "what kinds of work it does")),
    Of(Type::kTexts, "properties", "what constraints ask for"),
    Of(Type::kValues, "attributes", "what expressions read"),
    OrNull(Text("requirements", "an expression, true of jobs that it takes")),
    OrNull(Text("rank", "an expression: the jobs it prefers")),
    Text("strategy", "which task first"),
    Count("slots", "tasks at a time"),
    Count("running", "tasks that it has"),
    Count("credit", "tasks that it waits for"),
    Maybe(Count("promised", "tasks in its queue, where dispatch is balanced")),
    Maybe(Count("promised_jobs", "jobs in its queue, where dispatch is balanced")),
    Bool("draining", "it is given no further tasks"),
    Bool("connected", "over a WebSocket, or in a pull"),
    Bool("away", "its connection was lost; it may come back"),
    Text("address", "where it called from"),
    Text("user", "of its token"),
    Time("registered_at_ms", "since when"),
    Time("last_seen_at_ms", "when it last said something"),
    Maybe(List(Text("constraint_tags", "where one is asked for: those that it meets"))),
    Maybe(Many("tasks", kHeldTask, "where one is asked for: the first of what it has")),
    Maybe(Many("queue", kPromisedShare, "where one is asked for: the first of what it was promised")),
};
inline constexpr Object kWorker{"Worker", "A worker.", kWorkerFields};
inline constexpr Field kWorkersPageFields[] = {
    Many("workers", kWorker, "in the order of their ids"),
    OrNull(Id("next", "ask for it with `after`; null: that was all")),
};
inline constexpr Object kWorkersPage{"WorkersPage", "A page of workers.", kWorkersPageFields};
inline constexpr Field kWorkersQueryFields[] = {
    Maybe(Id("after", "only later ones")),
    Maybe(Count("limit", "at most so many")),
};
inline constexpr Object kWorkersQuery{"WorkersQuery", "", kWorkersQueryFields};

// Waiting for many jobs, and for results as they complete.
inline constexpr Field kRangeFields[] = {
    Count("from", "the first index"),
    Count("to", "the first index behind the range"),
};
inline constexpr Object kRange{"Range", "Tasks of a job.", kRangeFields};
inline constexpr Field kFollowFields[] = {
    Id("job", "the job's id"),
    Count("credit", "so many more of its results, at most"),
    Maybe(Many("have", kRange, "results that are there already; of the job's first entry alone")),
};
inline constexpr Object kFollow{"Follow", "A job whose results are to be told as they complete.", kFollowFields};
inline constexpr Field kWaitFields[] = {
    Maybe(List(Id("wait", "ids of jobs"))),
    Maybe(Many("results", kFollow, "jobs whose results are wanted as they complete")),
};
inline constexpr Object kWait{"Wait", "Which jobs to wait for.", kWaitFields};
inline constexpr Field kEndedFields[] = {
    Id("id", "the job's"),
    Word("state", kJobState, "how it ended"),
    Count("done", "tasks that are done"),
    Count("failed", "tasks that failed"),
};
inline constexpr Object kEnded{"Ended", "A job that has ended.", kEndedFields};
inline constexpr Field kFollowedFields[] = {
    Id("job", "the job's id"),
    Many("results", kResult, "of tasks that have ended, in the order in which that was seen"),
    Bool("end", "these are the last: the job has ended, and all has been told"),
};
inline constexpr Object kFollowed{"Followed", "Results of a job, as they complete.", kFollowedFields};
inline constexpr Field kWaitNewsFields[] = {
    Maybe(Many("results", kFollowed, "results that were asked for")),
    Maybe(Many("ended", kEnded, "jobs that have ended")),
    Maybe(List(Id("unknown", "jobs that are not there"))),
    Maybe(One("error", kError, "what was asked is refused")),
};
inline constexpr Object kWaitNews{"WaitNews", "Which jobs have ended.", kWaitNewsFields};

}  // namespace allot::wire
