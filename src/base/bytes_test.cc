// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace allot {
namespace {

TEST(Bytes, WhatIsWrittenIsRead) {
  const bool passed =
      rc::check([](std::uint8_t u8, std::uint64_t u64, std::int64_t i64, const std::string& text, double real) {
        std::string out;
        ByteWriter writer(out);
        writer.U8(u8);
        writer.Varint(u64);
        writer.Signed(i64);
        writer.Text(text);
        writer.Real(real);
        writer.Fixed64(u64);
        writer.Raw("end");
        ByteReader reader(out);
        RC_ASSERT(reader.U8() == u8);
        RC_ASSERT(reader.Varint() == u64);
        RC_ASSERT(reader.Signed() == i64);
        RC_ASSERT(reader.Text() == text);
        RC_ASSERT(std::bit_cast<std::uint64_t>(reader.Real()) == std::bit_cast<std::uint64_t>(real));
        RC_ASSERT(reader.Fixed64() == u64);
        RC_ASSERT(reader.rest() == "end");
        RC_ASSERT(reader.Raw(3) == "end");
        RC_ASSERT(reader.ok() && reader.AtEnd());
      });
  EXPECT_TRUE(passed);
}

TEST(Bytes, ExtremesFit) {
  for (const std::int64_t value : {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
                                   std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{-64}}) {
    std::string out;
    ByteWriter(out).Signed(value);
    ByteReader reader(out);
    EXPECT_EQ(reader.Signed(), value);
    EXPECT_TRUE(reader.ok() && reader.AtEnd());
    if (value >= -64 && value <= 63) {
      EXPECT_EQ(out.size(), 1u);
    }
  }
  std::string out;
  ByteWriter(out).Varint(UINT64_MAX);
  EXPECT_EQ(out.size(), 10u);
}

TEST(Bytes, EveryCutIsNoticedAndReadsZeroFromThenOn) {
  std::string out;
  ByteWriter writer(out);
  writer.Varint(1'000'000);
  writer.Text("hello");
  writer.Fixed64(7);
  for (std::size_t size = 0; size < out.size(); ++size) {
    ByteReader reader(std::string_view(out).substr(0, size));
    reader.Varint();
    reader.Text();
    reader.Fixed64();
    EXPECT_FALSE(reader.ok()) << size;
    EXPECT_TRUE(reader.AtEnd());
    EXPECT_EQ(reader.U8(), 0);
    EXPECT_EQ(reader.Text(), "");
  }
}

TEST(Bytes, AnyBytesAreReadWithoutHarm) {
  const bool passed = rc::check([](const std::string& junk) {
    ByteReader reader(junk);
    for (int i = 0; i < 20; ++i) {
      reader.Varint();
      const std::string_view text = reader.Text();
      RC_ASSERT(text.size() <= junk.size());
      reader.Signed();
    }
  });
  EXPECT_TRUE(passed);
  const std::string endless(11, '\xff');
  ByteReader reader(endless);
  EXPECT_EQ(reader.Varint(), 0u);
  EXPECT_FALSE(reader.ok());
}

}  // namespace
}  // namespace allot
