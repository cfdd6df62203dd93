// SPDX-License-Identifier: Apache-2.0
// Server-sent events, out of the pieces in which they come.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "allotter/result.h"

namespace allotter {

class EventStream {
 public:
  // False: enough.
  using OnEvent = std::function<bool(std::string_view event, const std::string& data)>;
  // Calls `on_event` for every event that is now whole; comments and events without data are passed over. Returns false
  // once `on_event` has. An event of more than 16 MiB is kInternal.
  Result<bool> Add(std::string_view piece, const OnEvent& on_event);

 private:
  std::string buffered_;
  std::size_t looked_at_ = 0;  // of it, without an end of an event
};

}  // namespace allotter
