// SPDX-License-Identifier: Apache-2.0
// Jobs, their tasks and what becomes of them: requests and answers.
#pragma once

#include <concepts>
#include <string>

#include "base/job_details.h"
#include "base/time.h"
#include "wire/field.h"
#include "wire/tasks.h"
#include "wire/words.h"

namespace allot::wire {

// The fields of base/job_details.h: of requests, where they may be missing, and of answers.
template <typename T>
constexpr Type TypeOfDetail() {
  if (std::same_as<T, bool>) return Type::kBool;
  if (std::same_as<T, milliseconds>) return Type::kMillis;
  return std::same_as<T, std::string> ? Type::kText : Type::kCount;
}
constexpr auto DetailFields(bool optional) {
  std::array<Field, kJobDetailCount> fields;
  std::size_t at = 0;
  ForEach(kJobDetails, [&]<typename Owner, typename T>(const Detail<Owner, T>& detail) {
    fields[at] = Of(TypeOfDetail<T>(), detail.name, detail.about);
    fields[at++].optional = optional;
  });
  return fields;
}
inline constexpr auto kDetailSpecFields = DetailFields(true);
inline constexpr auto kDetailFields = DetailFields(false);

inline constexpr Field kBackoffFields[] = {
    Millis("first_ms", "before the second attempt"),
    Real("factor", "each further wait is longer by it"),
    Millis("max_ms", "no wait is longer"),
    Real("jitter", "by which part of itself a wait may differ, by chance"),
};
inline constexpr Object kBackoff{"Backoff", "How long a failed task waits before its next attempt.", kBackoffFields};

// All of it has a default.
inline constexpr Field kBackoffSpecFields[] = {
    Maybe(Millis("first_ms", "before the second attempt")),
    Maybe(Real("factor", "each further wait is longer by it")),
    Maybe(Millis("max_ms", "no wait is longer")),
    Maybe(Real("jitter", "by which part of itself a wait may differ, by chance")),
};
inline constexpr Object kBackoffSpec{"BackoffSpec", "How long a failed task waits before its next attempt.",
                                     kBackoffSpecFields};

inline constexpr Field kJobSpecOwnFields[] = {
    Maybe(List(Text("tags", "what kind of work it is; a worker needs one of them"))),
    Maybe(Text("tag", "instead of `tags`, where it has one")),
    Maybe(Count("count", "how many tasks")),
    Maybe(Json("payload", "what all tasks are given")),
    Maybe(List(Json("payloads", "what each task is given: instead of `count`"))),
    Maybe(OrNull(Int("priority", "higher ones come first; null comes last"))),
    Maybe(Text("user", "whose it is")),
    Maybe(Bool("async", "false: whoever submitted it waits for it")),
    Maybe(Millis("delay_ms", "from its submission to its start")),
    Maybe(Time("scheduled_at_ms", "when it may start, instead of `delay_ms`")),
    Maybe(Of(Type::kValues, "meta", "what expressions can read, and people")),
    Maybe(OrNull(Json("constraints", "properties that a worker must have: an object, a constraint tag, or a list"))),
    Maybe(OrNull(Text("requirements", "an expression, true of workers that may run it"))),
    Maybe(OrNull(Of(Type::kRank, "rank", "an expression: of several waiting workers the highest gets it"))),
    Maybe(Count("max_attempts", "for each task")),
    Maybe(One("backoff", kBackoffSpec, "how long a failed task waits")),
    Maybe(Millis("lease_ms", "how long a worker may be silent")),
    Maybe(Millis("timeout_ms", "how long an attempt may take; 0: as long as it likes")),
    Maybe(Of(Type::kNumeral, "max_failed_tasks", "one more, and the job fails: a number or \"5%\"")),
    Maybe(Millis("retention_ms", "how long it is kept when it has ended")),
};
inline constexpr auto kJobSpecFields = Joined<kJobSpecOwnFields, kDetailSpecFields>();
inline constexpr Object kJobSpec{"JobSpec", "A job to submit.", kJobSpecFields};

inline constexpr Field kBatchFields[] = {Many("jobs", kJobSpec, "all of them are submitted, or none")};
inline constexpr Object kBatch{"Batch", "Several jobs to submit.", kBatchFields};

inline constexpr Field kJobChangeFields[] = {
    Maybe(OrNull(Int("priority", "null comes last"))),
    Maybe(List(Text("tags", "what kind of work it is"))),
    Maybe(Text("tag", "instead of `tags`")),
    Maybe(Millis("delay_ms", "from now to its start")),
    Maybe(Time("scheduled_at_ms", "when it may start, instead of `delay_ms`")),
    Maybe(Of(Type::kValues, "meta", "all of it")),
    Maybe(OrNull(Json("constraints", "as in JobSpec; null: none"))),
    Maybe(OrNull(Text("requirements", "null: none"))),
    Maybe(OrNull(Of(Type::kRank, "rank", "null: none"))),
};
inline constexpr Object kJobChange{"JobChange", "What to change of a job; what is not there stays.", kJobChangeFields};

inline constexpr Field kHeldFields[] = {
    Text("code", "the reason, as in an explanation"),
    Word("kind", kKind, "what to do about it"),
    OrNull(Time("since_at_ms", "null: since before the server's start")),
};
inline constexpr Object kHeld{"Held", "Why what waits of a job does not run.", kHeldFields};

inline constexpr Field kJobOwnFields[] = {
    Id("id", "its id"),
    Text("queue", "the name of its queue"),
    Word("state", kJobState, "how it stands"),
    Bool("paused", "the same as the state paused"),
    List(Text("tags", "what kind of work it is")),
    OrNull(Int("priority", "higher ones come first; null comes last")),
    Text("user", "whose it is"),
    Bool("async", "false: whoever submitted it waits for it"),
    Of(Type::kValues, "meta", "what expressions can read, and people"),
    List(Of(Type::kTexts, "constraints", "properties that a worker must have: alternatives")),
    List(Text("constraint_tags", "one for each alternative")),
    OrNull(Text("requirements", "an expression, true of workers that may run it")),
    OrNull(Text("rank", "an expression: of several waiting workers the highest gets it")),
    Count("count", "tasks"),
    Count("queued", "tasks that may start"),
    Count("running", "tasks that workers have"),
    Count("retrying", "tasks that wait for their next attempt"),
    Count("done", "tasks that are done"),
    Count("failed", "tasks that failed for good"),
    Count("skipped", "tasks that will not run"),
    Maybe(Count("promised", "of the queued ones, those in queues of workers; missing: none")),
    Maybe(Real("progress", "what running tasks have done, in tasks; missing: none says so")),
    Maybe(Json("payload", "of the job for all of its tasks, where one job is asked for, and has one")),
    Count("max_attempts", "for each task"),
    Count("max_failed_tasks", "one more, and the job fails"),
    One("backoff", kBackoff, "how long a failed task waits"),
    Millis("lease_ms", "how long a worker may be silent"),
    Millis("timeout_ms", "how long an attempt may take; 0: as long as it likes"),
    Millis("retention_ms", "how long it is kept when it has ended"),
    Time("submitted_at_ms", "when it was submitted"),
    Time("scheduled_at_ms", "when it may start"),
    OrNull(Time("started_at_ms", "when its first task was given out")),
    OrNull(Time("ended_at_ms", "when it ended")),
    OrNull(Time("next_retry_at_ms", "when the next of its retrying tasks may run")),
    Text("reason", "why it failed, where it did"),
};
inline constexpr Field kJobHeldField[] = {OrNull(One("held", kHeld, "null: nothing of it waits, or it is not known"))};
inline constexpr auto kJobFields = Joined<kJobOwnFields, kDetailFields, kJobHeldField>();
inline constexpr Object kJob{"Job", "A job.", kJobFields};

inline constexpr Field kJobsPageFields[] = {
    Many("jobs", kJob, "the newest first"),
    OrNull(Id("next", "ask for it with `before`; null: that was all")),
};
inline constexpr Object kJobsPage{"JobsPage", "A page of jobs.", kJobsPageFields};

inline constexpr Field kSubmittedFields[] = {
    One("job", kJob, "as it is now"),
    Bool("existing", "it was there, found by its idempotency key"),
    Count("matching_workers", "those that may run it"),
};
inline constexpr Object kSubmitted{"Submitted", "The answer to a submit.", kSubmittedFields};

inline constexpr Field kSubmittedIdFields[] = {
    Id("id", "the job's"),
    Bool("existing", "it was there, found by its idempotency key"),
    Count("matching_workers", "those that may run it"),
};
inline constexpr Object kSubmittedId{"SubmittedId", "One job of a batch.", kSubmittedIdFields};
inline constexpr Field kSubmittedBatchFields[] = {Many("jobs", kSubmittedId, "in the order of the batch")};
inline constexpr Object kSubmittedBatch{"SubmittedBatch", "The answer to a batch.", kSubmittedBatchFields};

inline constexpr Field kRetriedFields[] = {
    One("job", kJob, "as it is now"),
    Count("retried", "tasks that will run again"),
};
inline constexpr Object kRetried{"Retried", "The answer to a retry.", kRetriedFields};

inline constexpr Field kPictureFields[] = {
    Id("job", "the job's id"),
    Count("count", "tasks of the job"),
    Count("from", "the first index of the range"),
    Count("to", "the first index behind it"),
    Count("width", "tasks of a part; the last may have fewer"),
    List(Count("queued", "of each part")),
    List(Count("running", "of each part")),
    List(Count("retrying", "of each part")),
    List(Count("done", "of each part")),
    List(Count("failed", "of each part")),
    List(Count("skipped", "of each part")),
};
inline constexpr Object kPicture{"Picture", "How many tasks are in which state, over the range of their indices.",
                                 kPictureFields};

inline constexpr Field kErrorGroupFields[] = {
    Text("text", "with # for what differs from task to task"),
    Text("example", "the first as it was"),
    Count("tasks", "how many"),
    Count("first", "the first index"),
    Count("last", "the last index"),
};
inline constexpr Object kErrorGroup{"ErrorGroup", "Tasks that failed for what looks like one reason.",
                                    kErrorGroupFields};
inline constexpr Field kErrorsPageFields[] = {
    Id("job", "the job's id"),
    Many("groups", kErrorGroup, "those with the most tasks first"),
    Count("examined", "errors that were looked at"),
    OrNull(Count("next", "ask for it with `from`; null: that was all")),
};
inline constexpr Object kErrorsPage{"ErrorsPage", "The errors of a job's tasks, grouped.", kErrorsPageFields};

inline constexpr Field kJobsFilterFields[] = {
    Maybe(Word("state", kJobState, "only jobs in it")),
    Maybe(Text("tag", "only jobs with it")),
    Maybe(Text("user", "only this user's")),
    Maybe(Id("up_to", "only jobs that are not newer")),
    Maybe(Bool("dry_run", "only counts")),
    Maybe(Bool("all", "needed where nothing else says which jobs")),
};
inline constexpr Object kJobsFilter{"JobsFilter", "Which jobs to do something with.", kJobsFilterFields};

inline constexpr Field kBulkAnswerFields[] = {
    Count("matching", "jobs that the filter finds"),
    Count("tasks", "of theirs that have not ended"),
    Count("changed", "jobs that were changed"),
    Id("up_to", "the newest job that was looked at"),
    Bool("complete", "false: it took too long, ask again"),
    Bool("dry_run", "nothing was changed"),
    Millis("took_ms", "how long it took"),
};
inline constexpr Object kBulkAnswer{"BulkAnswer", "What became of many jobs at once.", kBulkAnswerFields};

// Queries.
inline constexpr Field kJobsQueryFields[] = {
    Maybe(Word("state", kJobState, "only jobs in it")),
    Maybe(Text("tag", "only jobs with it")),
    Maybe(Text("user", "only this user's")),
    Maybe(Id("before", "only older ones")),
    Maybe(Count("limit", "at most so many")),
};
inline constexpr Object kJobsQuery{"JobsQuery", "", kJobsQueryFields};
inline constexpr Field kShowQueryFields[] = {
    Maybe(Millis("wait_ms", "how long to wait for it to end")),
    Maybe(Bool("payload", "with what it was submitted with for all of its tasks")),
};
inline constexpr Object kShowQuery{"ShowQuery", "", kShowQueryFields};
inline constexpr Field kTasksQueryFields[] = {
    Maybe(Word("state", kTaskState, "only tasks in it")),
    Maybe(Count("from", "the first index")),
    Maybe(Count("limit", "at most so many")),
};
inline constexpr Object kTasksQuery{"TasksQuery", "", kTasksQueryFields};
inline constexpr Field kResultsQueryFields[] = {
    Maybe(Count("from", "the first index")),
    Maybe(Count("limit", "at most so many")),
    Maybe(Millis("wait_ms", "how long to wait for the first of them to end")),
};
inline constexpr Object kResultsQuery{"ResultsQuery", "", kResultsQueryFields};
inline constexpr Field kPictureQueryFields[] = {
    Maybe(Count("parts", "into how many parts the range is divided")),
    Maybe(Count("from", "the first index")),
    Maybe(Count("to", "the first index behind the range")),
};
inline constexpr Object kPictureQuery{"PictureQuery", "", kPictureQueryFields};
inline constexpr Field kErrorsQueryFields[] = {
    Maybe(Count("from", "the first index")),
    Maybe(Count("limit", "how many errors to look at")),
};
inline constexpr Object kErrorsQuery{"ErrorsQuery", "", kErrorsQueryFields};
inline constexpr Field kExplainQueryFields[] = {
    Maybe(Id("worker", "why this worker does not run it")),
    Maybe(Count("task", "how this task stands")),
};
inline constexpr Object kExplainQuery{"ExplainQuery", "", kExplainQueryFields};

}  // namespace allot::wire
