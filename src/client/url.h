// SPDX-License-Identifier: Apache-2.0
// The server's address as people write it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "allotter/result.h"
#include "allotter/types.h"

namespace allotter {

struct Endpoint {
  std::string host;  // without brackets
  std::string port;
  bool tls = false;
  std::string authority;  // for `Host`: host and port as they were written
};

// `http://host:port`, `https://host`, `host:port`; nothing after it but a slash. kBadValue otherwise.
Result<Endpoint> ParseServerUrl(std::string_view url);

// Checks what will stand in a header or a path. kBadValue.
Result<Endpoint> CheckOptions(const ConnectionOptions& options);

// A path segment or query value, percent-encoded.
std::string UrlEncode(std::string_view text);

// A path, and ?key=value&… behind it, without what is empty.
class PathQuery {
 public:
  explicit PathQuery(std::string path) : text_(std::move(path)) {}
  PathQuery& Add(std::string_view key, std::string_view value);
  PathQuery& Add(std::string_view key, std::uint64_t value) {
    return Add(key, std::string_view(std::to_string(value)));
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  bool first_ = true;
};

}  // namespace allotter
