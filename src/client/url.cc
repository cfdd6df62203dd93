// SPDX-License-Identifier: Apache-2.0
#include "client/url.h"

#include <charconv>

#include "base/bounds.h"

namespace allotter {
namespace {

Error BadUrl(std::string_view url, std::string_view why) {
  return {Code::kBadValue, "the server's address `" + std::string(url) + "` " + std::string(why),
          "it looks like http://127.0.0.1:7420 or https://queue.example.org"};
}

bool PlainHost(std::string_view host) {
  if (host.empty() || host.size() > 255) return false;
  for (const char c : host) {
    const bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                    c == '-' || c == '_' || c == ':' || c == '%';
    if (!ok) return false;
  }
  return true;
}

}  // namespace

Result<Endpoint> ParseServerUrl(std::string_view url) {
  Endpoint endpoint;
  std::string_view rest = url;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) {
    const std::string_view name = rest.substr(0, scheme);
    if (name != "http" && name != "https") return BadUrl(url, "is neither http:// nor https://");
    endpoint.tls = name == "https";
    rest.remove_prefix(scheme + 3);
  }
  if (rest.ends_with('/')) rest.remove_suffix(1);
  endpoint.authority = rest;
  std::string_view port;
  if (rest.starts_with('[')) {
    const auto close = rest.find(']');
    if (close == std::string_view::npos) return BadUrl(url, "lacks a `]`");
    endpoint.host = rest.substr(1, close - 1);
    rest.remove_prefix(close + 1);
    if (!rest.empty() && rest[0] != ':') return BadUrl(url, "has something after its `]`");
    if (!rest.empty()) port = rest.substr(1);
  } else {
    const auto colon = rest.find(':');
    endpoint.host = rest.substr(0, colon);
    if (colon != std::string_view::npos) port = rest.substr(colon + 1);
    if (endpoint.host.find('%') != std::string::npos) return BadUrl(url, "has no valid host");
  }
  if (!PlainHost(endpoint.host)) return BadUrl(url, "has no valid host");
  if (port.empty()) {
    endpoint.port = endpoint.tls ? "443" : "80";
  } else {
    unsigned number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    if (error != std::errc() || end != port.data() + port.size() || number == 0 || number > 65535) {
      return BadUrl(url, "has no valid port");
    }
    endpoint.port = port;
  }
  return endpoint;
}

Result<Endpoint> CheckOptions(const ConnectionOptions& options) {
  for (const char c : options.token) {
    if (c <= 0x20 || c >= 0x7f) {
      return Error{Code::kBadValue, "the token holds characters that no token has",
                   "take the text of `allot token create` as it is"};
    }
  }
  if (options.token.size() > 1024) return Error{Code::kBadValue, "the token is too long", ""};
  if (options.queue.empty() || options.queue.size() > allot::bounds::kMaxNameBytes) {
    return Error{Code::kBadValue, "the queue's name is empty or too long", "`default` always exists"};
  }
  return ParseServerUrl(options.server);
}

std::string UrlEncode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char raw : text) {
    const auto c = static_cast<unsigned char>(raw);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain) {
      out.push_back(raw);
    } else {
      out.push_back('%');
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
    }
  }
  // A path of `.` or `..` would be taken for a folder.
  if (out == ".") return "%2E";
  if (out == "..") return "%2E%2E";
  return out;
}

PathQuery& PathQuery::Add(std::string_view key, std::string_view value) {
  if (value.empty()) return *this;
  text_.push_back(first_ ? '?' : '&');
  first_ = false;
  text_.append(key).append("=").append(UrlEncode(value));
  return *this;
}

}  // namespace allotter
