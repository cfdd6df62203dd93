// SPDX-License-Identifier: Apache-2.0
// The WebSocket of those who wait: for the ends of jobs, and for results as they complete. Blocks.
//
// Threading: one call at a time.
#pragma once

#include <memory>
#include <string_view>

#include "allotter/result.h"
#include "allotter/values.h"
#include "client/codec.h"

namespace allotter {

class WaitLink {
 public:
  static Result<std::unique_ptr<WaitLink>> Open(const ConnectionOptions& options);
  virtual ~WaitLink() = default;
  virtual Result<void> Say(std::string_view message) = 0;
  // The next message, which is good until the next call. An error that it tells is the call's.
  virtual Result<ServerMessage*> Next() = 0;
};

}  // namespace allotter
