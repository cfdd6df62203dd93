// SPDX-License-Identifier: Apache-2.0
#include "cli/text/payload_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace allot::cli {
namespace {

TEST(PayloadText, AnyBytesComeBackAsTheyWere) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw) {
    const std::string bytes(raw.begin(), raw.end());
    RC_ASSERT(JsonToBytes(BytesToJson(bytes)) == bytes);
  }));
}

TEST(PayloadText, Base64ReadsWhatItWroteAndNothingElse) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& raw) {
    const std::string bytes(raw.begin(), raw.end());
    const auto back = DecodeBase64(EncodeBase64(bytes));
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == bytes);
  }));
  EXPECT_EQ(EncodeBase64("a"), "YQ==");
  EXPECT_FALSE(DecodeBase64("YQ="));
  EXPECT_FALSE(DecodeBase64("Y*=="));
}

TEST(PayloadText, ValuesBecomeWhatAProgramExpects) {
  struct Row {
    const char* json;
    const char* bytes;
  };
  const Row rows[] = {
      {"", ""},
      {"\"12\"", "12"},
      {"\"two\\nlines\"", "two\nlines"},
      {"12", "12"},
      {"1.50", "1.50"},
      {"null", "null"},
      {"{ \"a\" : [1, 2] }", "{\"a\":[1,2]}"},
      {"{\"$base64\": \"/wA=\"}", nullptr},
      {"{\"$base64\":\"YQ==\",\"b\":1}",
       "{\"$base64\":\"YQ==\",\"b\":1}"},  // more than that one key: an object like others
      {"{\"$base64\":\"?\"}", "{\"$base64\":\"?\"}"},
      {"12345678901234567890123", "12345678901234567890123"},  // beyond 64 bits: as it stands
  };
  for (const Row& row : rows) {
    EXPECT_EQ(JsonToBytes(row.json), row.bytes == nullptr ? std::string("\xFF\0", 2) : std::string(row.bytes))
        << row.json;
  }
}

TEST(PayloadText, KnowsJson) {
  EXPECT_TRUE(IsJson("{\"a\": 1}"));
  EXPECT_TRUE(IsJson(" 12 "));
  EXPECT_FALSE(IsJson(""));
  EXPECT_FALSE(IsJson("{a: 1}"));
  EXPECT_FALSE(IsJson("1 2"));
}

}  // namespace
}  // namespace allot::cli
