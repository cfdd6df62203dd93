// SPDX-License-Identifier: Apache-2.0
#include "server/net/ws_frames.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace allot::ws {
namespace {

using namespace std::string_literals;

constexpr std::size_t kMax = 100'000;

struct FrameOptions {
  bool last = true;
  bool masked = true;
  int reserved = 0;      // bits
  int length_bytes = 0;  // 0: the shortest; else 2 or 8
};

// As a client sends it.
std::string Frame(int opcode, const std::string& body, FrameOptions options = {}) {
  std::string out;
  out.push_back(static_cast<char>((options.last ? 0x80 : 0) | options.reserved << 4 | opcode));
  std::size_t length_bytes = body.size() < 126 ? 0 : body.size() < 65536 ? 2 : 8;
  if (options.length_bytes != 0) length_bytes = static_cast<std::size_t>(options.length_bytes);
  const char mask_bit = static_cast<char>(options.masked ? 0x80 : 0);
  const auto short_length = length_bytes == 0 ? body.size() : length_bytes == 2 ? 126 : 127;
  out.push_back(static_cast<char>(mask_bit | static_cast<char>(short_length)));
  for (std::size_t i = length_bytes; i-- > 0;) {
    out.push_back(i >= 8 ? '\0' : static_cast<char>(body.size() >> (8 * i)));
  }
  if (!options.masked) return out + body;
  const char mask[4] = {'\x1f', '\x80', '\x00', '\x5a'};
  out.append(mask, 4);
  for (std::size_t i = 0; i < body.size(); ++i) out.push_back(static_cast<char>(body[i] ^ mask[i % 4]));
  return out;
}

std::string CloseFrame(int code, const std::string& why = "") {
  return Frame(8, ""s + static_cast<char>(code >> 8) + static_cast<char>(code) + why);
}

// What was read, as text: `T:hello`, `ping:`, `pong:`, `close 1000:`, `!1002`.
void Note(const FrameReader::Event& event, std::vector<std::string>& out) {
  using Kind = FrameReader::Kind;
  const std::string data(event.data);
  const std::string code = std::to_string(static_cast<int>(event.code));
  switch (event.kind) {
    case Kind::kMessage:
      return out.push_back("T:" + (data.size() > 40 ? "#" + std::to_string(data.size()) : data));
    case Kind::kPing:
      return out.push_back("ping:" + (data.size() > 40 ? "#" + std::to_string(data.size()) : data));
    case Kind::kPong:
      return out.push_back("pong:" + data);
    case Kind::kClose:
      return out.push_back("close " + code + ":" + data);
    case Kind::kBroken:
      return out.push_back("!" + code);
    case Kind::kNothing:
      return;
  }
}

// In pieces of `piece` bytes.
std::vector<std::string> ReadAll(std::string bytes, std::size_t piece, FrameReader reader = FrameReader(kMax)) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    std::string part = bytes.substr(at, piece);
    std::span<char> rest(part);
    for (;;) {
      const FrameReader::Event event = reader.Next(rest);
      if (event.kind == FrameReader::Kind::kNothing) {
        EXPECT_TRUE(rest.empty());
        break;
      }
      Note(event, out);
      if (event.kind == FrameReader::Kind::kBroken || event.kind == FrameReader::Kind::kClose) return out;
    }
  }
  if (!reader.idle()) out.push_back("…");
  return out;
}

struct Case {
  const char* name;
  std::string bytes;
  std::vector<std::string> want;
};

const FrameOptions kMore{.last = false};

std::vector<Case> Cases() {
  const std::string euro = "\xE2\x82\xAC";
  return {
      {"a text", Frame(1, "hello"), {"T:hello"}},
      {"an empty text", Frame(1, ""), {"T:"}},
      {"two", Frame(1, "a") + Frame(1, "b"), {"T:a", "T:b"}},
      {"125 bytes", Frame(1, std::string(125, 'x')), {"T:#125"}},
      {"126 bytes", Frame(1, std::string(126, 'x')), {"T:#126"}},
      {"65535 bytes", Frame(1, std::string(65535, 'x')), {"T:#65535"}},
      {"65536 bytes", Frame(1, std::string(65536, 'x')), {"T:#65536"}},
      {"the longest", Frame(1, std::string(kMax, 'x')), {"T:#100000"}},
      {"too long", Frame(1, std::string(kMax + 1, 'x')), {"!1009"}},
      {"too long in pieces", Frame(1, std::string(kMax, 'x'), kMore) + Frame(0, "x"), {"!1009"}},
      {"fragments", Frame(1, "a", kMore) + Frame(0, "b", kMore) + Frame(0, "c"), {"T:abc"}},
      {"empty fragments", Frame(1, "", kMore) + Frame(0, "", kMore) + Frame(0, ""), {"T:"}},
      {"the middle one has all", Frame(1, "", kMore) + Frame(0, "abc", kMore) + Frame(0, ""), {"T:abc"}},
      {"a ping between fragments", Frame(1, "a", kMore) + Frame(9, "p") + Frame(0, "b"), {"ping:p", "T:ab"}},
      {"a pong and two pings between fragments",
       Frame(1, "a", kMore) + Frame(10, "o") + Frame(9, "1") + Frame(9, "2") + Frame(0, "b"),
       {"pong:o", "ping:1", "ping:2", "T:ab"}},
      {"a close between fragments", Frame(1, "a", kMore) + CloseFrame(1000), {"close 1000:"}},
      {"an unfinished message", Frame(1, "a", kMore), {"…"}},
      {"half a frame", Frame(1, "abcdef").substr(0, 9), {"…"}},
      {"half a head", Frame(1, std::string(200, 'x')).substr(0, 3), {"…"}},
      {"an empty ping", Frame(9, ""), {"ping:"}},
      {"a ping of 125 bytes", Frame(9, std::string(125, 'p')), {"ping:#125"}},
      {"a ping of 126 bytes", Frame(9, std::string(126, 'p')), {"!1002"}},
      {"a ping in fragments", Frame(9, "p", kMore), {"!1002"}},
      {"a pong that nobody asked for", Frame(10, "x") + Frame(1, "a"), {"pong:x", "T:a"}},
      {"reserved bit 1", Frame(1, "a", {.reserved = 4}), {"!1002"}},
      {"reserved bit 2", Frame(1, "a", {.reserved = 2}), {"!1002"}},
      {"reserved bit 3", Frame(9, "a", {.reserved = 1}), {"!1002"}},
      {"opcode 3", Frame(3, "a"), {"!1002"}},
      {"opcode 7", Frame(7, ""), {"!1002"}},
      {"opcode 11", Frame(11, "a"), {"!1002"}},
      {"opcode 15", Frame(15, ""), {"!1002"}},
      {"a text, then opcode 5", Frame(1, "a") + Frame(5, "b"), {"T:a", "!1002"}},
      {"no mask", Frame(1, "a", {.masked = false}), {"!1002"}},
      {"a ping without a mask", Frame(9, "", {.masked = false}), {"!1002"}},
      {"binary", Frame(2, "a"), {"!1003"}},
      {"binary in fragments", Frame(2, "a", kMore), {"!1003"}},
      {"going on with nothing", Frame(0, "a"), {"!1002"}},
      {"going on after the end", Frame(1, "a", kMore) + Frame(0, "b") + Frame(0, "c"), {"T:ab", "!1002"}},
      {"a text within a message", Frame(1, "a", kMore) + Frame(1, "b"), {"!1002"}},
      {"a long way to say 5", Frame(1, "hello", {.length_bytes = 2}), {"!1002"}},
      {"a longer way to say 5", Frame(1, "hello", {.length_bytes = 8}), {"!1002"}},
      {"a long way to say 200", Frame(1, std::string(200, 'x'), {.length_bytes = 8}), {"!1002"}},
      {"a negative length", "\x81\xff\x80\x00\x00\x00\x00\x00\x00\x01"s, {"!1002"}},
      {"a huge length", "\x81\xff\x00\x00\x00\xff\x00\x00\x00\x00"s, {"!1009"}},
      {"UTF-8", Frame(1, "k\xC3\xB6nnen " + euro), {"T:k\xC3\xB6nnen " + euro}},
      {"UTF-8 cut by fragments", Frame(1, euro.substr(0, 1), kMore) + Frame(0, euro.substr(1)), {"T:" + euro}},
      {"a lone continuation byte", Frame(1, "a\x80"), {"!1007"}},
      {"a cut character", Frame(1, euro.substr(0, 2)), {"!1007"}},
      {"a cut character in the last fragment", Frame(1, "a", kMore) + Frame(0, euro.substr(0, 2)), {"!1007"}},
      {"a surrogate", Frame(1, "\xED\xA0\x80"), {"!1007"}},
      {"an overlong slash", Frame(1, "\xC0\xAF"), {"!1007"}},
      {"beyond Unicode", Frame(1, "\xF4\x90\x80\x80"), {"!1007"}},
      {"a close without a code", Frame(8, ""), {"close 1005:"}},
      {"a close", CloseFrame(1000, "bye"), {"close 1000:bye"}},
      {"a close with half a code", Frame(8, "\x03"), {"!1002"}},
      {"a close with the longest text",
       CloseFrame(1001, std::string(123, 'y')),
       {"close 1001:" + std::string(123, 'y')}},
      {"a close that is too long", CloseFrame(1001, std::string(124, 'y')), {"!1002"}},
      {"a close in no UTF-8", CloseFrame(1000, "\xFF"), {"!1007"}},
      {"after a close nothing counts", CloseFrame(1000) + Frame(1, "a"), {"close 1000:"}},
  };
}

TEST(WsFrames, WhatAClientMaySendAndMayNot) {
  for (const Case& c : Cases()) {
    for (const std::size_t piece :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{64}, std::size_t{1} << 20}) {
      if (piece < 64 && c.bytes.size() > 70'000) continue;  // slow, and says nothing more
      EXPECT_EQ(ReadAll(c.bytes, piece), c.want) << c.name << ", " << piece << " bytes at a time";
    }
  }
}

TEST(WsFrames, CloseCodes) {
  for (const int code :
       {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999}) {
    EXPECT_EQ(ReadAll(CloseFrame(code), 100), std::vector<std::string>{"close " + std::to_string(code) + ":"});
  }
  for (const int code : {0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535}) {
    EXPECT_EQ(ReadAll(CloseFrame(code), 100), std::vector<std::string>{"!1002"}) << code;
  }
}

TEST(WsFrames, AMessageThatIsThereAsAWholeIsNotCopied) {
  FrameReader reader(kMax);
  std::string bytes = Frame(1, std::string(10'000, 'x')) + Frame(1, "b");
  std::span<char> rest(bytes);
  const FrameReader::Event event = reader.Next(rest);
  EXPECT_GE(event.data.data(), bytes.data());
  EXPECT_LT(event.data.data(), bytes.data() + bytes.size());
  EXPECT_LT(reader.buffered(), 100u);
  EXPECT_TRUE(reader.idle());
}

TEST(WsFrames, MemoryOfALongMessageIsGivenBack) {
  FrameReader reader(kMax);
  std::string bytes = Frame(1, std::string(50'000, 'x'), kMore) + Frame(0, "y");
  std::span<char> rest(bytes);
  EXPECT_EQ(reader.Next(rest).data.size(), 50'001u);
  EXPECT_GE(reader.buffered(), 50'001u);
  reader.Trim(4096);
  EXPECT_LT(reader.buffered(), 100u);
}

TEST(WsFrames, MessagesAreDroppedOnceTheyDoNotMatter) {
  FrameReader reader(10);
  std::string begun = Frame(1, "abc", kMore);
  std::span<char> first(begun);
  EXPECT_EQ(reader.Next(first).kind, FrameReader::Kind::kNothing);
  reader.DropMessages();
  std::string bytes = Frame(0, std::string(1000, 'x')) + Frame(1, "\xFF") + Frame(9, "p") + CloseFrame(1001);
  std::span<char> rest(bytes);
  EXPECT_EQ(reader.Next(rest).kind, FrameReader::Kind::kPing);
  EXPECT_EQ(reader.Next(rest).kind, FrameReader::Kind::kClose);
  EXPECT_LT(reader.buffered(), 100u);
}

TEST(WsFrames, HeadsOfWhatIsSent) {
  const struct {
    Opcode opcode;
    std::uint64_t size;
    std::string want;
  } kRows[] = {
      {Opcode::kText, 0, "\x81\x00"s},
      {Opcode::kText, 125, "\x81\x7d"s},
      {Opcode::kText, 126, "\x81\x7e\x00\x7e"s},
      {Opcode::kText, 65535, "\x81\x7e\xff\xff"s},
      {Opcode::kText, 65536, "\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s},
      {Opcode::kPong, 3, "\x8a\x03"s},
      {Opcode::kClose, 2, "\x88\x02"s},
  };
  for (const auto& row : kRows) EXPECT_EQ(FrameHead(row.opcode, row.size).bytes(), row.want) << row.size;
  EXPECT_EQ(CloseBody(CloseCode::kPolicy, "why"), "\x03\xf0why");
  EXPECT_EQ(CloseBody(CloseCode::kNone, "why"), "");
  EXPECT_EQ(CloseBody(CloseCode::kNormal, std::string(200, 'x')).size(), kMaxControlBytes);
}

}  // namespace
}  // namespace allot::ws
