// SPDX-License-Identifier: Apache-2.0
#include "server/net/http_text.h"

#include <charconv>

namespace allot {

std::string_view ReasonText(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 426:
      return "Upgrade Required";
    case 429:
      return "Too Many Requests";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 507:
      return "Insufficient Storage";
    default:
      return "Status";
  }
}

namespace {

void AppendNumber(std::size_t n, int base, std::string& out) {
  char buffer[24];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, n, base).ptr;
  out.append(buffer, static_cast<std::size_t>(end - buffer));
}

}  // namespace

void AppendHead(const ResponseHead& head, std::string& out) {
  out.append("HTTP/1.1 ");
  AppendNumber(static_cast<std::size_t>(head.status), 10, out);
  out.push_back(' ');
  out.append(ReasonText(head.status));
  out.append("\r\nContent-Type: ");
  out.append(head.type);
  if (head.length) {
    out.append("\r\nContent-Length: ");
    AppendNumber(*head.length, 10, out);
  } else if (head.chunked) {
    out.append("\r\nTransfer-Encoding: chunked");
  }
  if (head.close) out.append("\r\nConnection: close");
  out.append("\r\nCache-Control: ");
  out.append(head.cache);
  out.append("\r\nX-Content-Type-Options: nosniff\r\n");
  out.append(head.extra);
  out.append("\r\n");
}

void AppendChunk(std::string_view bytes, std::string& out) {
  AppendNumber(bytes.size(), 16, out);
  out.append("\r\n");
  out.append(bytes);
  out.append("\r\n");
}

bool Accepts(std::string_view header, std::string_view name) {
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    const std::string_view item = header.substr(0, comma);
    header.remove_prefix(comma == std::string_view::npos ? header.size() : comma + 1);
    if (MediaType(item) != name) continue;
    const std::size_t weight = item.find("q=");
    if (weight == std::string_view::npos) return true;
    // `q=0`, `q=0.000`
    return item.substr(weight + 2).find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

std::string MediaType(std::string_view header) {
  header = header.substr(0, header.find(';'));
  while (!header.empty() && (header.back() == ' ' || header.back() == '\t')) header.remove_suffix(1);
  while (!header.empty() && (header.front() == ' ' || header.front() == '\t')) header.remove_prefix(1);
  std::string out(header);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace allot
