// SPDX-License-Identifier: Apache-2.0
#include "server/net/http_head.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text.h"

namespace allot {
namespace {

struct HeadFieldRow {
  std::string_view name;
  // It decides what the request is, for whom, or from where.
  bool only_once;
};

// In the order of HeadField.
constexpr std::array<HeadFieldRow, kHeadFields> kFieldRows = {{
    {"Accept", false},
    {"Accept-Encoding", false},
    {"Authorization", true},
    {"Connection", false},
    {"Content-Length", true},
    {"Content-Type", true},
    {"Expect", true},
    {"Allot-Forwarded", true},
    {"Host", true},
    {"If-None-Match", false},
    {"Origin", true},
    {"Allot-Redirect", true},
    {"Transfer-Encoding", true},
    {"Upgrade", true},
    {"Sec-WebSocket-Key", true},
    {"Sec-WebSocket-Version", true},
}};

// What a token may have (RFC 9110, 5.6.2): methods and names of fields are tokens.
constexpr std::array<bool, 256> kTokenBytes = [] {
  std::array<bool, 256> in{};
  for (unsigned c = '0'; c <= '9'; ++c) in[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) in[c] = in[c - 'a' + 'A'] = true;
  for (const char c : {'!', '#', '$', '%', '&', '\'', '*', '+', '-', '.', '^', '_', '`', '|', '~'})
    in[static_cast<unsigned char>(c)] = true;
  return in;
}();

bool IsToken(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return kTokenBytes[static_cast<unsigned char>(c)]; });
}

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// Up to the end of the line, which goes with it.
std::string_view TakeLine(std::string_view& bytes) {
  const std::size_t end = bytes.find('\r');
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(std::min(bytes.size(), line.size() + 2));
  return line;
}

}  // namespace

Error NotHttp(std::string what) { return {Code::kBadRequest, "this is not HTTP/1.1: " + std::move(what), ""}; }

Result<RequestHead> RequestHead::Parse(std::string_view bytes) {
  RequestHead head;
  if (Result<void> taken = head.TakeRequestLine(TakeLine(bytes)); !taken.ok()) return taken.error();
  for (;;) {
    const std::string_view line = TakeLine(bytes);
    if (line.empty()) return head;
    if (Result<void> taken = head.TakeField(line); !taken.ok()) return taken.error();
  }
}

Result<void> RequestHead::TakeRequestLine(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return NotHttp("no method, path and version in the first line");
  method_ = line.substr(0, first);
  target_ = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(method_)) return NotHttp("the method has other characters than a word");
  if (target_.empty() || std::any_of(target_.begin(), target_.end(), IsBlank)) return NotHttp("a blank in the path");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return NotHttp("another version");
  http11_ = version == "HTTP/1.1";
  return {};
}

Result<void> RequestHead::TakeField(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return NotHttp("a field without a colon");
  const std::string_view name = line.substr(0, colon);
  if (!IsToken(name)) return NotHttp("the name of a field has other characters than a word");
  const std::string_view value = TrimBlanks(line.substr(colon + 1));
  for (std::size_t i = 0; i < kFieldRows.size(); ++i) {
    if (kFieldRows[i].name.size() != name.size() || !EqualNoCase(kFieldRows[i].name, name)) continue;
    if (fields_[i].there && kFieldRows[i].only_once) {
      return NotHttp("the field " + std::string(kFieldRows[i].name) + " is there more than once");
    }
    if (!fields_[i].there) fields_[i] = {value, true};
    if (static_cast<HeadField>(i) == HeadField::kConnection) return TakeConnection(value);
    break;
  }
  return {};
}

Result<void> RequestHead::TakeConnection(std::string_view list) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    const std::string_view word = TrimBlanks(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
    if (word.empty()) continue;
    if (!IsToken(word)) return NotHttp("Connection is not a list of words");
    says_close_ = says_close_ || EqualNoCase(word, "close");
    says_keep_alive_ = says_keep_alive_ || EqualNoCase(word, "keep-alive");
    says_upgrade_ = says_upgrade_ || EqualNoCase(word, "upgrade");
  }
  return {};
}

}  // namespace allot
