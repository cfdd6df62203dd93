// SPDX-License-Identifier: Apache-2.0
// Tasks, one by one, and what came out of them.
#pragma once

#include "wire/field.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kProgressFields[] = {
    Real("done", "how much"),
    Maybe(Real("of", "how much there is; missing: it is not known")),
    Maybe(Text("note", "for people")),
};
inline constexpr Object kProgress{"Progress", "How far a running task is, as its worker says.", kProgressFields};

inline constexpr Field kTaskFields[] = {
    Count("index", "its number in the job, from 0"),
    Word("state", kTaskState, "how it stands"),
    Count("attempts", "deliveries so far, as far as they are known"),
    OrNull(Id("worker", "that has it")),
    OrNull(Time("started_at_ms", "since when")),
    Text("error", "of its last attempt; empty: none"),
    Maybe(Time("retry_at_ms", "when its next attempt may start, where it is retrying")),
    Maybe(One("progress", kProgress, "where it is running, and its worker says so")),
    Maybe(Json("payload", "where one task is asked for, and has one")),
    Maybe(Json("result", "where one task is asked for, and is done")),
};
inline constexpr Object kTask{"Task", "A task of a job.", kTaskFields};

inline constexpr Field kTasksPageFields[] = {
    Many("tasks", kTask, "in the order of their indices"),
    OrNull(Count("next", "ask for it with `from`; null: that was all")),
};
inline constexpr Object kTasksPage{"TasksPage", "A page of tasks.", kTasksPageFields};

inline constexpr Field kResultFields[] = {
    Count("index", "of the task"),
    Word("state", kTaskState, "done, failed or skipped"),
    Maybe(Json("result", "of one that is done")),
    Maybe(Text("error", "of one that failed")),
};
inline constexpr Object kResult{"TaskResult", "What came out of a task.", kResultFields};

inline constexpr Field kResultsPageFields[] = {
    Many("results", kResult, "of tasks that have ended, up to the first that has not"),
    OrNull(Count("next", "ask for it with `from`; null: that was all")),
    Word("job_state", kJobState, "of the job"),
};
inline constexpr Object kResultsPage{"ResultsPage", "A page of results.", kResultsPageFields};

}  // namespace allot::wire
