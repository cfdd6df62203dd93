// SPDX-License-Identifier: Apache-2.0
// What a request may do: where it comes from, which scope it has, whose jobs it sees.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/result.h"
#include "engine/looks/views.h"
#include "server/ops/config.h"
#include "server/ops/principal.h"
#include "server/wire/request_json.h"

namespace allot {

// Keeps pages of other sites off a server that only their visitor's machine can reach.
//
// A Host is the server's own if it is a loopback name, the listen address (any address literal, if that is all
// addresses), the machine's name unless listening on loopback only, or one of allowed_hosts; its port does not matter.
// An Origin is its own if it names the same host and port as Host, or is one of allowed_origins. Programs send no
// Origin.
//
// Threading: const after construction.
class OriginPolicy {
 public:
  explicit OriginPolicy(const Config& config);
  // `origin` is empty where the header is missing. kForeignOrigin; kBadRequest without a Host.
  Result<void> Check(std::string_view host, std::string_view origin) const;

 private:
  bool OwnHost(std::string_view name) const;
  std::unordered_set<std::string> hosts_;  // lower case, without ports
  std::unordered_set<std::string> origins_;
  bool any_host_ = false;
  bool any_origin_ = false;
  bool any_literal_ = false;
};

// kForbidden, naming the scope that is missing.
Result<void> RequireScope(const Principal& principal, Scope scope);
// Either of the two.
Result<void> RequireEither(const Principal& principal, Scope first, Scope second);
// kForbidden for a token that is fixed to another queue.
Result<void> RequireQueue(const Principal& principal, std::string_view queue);

// Whose job it is: the token's user if that is fixed (kForbidden if the spec names another), else what the spec says.
// Hash the content (wire/request_json.h) only after this.
Result<void> ClaimUser(const Principal& principal, JobRequest& request);

// May it know of jobs of that user?
bool Sees(const Principal& principal, std::string_view job_user);
// kUnknownJob, to the letter as if it were not there, for a job that it may not see.
Result<void> RequireSeen(const Principal& principal, JobId job, std::string_view job_user);
// The same, and kForbidden unless it has submit or operate.
Result<void> RequireChange(const Principal& principal, JobId job, std::string_view job_user);
// Narrows a list to the jobs that it sees. kForbidden for a list of another user's.
Result<void> NarrowToSeen(const Principal& principal, JobQuery& query);
// Of whom `last` speaks: the fixed user, or empty for anyone.
std::string_view LastOf(const Principal& principal);

}  // namespace allot
