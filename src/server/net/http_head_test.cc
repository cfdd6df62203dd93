// SPDX-License-Identifier: Apache-2.0
#include "server/net/http_head.h"

#include <gtest/gtest.h>

#include <string>

namespace allot {
namespace {

Result<RequestHead> Parse(const std::string& bytes) { return RequestHead::Parse(bytes); }

TEST(RequestHead, SaysWhatWasAsked) {
  const std::string bytes =
      "PATCH /v1/a%20b?c=d&e HTTP/1.1\r\nhOST: \t a:1 \r\nContent-Type:application/json\r\nX-Other: y\r\n"
      "Accept: first\r\naccept: second\r\nUpgrade:\r\n\r\n";
  const Result<RequestHead> head = Parse(bytes);
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_EQ(head->method(), "PATCH");
  EXPECT_EQ(head->target(), "/v1/a%20b?c=d&e");
  EXPECT_TRUE(head->http11());
  EXPECT_EQ((*head)[HeadField::kHost], "a:1");
  EXPECT_EQ((*head)[HeadField::kContentType], "application/json");
  EXPECT_EQ((*head)[HeadField::kAccept], "first");
  EXPECT_TRUE(head->has(HeadField::kUpgrade));
  EXPECT_EQ((*head)[HeadField::kUpgrade], "");
  EXPECT_FALSE(head->has(HeadField::kExpect));
}

TEST(RequestHead, WhetherTheConnectionGoesOn) {
  struct Row {
    const char* version;
    const char* connection;
    bool goes_on;
    bool upgrades;
  };
  constexpr Row kRows[] = {
      {"1.1", "", true, false},
      {"1.1", "Connection: close\r\n", false, false},
      {"1.1", "Connection: a, CLOSE\r\n", false, false},
      {"1.1", "Connection: a\r\nConnection: close\r\n", false, false},
      {"1.1", "Connection: closed\r\n", true, false},
      {"1.1", "Connection: keep-alive, Upgrade\r\n", true, true},
      {"1.1", "Connection: ,, \t,upgrade ,\r\n", true, true},
      {"1.0", "", false, false},
      {"1.0", "Connection: Keep-Alive\r\n", true, false},
      {"1.0", "Connection: keep-alive, close\r\n", false, false},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.version) + row.connection);
    const std::string bytes = std::string("GET / HTTP/") + row.version + "\r\n" + row.connection + "\r\n";
    const Result<RequestHead> head = Parse(bytes);
    ASSERT_TRUE(head.ok());
    EXPECT_EQ(head->keep_alive(), row.goes_on);
    EXPECT_EQ(head->upgrades(), row.upgrades);
  }
}

TEST(RequestHead, RefusesWhatIsNoRequestOrSaysTwoThings) {
  const auto with = [](const std::string& fields) { return "GET / HTTP/1.1\r\n" + fields + "\r\n"; };
  const std::string rows[] = {
      "\x80\r\n\r\n",
      "GET\r\n\r\n",
      "GET /\r\n\r\n",
      "GET / \r\n\r\n",
      "GET  HTTP/1.1\r\n\r\n",
      "GET  / HTTP/1.1\r\n\r\n",
      "GET / a HTTP/1.1\r\n\r\n",
      "GET /\ta HTTP/1.1\r\n\r\n",
      "G(T / HTTP/1.1\r\n\r\n",
      "GET / HTTP/2.0\r\n\r\n",
      "GET / HTTP/1.2\r\n\r\n",
      "GET / HTTP/1.10\r\n\r\n",
      "GET / HTTP/0.9\r\n\r\n",
      "GET / http/1.1\r\n\r\n",
      with(": b\r\n"),
      with("a\r\n"),
      with("a : b\r\n"),
      with("a b: c\r\n"),
      with("a\"b: c\r\n"),
      with("\xc3\xa4: c\r\n"),
      with("Connection: \"close\"\r\n"),
      with("Connection: keep-alive; a\r\n"),
      with("Connection: a b\r\n"),
      with("Host: a\r\nhost: a\r\n"),
      with("Origin: a\r\nOrigin: b\r\n"),
      with("Authorization: a\r\nAUTHORIZATION: b\r\n"),
      with("Content-Length: 1\r\nContent-Length: 1\r\n"),
      with("Content-Type: a\r\nContent-Type: a\r\n"),
      with("Transfer-Encoding: chunked\r\nTransfer-Encoding:\r\n"),
      with("Expect: a\r\nExpect: a\r\n"),
      with("Upgrade: a\r\nUpgrade: a\r\n"),
      with("Sec-WebSocket-Key: a\r\nSec-WebSocket-Key: a\r\n"),
      with("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Version: 13\r\n"),
  };
  for (const std::string& row : rows) {
    SCOPED_TRACE(row);
    const Result<RequestHead> head = Parse(row);
    ASSERT_FALSE(head.ok());
    EXPECT_EQ(head.error().code, Code::kBadRequest);
  }
}

}  // namespace
}  // namespace allot
