// SPDX-License-Identifier: Apache-2.0
#include "client/event_stream.h"

#include <algorithm>

namespace allotter {
namespace {

constexpr std::size_t kMaxEventBytes = 16u << 20;

// What stands behind `name:` and at most one blank.
bool Field(std::string_view line, std::string_view name, std::string_view& value) {
  if (!line.starts_with(name)) return false;
  value = line.substr(name.size());
  if (value.starts_with(' ')) value.remove_prefix(1);
  return true;
}

}  // namespace

Result<bool> EventStream::Add(std::string_view piece, const OnEvent& on_event) {
  buffered_.append(piece);
  std::size_t end = 0;
  while ((end = buffered_.find("\n\n", looked_at_)) != std::string::npos) {
    std::string event, data;
    for (std::size_t at = 0; at < end;) {
      const std::size_t stop = std::min(buffered_.find('\n', at), end);
      const std::string_view line = std::string_view(buffered_).substr(at, stop - at);
      std::string_view value;
      if (Field(line, "event:", value)) event = value;
      if (Field(line, "data:", value)) {
        if (!data.empty()) data.push_back('\n');
        data.append(value);
      }
      at = stop + 1;
    }
    buffered_.erase(0, end + 2);
    looked_at_ = 0;
    if (!data.empty() && !on_event(event, data)) return false;
  }
  if (buffered_.size() > kMaxEventBytes) return Error{Code::kInternal, "an event without an end", ""};
  looked_at_ = buffered_.empty() ? 0 : buffered_.size() - 1;
  return true;
}

}  // namespace allotter
