// SPDX-License-Identifier: Apache-2.0
// Commands on limits, of starts (limits/limit.h). These end with their lease, or the engine. What fails changes
// nothing.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <optional>
#include <string_view>

#include "engine/types.h"
#include "limits/limit.h"

namespace allot {

struct EngineParts;

class LimitCommands {
 public:
  explicit LimitCommands(EngineParts& parts) : p_(parts) {}

  // A new one, in force at once. kBadValue, also for a uuid that is in use; kTooManyLimits.
  Result<LimitLease> Create(const Now& now, std::string_view uuid, const LimitSpec& spec);
  // Keeps counters and the bucket's level. kBadValue, kUnknownLimit.
  Result<LimitLease> Update(const Now& now, std::string_view uuid, const LimitSpec& spec);
  // A new lease, as long as the last one if none is given. kBadValue, kUnknownLimit.
  Result<LimitLease> Renew(const Now& now, std::string_view uuid, std::optional<Duration> expires_in);
  Result<void> Delete(const Now& now, std::string_view uuid);

 private:
  EngineParts& p_;
};

}  // namespace allot
