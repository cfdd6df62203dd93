// SPDX-License-Identifier: Apache-2.0
// Hostile bytes as frames: whatever comes, a message is UTF-8 and within its bounds, and what is read does not depend
// on how it was cut. The first byte says where it is cut.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "base/check.h"
#include "server/net/ws_frames.h"

namespace {

using allot::ws::FrameReader;
using Seen = std::vector<std::pair<int, std::string>>;

constexpr std::size_t kMax = 300;

Seen Read(std::string bytes, std::size_t piece) {
  FrameReader reader(kMax);
  Seen seen;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string part = bytes.substr(at, piece);
    std::span<char> rest(part);
    for (;;) {
      const FrameReader::Event event = reader.Next(rest);
      if (event.kind == FrameReader::Kind::kNothing) {
        CHECK(rest.empty());
        break;
      }
      const std::string data(event.data);
      if (event.kind == FrameReader::Kind::kMessage) {
        CHECK(data.size() <= kMax);
        CHECK(simdjson::validate_utf8(data.data(), data.size()));
      } else {
        CHECK(data.size() <= allot::ws::kMaxControlBytes);
      }
      seen.emplace_back(static_cast<int>(event.kind) << 16 | static_cast<int>(event.code), data);
      if (event.kind == FrameReader::Kind::kBroken || event.kind == FrameReader::Kind::kClose) return seen;
    }
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  CHECK(Read(bytes, std::size_t{data[0]} + 1) == Read(bytes, bytes.size() + 1));
  return 0;
}
