// What limits on starts add to an explanation: matching knows nothing of them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/types.h"
#include "match/explain.h"

namespace allot {

// A reason in the protocol's words.
struct SaidReason {
  std::string_view kind, code;
  std::string message, hint;
};

// The limits on one job's starts, as of `now`.
struct JobLimits {
  std::vector<LimitHold> holds;
  Instant now{};
  std::uint32_t free = 0, free_held = 0;  // as in LimitHolds
};

// The reasons of matching together with those of limits that hold back, what decides first. `matching`: how many
// workers may run the job, as far as availability and slots do not count. Where the reasons are of one worker, the
// limits are those on that one, too.
std::vector<SaidReason> SayReasons(const MatchSnapshot& snapshot, const std::vector<Reason>& reasons,
                                   const JobLimits& limits, std::size_t matching);

// `"limits": […]`: all that apply, whether they hold back or not.
void AppendJobLimits(const JobLimits& limits, JsonWriter& w);

}  // namespace allot
