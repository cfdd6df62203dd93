// SPDX-License-Identifier: Apache-2.0
#include "hostile/grammar.h"

#include <algorithm>

namespace allot::testing {
namespace {

// More than any bound on parts of a head; bodies are longer now and then.
constexpr std::size_t kMaxBytes = 2'000'000;

const char* const kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PRI"};
const char* const kPaths[] = {"/livez",
                              "/readyz",
                              "/metrics",
                              "/",
                              "/v1/server",
                              "/v1/queues",
                              "/v1/queues/default",
                              "/v1/strategies",
                              "/v1/strategies/check",
                              "/v1/queues/default/jobs",
                              "/v1/queues/default/jobs/last",
                              "/v1/queues/default/jobs/batch",
                              "/v1/queues/default/jobs/last/events",
                              "/v1/queues/default/jobs/last/tasks",
                              "/v1/queues/default/overview",
                              "/v1/queues/default/workers",
                              "/v1/queues/default/workers/1/pull",
                              "/v1/queues/default/limits",
                              "/v1/queues/default/explain",
                              "/v1/queues/default/demand",
                              "/v1/queues/default/strategy/try",
                              "/v1/queues/default/work",
                              "/v1/queues/default/wait",
                              "/v1/queues/%00",
                              "/v1/queues/%zz/../..",
                              "*",
                              "http://127.0.0.1/livez",
                              "/v1/queues/default/jobs?limit=99999999999999999999",
                              "/?%",
                              "/v1//queues"};
const char* const kVersions[] = {"HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/0.9", "http/1.1"};
const char* const kTypes[] = {"application/json", "application/x-ndjson", "text/plain", "application/json; charset=x"};
const char* const kCodings[] = {"chunked", "chunked", "chunked", "xchunked", "gzip, chunked", "identity", "CHUNKED"};
const char* const kSomeBodies[] = {
    R"({"count":0,"retention_ms":0})",
    R"({"jobs":[{"count":0,"retention_ms":0}]})",
    R"({"name":"w","tags":["fuzz"],"slots":1})",
    R"({"key":"k","pull":1,"wait_ms":1})",
    R"({"strategy":"priority"})",
    R"({"tag":"fuzz","requirements":"TARGET.memory > 1"})",
    "{\"count\":0,\"retention_ms\":0}\n",
    "{}",
    "[]",
    "",
};
const char* const kMessages[] = {
    R"({"hello":{"name":"w","tags":["fuzz"],"slots":1}})",
    R"({"hello":{"name":"w","tags":["fuzz"],"slots":1,"attributes":{"memory":4}}})",
    R"({"seq":1,"pull":1})",
    R"({"seq":2,"done":[{"job":"1","index":0,"lease":"x"}]})",
    R"({"wait":["1","2"]})",
    R"({"wait":[]})",
    "{}",
    "",
};

// A field with anything as its value.
const char* const kFields[] = {
    "Accept", "Accept-Encoding",  "Connection", "Cookie",  "If-None-Match", "TE",     "Trailer",
    "X-A",    "Content-Encoding", "Range",      "Upgrade", "Expect",        "Origin", "Via"};
const char* const kValues[] = {"text/event-stream",
                               "gzip;q=0",
                               "close",
                               "keep-alive, Upgrade",
                               "websocket",
                               "*",
                               "100-continue",
                               "http://evil.example",
                               "bytes=0-",
                               ",,,,",
                               "\"",
                               "a\tb",
                               ""};

}  // namespace

std::size_t Grammar::Size() {
  switch (Below(20)) {
    case 0:
      return 60'000 + Below(10'000);  // around a length of 16 bits
    case 1:
      return 4'000 + Below(14'000);  // around the bounds of heads, extensions and trailers
    case 2:
      return OneIn(20) ? Below(kMaxBytes) : Below(200'000);
    default:
      return Below(300);
  }
}

std::string Grammar::Noise(std::size_t size) {
  std::string out(size, '\0');
  if (OneIn(2)) {
    const char only = OneIn(2) ? static_cast<char>('0' + Below(10)) : static_cast<char>(random_());
    std::fill(out.begin(), out.end(), only);
  } else {
    for (char& c : out) c = static_cast<char>(random_());
  }
  return out;
}

std::string Grammar::Json() {
  std::string body = Any(kSomeBodies);
  if (OneIn(30)) body = std::string(Size(), '[');
  if (OneIn(30)) body.append(Size(), ' ');
  return body;
}

void Grammar::AddField(Parts& parts, const std::string& name, const std::string& value) {
  for (const std::string& part : {name, std::string(":"), std::string(" "), value, std::string("\r\n")}) {
    parts.push_back(part);
  }
}

void Grammar::AddChunks(Parts& parts, const std::string& body) {
  static constexpr char kHex[] = "0123456789abcdef";
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t n = std::min<std::size_t>(1 + Below(40), body.size() - at);
    parts.push_back(n < 16 ? std::string(1, kHex[n]) : std::string{kHex[n / 16], kHex[n % 16]});
    if (OneIn(5)) parts.push_back(";a=b");
    if (OneIn(9)) parts.push_back(";c=\"d e\"");
    parts.push_back("\r\n");
    parts.push_back(body.substr(at, n));
    parts.push_back("\r\n");
    at += n;
  }
  parts.push_back("0");
  parts.push_back("\r\n");
  for (std::uint64_t n = Below(3); n > 0; --n) AddField(parts, "X-T", "y");
  parts.push_back("\r\n");
}

Grammar::Parts Grammar::Request() {
  Parts parts = {Any(kMethods), " ", Any(kPaths), " ", Any(kVersions), "\r\n"};
  AddField(parts, "Host", words_.host);
  if (!words_.tokens.empty() && !OneIn(3)) {
    AddField(parts, "Authorization", "Bearer " + words_.tokens[Below(words_.tokens.size())]);
  }
  for (std::uint64_t n = Below(4); n > 0; --n) AddField(parts, Any(kFields), Any(kValues));
  const std::string body = Json();
  switch (Below(4)) {
    case 0:
      break;
    case 1:
      AddField(parts, "Content-Type", Any(kTypes));
      AddField(parts, "Transfer-Encoding", Any(kCodings));
      parts.push_back("\r\n");
      AddChunks(parts, body);
      return parts;
    default:
      AddField(parts, "Content-Type", Any(kTypes));
      AddField(parts, "Content-Length", std::to_string(OneIn(10) ? random_() : body.size()));
      parts.push_back("\r\n");
      parts.push_back(body);
      return parts;
  }
  parts.push_back("\r\n");
  return parts;
}

void Grammar::SpoilPart(Parts& parts, std::size_t at) {
  std::string& part = parts[at];
  switch (Below(11)) {
    case 0:
      part.clear();
      break;
    case 1:
      part += part;
      break;
    case 2: {  // again and again
      const std::string once = part.empty() ? "a" : part;
      const std::size_t size = Size();
      while (part.size() < size) part += once;
      break;
    }
    case 3:
      part.resize(Below(part.size() + 1));
      break;
    case 4:
      part.insert(Below(part.size() + 1), Noise(Size()));
      break;
    case 5:
      part = Noise(Size());
      break;
    case 6:
      if (!part.empty()) part[Below(part.size())] = static_cast<char>(random_());
      break;
    case 7:
      std::swap(part, parts[Below(parts.size())]);
      break;
    case 8: {  // a run of parts again and again: a field, a chunk
      const std::size_t end = std::min(parts.size(), at + 1 + Below(6));
      std::string run;
      for (std::size_t i = at; i < end; ++i) run += parts[i];
      const std::size_t size = Size();
      std::string all;
      while (!run.empty() && all.size() < size) all += run;
      parts[at] = all + parts[at];
      break;
    }
    case 9:
      part = OneIn(2) ? "\n" : "\r";
      break;
    default:
      part.insert(0, Size(), OneIn(2) ? '0' : ' ');
  }
}

void Grammar::Spoil(Parts& parts) {
  for (std::uint64_t n = Below(4); n > 0; --n) SpoilPart(parts, Below(parts.size()));
}

Grammar::Requests Grammar::SomeRequests() {
  Requests requests;
  requests.count = static_cast<int>(1 + (OneIn(3) ? Below(4) : 0));
  for (int i = 0; i < requests.count; ++i) {
    Parts parts = Request();
    Spoil(parts);
    for (const std::string& part : parts) requests.bytes += part;
  }
  if (requests.bytes.size() > kMaxBytes) requests.bytes.resize(kMaxBytes);
  if (OneIn(8)) requests.bytes.resize(Below(requests.bytes.size() + 1));
  return requests;
}

std::string Grammar::Handshake() {
  Parts parts = {"GET", " ", OneIn(2) ? "/v1/queues/default/work" : "/v1/queues/default/wait", " ", "HTTP/1.1", "\r\n"};
  AddField(parts, "Host", words_.host);
  if (!words_.tokens.empty()) AddField(parts, "Authorization", "Bearer " + words_.tokens[0]);
  AddField(parts, "Upgrade", "websocket");
  AddField(parts, "Connection", "Upgrade");
  AddField(parts, "Sec-WebSocket-Version", "13");
  AddField(parts, "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==");
  if (OneIn(5)) AddField(parts, "Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits");
  parts.push_back("\r\n");
  if (OneIn(5)) Spoil(parts);
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

std::string Grammar::Frame() {
  std::string payload = Any(kMessages);
  if (OneIn(4)) {
    Parts one = {payload};
    SpoilPart(one, 0);
    payload = one[0];
  }
  const int opcodes[] = {0x1, 0x1, 0x1, 0x1, 0x0, 0x2, 0x8, 0x9, 0xa, 0x3, 0xb, 0xf};
  int first = Any(opcodes);
  if (!OneIn(6)) first |= 0x80;
  if (OneIn(30)) first |= static_cast<int>(Below(8)) << 4;
  std::string frame(1, static_cast<char>(first));
  const bool masked = !OneIn(30);
  std::uint64_t declared = payload.size();
  if (OneIn(20)) declared = random_() >> Below(64);
  const char mask_bit = masked ? static_cast<char>(0x80) : '\0';
  if (declared < 126 && !OneIn(20)) {
    frame.push_back(static_cast<char>(mask_bit | static_cast<char>(declared)));
  } else if (declared < 65'536 && !OneIn(20)) {
    frame.push_back(static_cast<char>(mask_bit | 126));
    frame.push_back(static_cast<char>(declared >> 8));
    frame.push_back(static_cast<char>(declared));
  } else {
    frame.push_back(static_cast<char>(mask_bit | 127));
    for (int shift = 56; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(declared >> shift));
  }
  const char mask[4] = {0x11, 0x22, 0x33, 0x44};
  if (masked) frame.append(mask, 4);
  for (std::size_t i = 0; i < payload.size(); ++i) {
    frame.push_back(masked ? static_cast<char>(payload[i] ^ mask[i % 4]) : payload[i]);
  }
  return frame;
}

std::string Grammar::SomeFrames() {
  std::string out;
  for (std::uint64_t n = 1 + Below(6); n > 0; --n) {
    std::string frame = Frame();
    // Control frames and empty pieces again and again.
    const std::size_t size = OneIn(40) ? Size() : 0;
    const std::string once = frame;
    while (frame.size() < size) frame += once;
    out += frame;
  }
  if (out.size() > kMaxBytes) out.resize(kMaxBytes);
  if (OneIn(8)) out.resize(Below(out.size() + 1));
  return out;
}

}  // namespace allot::testing
