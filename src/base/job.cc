// SPDX-License-Identifier: Apache-2.0
#include "base/job.h"

#include <cmath>
#include <iterator>

#include "base/state_words.h"

namespace allot {
namespace {

template <typename State, std::size_t N>
std::optional<State> Find(const std::string_view (&names)[N], std::string_view text) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<State>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view StateText(JobState state) { return kJobStateWords[static_cast<std::size_t>(state)]; }
std::string_view StateText(TaskState state) { return kTaskStateWords[static_cast<std::size_t>(state)]; }
std::optional<JobState> ParseJobState(std::string_view text) { return Find<JobState>(kJobStateWords, text); }
std::optional<TaskState> ParseTaskState(std::string_view text) { return Find<TaskState>(kTaskStateWords, text); }

std::uint32_t Allowance::For(std::uint32_t count) const {
  if (!percent) return number;
  return static_cast<std::uint32_t>(std::floor(static_cast<double>(count) * *percent / 100.0));
}

}  // namespace allot
