// SPDX-License-Identifier: Apache-2.0
// The states of jobs and tasks, in the words that everybody sees. In the order of JobState and TaskState.
#pragma once

#include <string_view>

namespace allot {

inline constexpr std::string_view kJobStateWords[] = {"scheduled", "active", "paused", "done", "failed", "cancelled"};
inline constexpr std::string_view kTaskStateWords[] = {"queued", "running", "retrying", "done", "failed", "skipped"};

}  // namespace allot
