// SPDX-License-Identifier: Apache-2.0
// WebSockets byte by byte, as hostile and as clumsy clients speak them. What the frames themselves may be is in
// ws_frames_test.cc.
#include <string>
#include <vector>

#include "server/testing.h"

namespace allot::testing {
namespace {

using namespace std::string_literals;

std::string Masked(int first_byte, const std::string& body) {
  std::string out(1, static_cast<char>(first_byte));
  if (body.size() < 126) {
    out.push_back(static_cast<char>(0x80 | body.size()));
  } else {
    out.push_back('\xfe');
    out.push_back(static_cast<char>(body.size() >> 8));
    out.push_back(static_cast<char>(body.size()));
  }
  const std::string mask = "\x37\xfa\x21\x3d";
  out += mask;
  for (std::size_t i = 0; i < body.size(); ++i) out.push_back(static_cast<char>(body[i] ^ mask[i % 4]));
  return out;
}
std::string Text(const std::string& body) { return Masked(0x81, body); }
const std::string kHello = R"({"hello":{"name":"w","tags":["t"],"slots":4}})";
const std::string kWelcome = "{\"welcome\":";

void Await(HttpClient& client, const std::string& mark) {
  EXPECT_TRUE(client.ReadUntil(mark).ends_with(mark)) << "it ended without " << mark;
}

class WsWireTest : public ServerTest {
 protected:
  std::string Handshake() const {
    return "GET /v1/queues/default/work HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port()) +
           "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  }
  void Open(HttpClient& client) const {
    client.Write(Handshake());
    EXPECT_NE(client.ReadUntil("\r\n\r\n").find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), std::string::npos);
  }
};

TEST_F(WsWireTest, WhatComesWithTheHandshakeIsNotLost) {
  HttpClient client(port());
  client.Write(Handshake() + Text(kHello) + Text(R"({"seq":1})"));
  EXPECT_NE(client.ReadUntil("{\"ack\":1}").find(kWelcome), std::string::npos);
}

TEST_F(WsWireTest, AMessageMayComeByteByByte) {
  HttpClient client(port());
  Open(client);
  for (const char byte : Text(kHello)) client.Write(std::string(1, byte));
  Await(client, kWelcome);
}

TEST_F(WsWireTest, APingBetweenFragmentsIsAnsweredBeforeTheMessageIsThere) {
  HttpClient client(port());
  Open(client);
  client.Write(Masked(0x01, kHello.substr(0, 10)) + Masked(0x89, "are you there"));
  Await(client,
        "\x8a\x0d"
        "are you there");
  client.Write(Masked(0x00, "") + Masked(0x80, kHello.substr(10)));
  Await(client, kWelcome);
}

TEST_F(WsWireTest, ManyMessagesInOnePieceAreAnsweredInOrder) {
  HttpClient client(port());
  Open(client);
  std::string all = Text(kHello);
  for (int n = 1; n <= 1000; ++n) all += Text("{\"seq\":" + std::to_string(n) + "}");
  client.Write(all);
  Await(client, kWelcome);
  const std::string answers = client.ReadUntil("{\"ack\":1000}");
  std::size_t at = 0;
  for (int n = 1; n <= 1000; ++n) {
    at = answers.find("{\"ack\":" + std::to_string(n) + "}", at);
    ASSERT_NE(at, std::string::npos) << n;
  }
}

TEST_F(WsWireTest, WhoeverBreaksTheRulesIsToldWhy) {
  const struct {
    const char* name;
    std::string bytes;
    int code;
  } kRows[] = {
      {"no mask", "\x81\x02{}", 1002},
      {"a reserved bit", Masked(0xC1, "{}"), 1002},
      {"an unknown opcode", Masked(0x83, "{}"), 1002},
      {"a fragmented ping", Masked(0x09, ""), 1002},
      {"going on with nothing", Masked(0x80, "x"), 1002},
      {"binary", Masked(0x82, "{}"), 1003},
      {"no UTF-8", Text("{\"\xff\"}"), 1007},
      {"too long", "\x81\xff\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00"s, 1009},
  };
  for (const auto& row : kRows) {
    HttpClient client(port());
    Open(client);
    client.Write(row.bytes);
    Await(client, "\x88");
    Await(client, ""s + static_cast<char>(row.code >> 8) + static_cast<char>(row.code));
  }
}

TEST_F(WsWireTest, ACloseIsAnsweredWithItsCodeAndThenItIsOver) {
  HttpClient client(port());
  Open(client);
  client.Write(Text(kHello));
  Await(client, kWelcome);
  client.Write(Masked(0x88,
                      "\x0f\xa0"
                      "bye"));  // 4000
  const std::string rest = client.ReadAll();
  EXPECT_TRUE(rest.ends_with("\x88\x02\x0f\xa0")) << rest;
}

TEST_F(WsWireTest, AFloodOfPingsDoesNotGrowWhatWaitsToBeRead) {
  HttpClient client(port());
  Open(client);
  client.Write(Text(kHello));
  Await(client, kWelcome);
  std::string pings;
  for (int i = 0; i < 20'000; ++i) pings += Masked(0x89, std::string(100, 'p'));
  client.Write(pings + Masked(0x89, "the last one"));
  Await(client, "\x8a\x0cthe last one");
  client.Write(Text(R"({"seq":7})"));
  Await(client, "{\"ack\":7}");
}

}  // namespace
}  // namespace allot::testing
