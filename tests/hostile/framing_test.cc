// SPDX-License-Identifier: Apache-2.0
// How bytes become requests and messages: every part has a bound, and nothing can be read in two ways.
#include <functional>
#include <set>

#include "base/sanitizers.h"
#include "hostile/hostile.h"

namespace allot::testing {
namespace {

constexpr std::uint64_t kMegabyte = 1024 * 1024;

class Framing : public HostileSuite {
 protected:
  static void SetUpTestSuite() {
    StartWithTokens({"--request-timeout", "2s", "--write-timeout", "2s", "--idle-timeout", "3s", "--heartbeat", "10s"});
  }
  Answer Raw(const std::string& bytes) {
    Socket socket(server().port());
    EXPECT_TRUE(socket.connected());
    socket.Send(bytes, milliseconds(5000));
    return Http::ReadAnswer(socket, milliseconds(5000));
  }
  // Sends `part` again and again behind `begin`, until the server has had enough of it, or it was `most` bytes.
  struct Flood {
    std::uint64_t sent = 0;
    bool ended = false;
    int status = 0;
  };
  Flood SendWithoutEnd(const std::string& begin, const std::string& part, std::uint64_t most) {
    Flood flood;
    Socket socket(server().port());
    std::string block;
    while (block.size() < 64 * 1024) block += part;
    socket.Send(begin, milliseconds(5000));
    std::string got;
    while (flood.sent < most && !flood.ended) {
      if (!socket.Send(block, milliseconds(5000))) flood.ended = true;
      flood.sent += block.size();
      if (socket.ReadSome(got, SteadyNow()) == Socket::Read::kEnd) flood.ended = true;
    }
    while (socket.ReadSome(got, SteadyNow() + milliseconds(5000)) == Socket::Read::kBytes) flood.ended = true;
    if (got.compare(0, 9, "HTTP/1.1 ") == 0) flood.status = std::atoi(got.c_str() + 9);
    return flood;
  }
  // A close frame's code; 0 if none came.
  static int CloseCode(Socket& socket, milliseconds timeout) {
    std::string got;
    const SteadyTime deadline = SteadyNow() + timeout;
    while (true) {
      // Frames of the server are short here, and not masked.
      for (std::size_t at = 0; at + 2 <= got.size();) {
        std::size_t size = static_cast<unsigned char>(got[at + 1]);
        std::size_t head = 2;
        if (size == 126 && at + 4 <= got.size()) {
          head = 4;
          size = static_cast<std::size_t>(static_cast<unsigned char>(got[at + 2])) * 256 +
                 static_cast<unsigned char>(got[at + 3]);
        }
        if (at + head + size > got.size()) break;
        if ((got[at] & 0xf) == 0x8 && size >= 2) {
          return static_cast<unsigned char>(got[at + head]) * 256 + static_cast<unsigned char>(got[at + head + 1]);
        }
        at += head + size;
      }
      if (socket.ReadSome(got, deadline) != Socket::Read::kBytes) return 0;
    }
  }
};

TEST_F(Framing, AHugeTrailerFieldEndsNotTheServer) {
  for (const std::size_t size : {64u * 1024, 70'000u, 1'000'000u}) {
    const Answer answer = Raw("GET /livez HTTP/1.1\r\n" + HostLine() +
                              "Transfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(size, 'x') + "\r\n\r\n");
    EXPECT_TRUE(answer.status == 413 || answer.status == 0) << answer.status << answer.body;
    ASSERT_TRUE(server().Running()) << server().Log();
  }
  // A small one is read over.
  const Answer small = Raw("GET /livez HTTP/1.1\r\n" + HostLine() +
                           "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n000;x=\"y z\"\r\nX: y\r\nZ: z\r\n\r\n");
  EXPECT_EQ(small.status, 200) << small.body;
}

TEST_F(Framing, NoPartOfARequestGoesOnWithoutEnd) {
  const std::string head = "POST /v1/queues/default/jobs HTTP/1.1\r\n" + HostLine();
  const std::string auth = "Authorization: Bearer " + submit_ + "\r\n";
  const std::string chunked = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string open = "GET /livez HTTP/1.1\r\n" + HostLine() + "Transfer-Encoding: chunked\r\n\r\n";
  const std::string stream =
      head + auth + "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n";
  struct Row {
    const char* name;
    std::string begin, part;
  };
  const Row rows[] = {
      {"method", "", "A"},
      {"target", "GET /", "a"},
      {"empty lines", "", "\r\n"},
      {"fields", "GET /livez HTTP/1.1\r\n" + HostLine(), "a: b\r\n"},
      {"one field", "GET /livez HTTP/1.1\r\n" + HostLine() + "a: ", "b"},
      {"field name", "GET /livez HTTP/1.1\r\n" + HostLine(), "a"},
      {"folded field", "GET /livez HTTP/1.1\r\n" + HostLine() + "a: b\r\n", " c\r\n"},
      {"zeros of a size, without a token", open, "0"},
      {"extension, without a token", open + "1;a=", "b"},
      {"extensions, without a token", open + "1", ";a=b"},
      {"quoted extension, without a token", open + "1;a=\"", "b"},
      {"trailer fields, without a token", open + "0\r\n", "a: b\r\n"},
      {"trailer field, without a token", open + "0\r\na: ", "b"},
      {"chunks, without a token", open, "1\r\na\r\n"},
      {"zeros of a size", head + auth + chunked, "0"},
      {"extensions of a size", head + auth + chunked + "1", ";a=b"},
      {"extensions of chunks", head + auth + chunked, "1;aaaaaaaaaaaa\r\n \r\n"},
      {"trailer fields", head + auth + chunked + "0\r\n", "a: b\r\n"},
      {"chunks", head + auth + chunked, "8\r\n        \r\n"},
      {"zeros of a size in a stream", stream, "0"},
      {"extensions in a stream", stream + "1", ";a=b"},
      {"trailer fields in a stream", stream + "0\r\n", "a: b\r\n"},
      {"a line of a stream", stream + "fffffffff\r\n", "        "},
      {"body without a token", head + "Content-Length: 999999999\r\n\r\n", "x"},
  };
  const std::uint64_t before = ResidentBytes(server().pid());
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const Flood flood = SendWithoutEnd(row.begin, row.part, 64 * kMegabyte);
    EXPECT_TRUE(flood.ended) << "it was read to the end";
    // What the kernels' buffers hold comes on top of what the server read.
    EXPECT_LE(flood.sent, 48 * kMegabyte);
    std::set<int> expected = {0, 400, 401, 413};
    if (ALLOT_SANITIZED) expected.insert(408);  // so slow that its time is over before it has grown too large
    EXPECT_TRUE(expected.contains(flood.status)) << flood.status;
    ASSERT_TRUE(server().Running()) << server().Log();
    EXPECT_LE(ResidentBytes(server().pid()), before + 64 * kMegabyte);
  }
}

TEST_F(Framing, WhatTwoReadersMaySeeDifferentlyIsRefused) {
  const std::string post = "POST /v1/queues/default/jobs HTTP/1.1\r\n";
  const std::string json = "Authorization: Bearer " + submit_ + "\r\nContent-Type: application/json\r\n";
  const std::string smuggled = "GET /livez HTTP/1.1\r\n" + HostLine() + "\r\n";
  struct Row {
    const char* name;
    std::string bytes;
  };
  const auto with = [&](const std::string& fields, const std::string& body = "0\r\n\r\n") {
    return post + HostLine() + json + fields + "\r\n" + body + smuggled;
  };
  const Row rows[] = {
      {"an unknown coding", with("Transfer-Encoding: xchunked\r\n")},
      {"a size of a chunk in two parts", with("Transfer-Encoding: chunked\r\n", "0 5\r\n\r\n")},
      {"a coding before chunked", with("Transfer-Encoding: gzip, chunked\r\n")},
      {"a coding behind chunked", with("Transfer-Encoding: chunked, gzip\r\n")},
      {"identity", with("Transfer-Encoding: identity\r\n")},
      {"chunked twice in a list", with("Transfer-Encoding: chunked, chunked\r\n")},
      {"chunked twice", with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n")},
      {"an unknown coding and chunked", with("Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n")},
      {"a quoted coding", with("Transfer-Encoding: \"chunked\"\r\n")},
      {"an empty coding", with("Transfer-Encoding: \r\n")},
      {"a coding with a parameter", with("Transfer-Encoding: chunked;q=1\r\n")},
      {"a coding with a vertical tab", with("Transfer-Encoding: \vchunked\r\n")},
      {"a blank before the colon", with("Transfer-Encoding : chunked\r\n")},
      {"length, then chunked", with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")},
      {"chunked, then length", with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")},
      {"an unknown coding, then length", with("Transfer-Encoding: x\r\nContent-Length: 5\r\n")},
      {"two equal lengths", with("Content-Length: 5\r\nContent-Length: 5\r\n")},
      {"two lengths", with("Content-Length: 5\r\nContent-Length: 0\r\n")},
      {"a list of equal lengths", with("Content-Length: 5, 5\r\n")},
      {"a length with a sign", with("Content-Length: +5\r\n")},
      {"a length in hex", with("Content-Length: 0x5\r\n")},
      {"a length with a blank", with("Content-Length: 5 0\r\n")},
      {"a length that overflows", with("Content-Length: 18446744073709551621\r\n")},
      {"an empty length", with("Content-Length:\r\n")},
      {"chunked in HTTP/1.0",
       "POST /v1/queues/default/jobs HTTP/1.0\r\n" + HostLine() + json + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"two Hosts", with(HostLine())},
      {"two Hosts, one of them foreign", with("Host: evil.example\r\n")},
      {"two Origins", with("Origin: http://evil.example\r\nOrigin: http://127.0.0.1\r\n")},
      {"two Authorizations", with("Authorization: Bearer " + admin_ + "\r\n")},
      {"two types", with("Content-Type: text/plain\r\n")},
      {"a folded field", with("X-A: b\r\n c\r\n")},
      {"a folded length", with("Content-Length:\r\n 5\r\n")},
      {"a bare LF behind a field", with("X-A: b\nContent-Length: 5\r\n")},
      {"a bare CR in a field", with("X-A: b\rContent-Length: 5\r\n")},
      {"a bare LF behind the request line", "GET /livez HTTP/1.1\n" + HostLine() + "\r\n"},
      {"a zero byte", with(std::string("X-A: b\0c\r\n", 10))},
      {"an empty line first", "\r\n" + smuggled},
      {"an empty name", with(": b\r\n")},
      {"a chunk size that ends in a bare LF", with("Transfer-Encoding: chunked\r\n", "2\n{}\r\n0\r\n\r\n")},
      {"a chunk that ends in a bare LF", with("Transfer-Encoding: chunked\r\n", "2\r\n{}\n0\r\n\r\n")},
      {"a chunk longer than its size", with("Transfer-Encoding: chunked\r\n", "1\r\n{}\r\n0\r\n\r\n")},
      {"a chunk size with a sign", with("Transfer-Encoding: chunked\r\n", "+2\r\n{}\r\n0\r\n\r\n")},
      {"a chunk size with 0x", with("Transfer-Encoding: chunked\r\n", "0x2\r\n{}\r\n0\r\n\r\n")},
      {"a chunk size with a blank first", with("Transfer-Encoding: chunked\r\n", " 2\r\n{}\r\n0\r\n\r\n")},
      {"a chunk size that overflows", with("Transfer-Encoding: chunked\r\n", "10000000000000002\r\n{}\r\n0\r\n\r\n")},
      {"a bare LF in an extension", with("Transfer-Encoding: chunked\r\n", "2;a=\nb\r\n{}\r\n0\r\n\r\n")},
      {"a folded trailer", with("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\nA: b\r\n c\r\n\r\n")},
      {"a bare LF in the trailer", with("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\nA: b\n\r\n")},
      {"an upgrade with a body",
       "GET /v1/queues/default/work HTTP/1.1\r\n" + HostLine() + "Authorization: Bearer " + work_ +
           "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
           "dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 3\r\n\r\nabc"},
  };
  Http admin = server().http(admin_);
  const std::string before = Picture(admin);
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    Socket socket(server().port());
    ASSERT_TRUE(socket.Send(row.bytes));
    std::string got;
    EXPECT_TRUE(socket.ReadToEnd(got, milliseconds(5000))) << "it is kept open\n" << got;
    EXPECT_EQ(got.compare(0, 13, "HTTP/1.1 400 "), 0) << got;
    EXPECT_NE(got.find("Connection: close"), std::string::npos) << got;
    EXPECT_EQ(got.find("HTTP/1.1 ", 1), std::string::npos) << "a second request was read\n" << got;
  }
  EXPECT_EQ(Picture(admin), before);
}

TEST_F(Framing, WithoutATokenNoBodyIsKept) {
  for (const std::string path : {"/livez", "/readyz"}) {
    const Answer answer = Raw("POST " + path + " HTTP/1.1\r\n" + HostLine() + "Content-Length: 10000000\r\n\r\n" +
                              std::string(9000, 'x'));
    EXPECT_EQ(answer.status, 413) << answer.body;
  }
}

TEST_F(Framing, UnfinishedBodiesShareABudget) {
  const std::uint64_t before = ResidentBytes(server().pid());
  const std::string head = "POST /v1/queues/default/jobs HTTP/1.1\r\n" + HostLine() + "Authorization: Bearer " +
                           submit_ + "\r\nContent-Type: application/json\r\nContent-Length: 16000000\r\n\r\n";
  const std::string most(15'500'000, ' ');
  std::vector<Socket> sockets;
  int refused = 0;
  for (int i = 0; i < 14; ++i) {
    Socket socket(server().port());
    socket.Send(head);
    socket.Send(most, milliseconds(1500));
    std::string got;
    if (socket.ReadSome(got, SteadyNow() + milliseconds(i < 6 ? 0 : 100)) == Socket::Read::kBytes) {
      if (got.find("503") != std::string::npos) ++refused;
    }
    sockets.push_back(std::move(socket));
    EXPECT_LE(ResidentBytes(server().pid()), before + (ALLOT_SANITIZED ? 1024 : 256) * kMegabyte);
  }
  // Either the budget of one token, or the time of the first ones, was over.
  for (Socket& socket : sockets) {
    std::string got;
    socket.ReadToEnd(got, milliseconds(5000));
    EXPECT_TRUE(got.empty() || got.find("unavailable") != std::string::npos ||
                got.find("timed_out") != std::string::npos)
        << got;
  }
  // All of it goes back.
  Http submit = server().http(submit_);
  EXPECT_EQ(submit.Post(kJobs, R"({"count":0})").status, 201);
}

TEST_F(Framing, UnfinishedMessagesShareABudget) {
  const std::uint64_t before = ResidentBytes(server().pid());
  // A frame that begins a message, and one that goes on with it; with a mask of zeros.
  std::string piece("\x00\xff\x00\x00\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00", 14);
  piece.append(256 * 1024, ' ');
  std::string first = piece;
  first[0] = 0x1;
  std::vector<WebSocket> workers;
  int refused = 0;
  for (int i = 0; i < 12; ++i) {
    WebSocket worker(server().port(), "/v1/queues/default/work", work_);
    ASSERT_TRUE(worker.open());
    ASSERT_TRUE(worker.Send(R"({"hello":{"name":"w","tags":[],"slots":1}})"));
    ASSERT_TRUE(worker.Receive().has_value());
    // Fifteen megabytes of a message that does not end.
    for (int n = 0; n < 60; ++n) {
      if (!worker.socket().Send(n == 0 ? first : piece, milliseconds(1000))) break;
    }
    if (CloseCode(worker.socket(), milliseconds(i < 4 ? 0 : 50)) == 1013) ++refused;
    workers.push_back(std::move(worker));
    EXPECT_LE(ResidentBytes(server().pid()), before + 320 * kMegabyte);
  }
  for (WebSocket& worker : workers) {
    const int code = CloseCode(worker.socket(), milliseconds(6000));
    EXPECT_TRUE(code == 0 || code == 1013 || code == 1008) << code;
  }
}

TEST_F(Framing, BeforeHelloMessagesAreSmall) {
  for (const char* path : {"/v1/queues/default/work", "/v1/queues/default/wait"}) {
    WebSocket socket(server().port(), path, admin_);
    ASSERT_TRUE(socket.open());
    for (int n = 0; n < 12; ++n) {
      if (!socket.SendFrame(n == 0 ? 0x1 : 0x0, std::string(256 * 1024, ' '), false)) break;
    }
    EXPECT_EQ(CloseCode(socket.socket(), milliseconds(5000)), 1009) << path;
  }
}

TEST_F(Framing, AMessageThatDoesNotEndEndsItsConnection) {
  WebSocket socket(server().port(), "/v1/queues/default/work", work_);
  ASSERT_TRUE(socket.open());
  ASSERT_TRUE(socket.SendFrame(0x1, "{", false));
  int code = 0;
  for (int i = 0; i < 60 && code == 0; ++i) {
    socket.Ping();  // signs of life do not help
    code = CloseCode(socket.socket(), milliseconds(100));
  }
  EXPECT_EQ(code, 1008);
}

TEST_F(Framing, HelloComesSoonOrNotAtAll) {
  WebSocket socket(server().port(), "/v1/queues/default/work", work_);
  ASSERT_TRUE(socket.open());
  int code = 0;
  for (int i = 0; i < 60 && code == 0; ++i) {
    socket.Ping();
    code = CloseCode(socket.socket(), milliseconds(100));
  }
  EXPECT_EQ(code, 1008);
}

// Not the library's, which says so in text, with a header of its own and the version of the request.
TEST_F(Framing, AWebSocketThatBeginsWronglyIsRefusedInOurOwnWords) {
  const auto begin = [&](const std::string& version, const std::string& fields) {
    return Raw("GET /v1/queues/default/work HTTP/" + version + "\r\n" + HostLine() + "Authorization: Bearer " + work_ +
               "\r\nUpgrade: websocket\r\n" + fields + "\r\n");
  };
  const std::string connection = "Connection: Upgrade\r\n", version = "Sec-WebSocket-Version: 13\r\n",
                    key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  EXPECT_EQ(begin("1.1", connection + version + key).status, 101);
  const struct {
    const char* http;
    std::string fields;
  } kWrong[] = {{"1.0", connection + version + key}, {"1.1", version + key},
                {"1.1", connection + version},       {"1.1", connection + version + "Sec-WebSocket-Key: short\r\n"},
                {"1.1", connection + key},           {"1.1", connection + key + "Sec-WebSocket-Version: 8\r\n"}};
  for (const auto& wrong : kWrong) {
    const Answer answer = begin(wrong.http, wrong.fields);
    EXPECT_EQ(answer.status, 400) << wrong.fields;
    EXPECT_EQ(answer.ErrorCode(), "bad_request") << wrong.fields << answer.body;
  }
}

TEST_F(Framing, BinaryMessagesAreNoMessages) {
  for (const char* path : {"/v1/queues/default/work", "/v1/queues/default/wait"}) {
    WebSocket socket(server().port(), path, admin_);
    ASSERT_TRUE(socket.open());
    socket.SendFrame(0x2, R"({"hello":{"name":"binary","tags":[],"slots":1}})");
    EXPECT_EQ(CloseCode(socket.socket(), milliseconds(5000)), 1003) << path;
  }
  Http admin = server().http(admin_);
  EXPECT_EQ(admin.Get("/v1/queues/default/workers").body.find("binary"), std::string::npos);
}

}  // namespace
}  // namespace allot::testing
