// The text of HTTP/1.1 responses.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace allot {

inline constexpr std::string_view kJsonType = "application/json";

struct ResponseHead {
  int status = 200;
  std::string_view type = kJsonType;
  std::optional<std::size_t> length;  // none: chunked, or until the connection ends
  bool chunked = false;
  bool close = false;
  std::string_view extra;  // whole lines
};
void AppendHead(const ResponseHead& head, std::string& out);
std::string_view ReasonText(int status);

// One chunk of a chunked body; an empty one ends it.
void AppendChunk(std::string_view bytes, std::string& out);

// `Application/JSON; charset=utf-8` → `application/json`.
std::string MediaType(std::string_view header);

}  // namespace allot
