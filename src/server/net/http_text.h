// SPDX-License-Identifier: Apache-2.0
// The text of HTTP/1.1 responses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace allot {

inline constexpr std::string_view kJsonType = "application/json";
inline constexpr std::string_view kEventsType = "text/event-stream";
inline constexpr std::string_view kNoStore = "no-store";

struct ResponseHead {
  int status = 200;
  std::string_view type = kJsonType;
  std::optional<std::size_t> length;  // none: chunked, or until the connection ends
  bool chunked = false;
  bool close = false;
  std::string_view cache = kNoStore;  // what others may keep
  std::string_view extra;             // whole lines
};
void AppendHead(const ResponseHead& head, std::string& out);
std::string_view ReasonText(int status);

// One chunk of a chunked body; an empty one ends it.
void AppendChunk(std::string_view bytes, std::string& out);

// Does a list such as that of Accept or Accept-Encoding name it, other than with a weight of 0? Wildcards do not count.
bool Accepts(std::string_view header, std::string_view name);

// `Application/JSON; charset=utf-8` → `application/json`.
std::string MediaType(std::string_view header);

}  // namespace allot
