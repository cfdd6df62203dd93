// SPDX-License-Identifier: Apache-2.0
#include "server/net/http_framing.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

// The content, `more`, or the error's code; fed in pieces of `piece` bytes.
std::string Decode(BodyDecoder decoder, std::string_view bytes, std::size_t piece, std::size_t* used = nullptr) {
  std::string content;
  std::size_t at = 0;
  while (at < bytes.size() && !decoder.done()) {
    const Result<std::size_t> took = decoder.Take(bytes.substr(at, piece), content);
    if (!took.ok()) return std::string(CodeText(took.error().code));
    at += *took;
  }
  if (used != nullptr) *used = at;
  return decoder.done() ? content : "more";
}

TEST(BodyDecoder, TakesChunksApartHoweverTheyAreCut) {
  const std::string zeros(kMaxChunkSizeDigits, '0');
  struct Row {
    std::string bytes;
    const char* want;
  };
  const Row rows[] = {
      {"0\r\n\r\n", ""},
      {"3\r\nabc\r\n0\r\n\r\n", "abc"},
      {"A\r\n0123456789\r\n1\r\nx\r\n00\r\n\r\n", "0123456789x"},
      {"2;a\r\n\r\n\r\n0;b=\"c d\"\r\n\r\n", "\r\n"},
      {"2 ; a\r\nxy\r\n0\r\nTrailer: z\r\nOther: \r\n\r\n", "xy"},
      {"2 \t\r\nxy\r\n0 \r\n\r\n", "xy"},
      {"2 3\r\nxy\r\n0\r\n\r\n", "bad_request"},  // is it 2, or 23?
      {"2\t \t3\r\n", "bad_request"},
      {"2 a=b\r\nxy\r\n", "bad_request"},
      {"1" + std::string(kMaxChunkExtensionBytes + 1, ' ') + "\r\n", "too_large"},
      {zeros.substr(1) + "1\r\nx\r\n0\r\n\r\n", "x"},
      {zeros + "1\r\nx\r\n0\r\n\r\n", "bad_request"},
      {"", "more"},
      {"3", "more"},
      {"3\r\nab", "more"},
      {"3\r\nabc\r\n0\r\n", "more"},
      {"\r\n", "bad_request"},
      {"g\r\n", "bad_request"},
      {";a\r\n", "bad_request"},
      {"1\nx\r\n", "bad_request"},
      {"1\rx\r\n", "bad_request"},
      {"1\r\nxy\r\n", "bad_request"},
      {"1\r\nx\n0\r\n\r\n", "bad_request"},
      {"-1\r\nx\r\n", "bad_request"},
      {"1g\r\nx\r\n", "bad_request"},
      {"1;a\x01\r\nx\r\n", "bad_request"},
      {"0\r\n folded\r\n\r\n", "bad_request"},
      {"0\r\nA: b\nC: d\r\n\r\n", "bad_request"},
      {"1;" + std::string(kMaxChunkExtensionBytes, 'a') + "\r\n", "too_large"},
      {"0\r\nA: " + std::string(kMaxTrailerBytes, 'a') + "\r\n", "too_large"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.bytes.substr(0, 60));
    for (const std::size_t piece : {1u, 2u, 3u, 7u, 100'000u}) {
      EXPECT_EQ(Decode(BodyDecoder::Chunked(), row.bytes, piece), row.want) << piece;
    }
  }
}

TEST(BodyDecoder, WhatTheHeadSaysOfTheBody) {
  struct Row {
    const char* version;
    const char* fields;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"1.1", "", "0"},
      {"1.1", "Content-Length: 0\r\n", "0"},
      {"1.1", "Content-Length: 5\r\n", "5"},
      {"1.0", "Content-Length: 5\r\n", "5"},
      {"1.1", "Content-Length: 999999999999999999\r\n", "999999999999999999"},
      {"1.1", "Transfer-Encoding: Chunked\r\n", "chunked"},
      {"1.0", "Transfer-Encoding: chunked\r\n", "bad_request"},
      {"1.1", "Transfer-Encoding:\r\n", "bad_request"},
      {"1.1", "Transfer-Encoding: gzip, chunked\r\n", "bad_request"},
      {"1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "bad_request"},
      {"1.1", "Transfer-Encoding: x\r\nContent-Length:\r\n", "bad_request"},
      {"1.1", "Content-Length:\r\n", "bad_request"},
      {"1.1", "Content-Length: +5\r\n", "bad_request"},
      {"1.1", "Content-Length: -5\r\n", "bad_request"},
      {"1.1", "Content-Length: 5,5\r\n", "bad_request"},
      {"1.1", "Content-Length: 5 5\r\n", "bad_request"},
      {"1.1", "Content-Length: 0x5\r\n", "bad_request"},
      {"1.1", "Content-Length: 1000000000000000000\r\n", "bad_request"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(std::string(row.version) + " " + row.fields);
    const std::string bytes = std::string("POST / HTTP/") + row.version + "\r\n" + row.fields + "\r\n";
    const Result<RequestHead> head = RequestHead::Parse(bytes);
    ASSERT_TRUE(head.ok());
    const Result<BodyDecoder> decoder = BodyDecoder::For(*head);
    const std::string got = !decoder.ok()        ? std::string(CodeText(decoder.error().code))
                            : decoder->chunked() ? "chunked"
                                                 : std::to_string(decoder->length());
    EXPECT_EQ(got, row.want);
  }
}

TEST(BodyDecoder, LeavesWhatFollowsTheBody) {
  std::size_t used = 0;
  EXPECT_EQ(Decode(BodyDecoder::Chunked(), "1\r\nx\r\n0\r\n\r\nGET /", 100, &used), "x");
  EXPECT_EQ(used, 11u);
  EXPECT_EQ(Decode(BodyDecoder::OfLength(3), "abcGET /", 100, &used), "abc");
  EXPECT_EQ(used, 3u);
  EXPECT_TRUE(BodyDecoder::OfLength(0).done());
  EXPECT_TRUE(BodyDecoder().done());
}

TEST(BodyDecoder, KeepsNothingOfWhatIsAroundContent) {
  BodyDecoder decoder = BodyDecoder::Chunked();
  std::string content;
  // As many chunks as one likes, but not more than so much around them.
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(decoder.Take("1\r\nx\r\n", content).ok());
  EXPECT_EQ(content.size(), 10'000u);
  Result<std::size_t> last = decoder.Take("", content);
  for (int i = 0; i < 10'000 && last.ok(); ++i) last = decoder.Take("1;aaaa\r\nx\r\n", content);
  ASSERT_FALSE(last.ok());
  EXPECT_EQ(last.error().code, Code::kTooLarge);
}

TEST(HeadScanner, FindsTheEndHoweverItIsCut) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::size_t piece : {1u, 2u, 5u, 1000u}) {
    HeadScanner scanner;
    std::size_t at = 0, used = 0;
    const std::string bytes = head + "rest";
    bool done = false;
    while (!done && at < bytes.size()) {
      const Result<bool> step = scanner.Scan(std::string_view(bytes).substr(at, piece), used);
      ASSERT_TRUE(step.ok());
      at += used;
      done = *step;
    }
    EXPECT_TRUE(done);
    EXPECT_EQ(at, head.size()) << piece;
  }
}

TEST(HeadScanner, RefusesWhatOthersReadDifferently) {
  std::string many = "GET / HTTP/1.1\r\n";
  for (std::size_t i = 0; i <= kMaxFields; ++i) many += "a: b\r\n";
  struct Row {
    std::string bytes;
    Code want;
  };
  const Row rows[] = {
      {"\r\n", Code::kBadRequest},
      {"\n", Code::kBadRequest},
      {"GET / HTTP/1.1\n", Code::kBadRequest},
      {"GET / HTTP/1.1\r\na: b\rc\r\n", Code::kBadRequest},
      {"GET / HTTP/1.1\r\na: b\r\n c\r\n", Code::kBadRequest},
      {"GET / HTTP/1.1\r\n\tc\r\n", Code::kBadRequest},
      {std::string("GET /\0", 6), Code::kBadRequest},
      {"\x16\x03\x01", Code::kBadRequest},  // TLS
      {many, Code::kTooLarge},
      {std::string(bounds::kMaxHeaderBytes + 1, 'a'), Code::kTooLarge},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.bytes.substr(0, 40));
    HeadScanner scanner;
    std::size_t used = 0;
    const Result<bool> scanned = scanner.Scan(row.bytes, used);
    ASSERT_FALSE(scanned.ok());
    EXPECT_EQ(scanned.error().code, row.want);
  }
}

}  // namespace
}  // namespace allot
