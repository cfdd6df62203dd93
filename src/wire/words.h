// SPDX-License-Identifier: Apache-2.0
// Texts of the protocol that are one of some words.
#pragma once

#include <string_view>

#include "base/state_words.h"
#include "wire/field.h"

namespace allot::wire {

inline constexpr Words kJobState{"JobState", kJobStateWords};
inline constexpr Words kTaskState{"TaskState", kTaskStateWords};

inline constexpr std::string_view kKindWords[] = {"wait", "operator", "change_request"};
inline constexpr Words kKind{"Kind", kKindWords};
inline constexpr std::string_view kScopeWords[] = {"submit", "work", "read", "operate", "admin"};
inline constexpr Words kScope{"Scope", kScopeWords};
inline constexpr std::string_view kNodeStateWords[] = {"alive", "draining", "dead"};
inline constexpr Words kNodeState{"NodeState", kNodeStateWords};
inline constexpr std::string_view kDispatchModeWords[] = {"fanout", "balanced"};
inline constexpr Words kDispatchMode{"DispatchMode", kDispatchModeWords};
inline constexpr std::string_view kBalancingWords[] = {"least_queue", "round_robin", "random"};
inline constexpr Words kBalancing{"Balancing", kBalancingWords};
inline constexpr std::string_view kStageWords[] = {
    "total", "available", "tags", "constraint", "requirements", "worker_requirements", "free_slot", "limits", "others"};
inline constexpr Words kStage{"Stage", kStageWords};
inline constexpr std::string_view kOutcomeWords[] = {"true", "false", "undefined", "error", "no_boolean"};
inline constexpr Words kOutcome{"Outcome", kOutcomeWords};
inline constexpr std::string_view kTagStatusWords[] = {"never_seen", "gone", "unavailable", "busy", "free"};
inline constexpr Words kTagStatus{"TagStatus", kTagStatusWords};
inline constexpr std::string_view kSourceWords[] = {"policy", "strategy"};
inline constexpr Words kSource{"Source", kSourceWords};
inline constexpr std::string_view kLevelWords[] = {"info", "warning", "error"};
inline constexpr Words kLevel{"Level", kLevelWords};
inline constexpr std::string_view kHistoryStepWords[] = {"second", "minute"};
inline constexpr Words kHistoryStep{"HistoryStep", kHistoryStepWords};

// What this server can beyond the first version of the protocol, which has no word for it. Clients use what is named,
// and do with less where it is not.
//
// Changing it: a word is a promise. Add at the end, together with what it stands for.
inline constexpr std::string_view kFeatureWords[] = {
    "job_headers",           // `job_headers` in a worker's message and in a pull
    "retry_in_ms",           // in an entry of `failed`
    "progress",              // in an entry of `extend`
    "results_as_completed",  // `results` in a message on /wait
    "job_payload",           // `payload` in a job's own view
    "number_names",          // keys of meta and attributes that begin with a digit
};
inline constexpr Words kFeature{"Feature", kFeatureWords};

}  // namespace allot::wire
