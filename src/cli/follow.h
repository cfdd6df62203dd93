// SPDX-License-Identifier: Apache-2.0
// Staying with a job until it has ended.
#pragma once

#include <functional>
#include <string>

#include "allotter/client.h"
#include "cli/context.h"

namespace allot::cli {

struct FollowOptions {
  bool results = false;           // print each task's result
  std::uint64_t from = 0;         // beginning with this one
  bool as_completed = false;      // in the order in which they end
  bool progress = true;           // draw a line on stderr, if that is a terminal
  bool say_on_interrupt = false;  // tell how to come back, when interrupted
};

// Returns the job as it ended. A server that goes away meanwhile is waited for, for a while.
Result<allotter::Job> Follow(const Context& context, allotter::Client& client, const std::string& job,
                             const FollowOptions& options);

// `kOk` for a job that is done.
ExitCode ExitCodeOfJob(const allotter::Job& job);

// Calls `call` again while the server cannot be reached, for up to a minute.
template <typename T>
Result<T> Patiently(const std::function<Result<T>()>& call);

}  // namespace allot::cli
