// SPDX-License-Identifier: Apache-2.0
#include "base/details.h"

#include <gtest/gtest.h>

#include "base/job_details.h"

namespace allot {
namespace {

using std::chrono::milliseconds;

struct Note {
  std::string text;
  std::uint32_t weight = 0;
  milliseconds pause{0};
  bool urgent = false;
  std::string elsewhere;
  friend bool operator==(const Note&, const Note&) = default;
};
constexpr std::tuple kNote{
    Detail(&Note::text, "text", "what it says", 100, 1),    Detail(&Note::weight, "weight", "how heavy it is", 9, 2),
    Detail(&Note::pause, "pause_ms", "before it", 1000, 7), Detail(&Note::urgent, "urgent", "read it now", 1, 3),
    Detail(&Note::elsewhere, "elsewhere", "", 100, 0),
};

std::string Stored(const Note& note) {
  std::string text;
  PutNumbered(kNote, note, text);
  return text;
}

TEST(Details, WhatIsGivenIsReadAsItWasWritten) {
  const Note notes[] = {{}, {"hello", 0, milliseconds(0), false, ""}, {"", 4'000'000'000, milliseconds(-5), true, ""}};
  for (const Note& note : notes) {
    Note read;
    EXPECT_TRUE(GetNumbered(kNote, Stored(note), read));
    EXPECT_EQ(read, note);
    EXPECT_EQ(AnyGiven(kNote, note), !(note == Note{}));
  }
}

TEST(Details, WhatIsNotGivenTakesNoByte) {
  EXPECT_EQ(Stored({}), "");
  EXPECT_EQ(Stored({"", 3, milliseconds(0), false, ""}), std::string("\x02\x01\x06"));
}

TEST(Details, WhatHasNoNumberIsStoredByOtherMeans) {
  const Note note{"", 0, milliseconds(0), false, "x"};
  EXPECT_TRUE(AnyGiven(kNote, note));
  EXPECT_EQ(Stored(note), "");
  EXPECT_EQ(TextBytes(kNote, Note{"abc", 7, milliseconds(1), true, "de"}), 5u);
}

// As a newer program writes it.
TEST(Details, NumbersThatAreNotKnownArePassedOver) {
  std::string text;
  ByteWriter out(text);
  for (const std::uint64_t number : {8, 1'000'000}) {
    out.Varint(number);
    out.Text("whatever");
  }
  text += Stored({"known", 0, milliseconds(0), false, ""});
  Note read;
  EXPECT_TRUE(GetNumbered(kNote, text, read));
  EXPECT_EQ(read.text, "known");
}

TEST(Details, WhatIsCutIsRefused) {
  const std::string text = Stored({"hello", 0, milliseconds(300), false, ""});
  for (std::size_t length = 1; length < text.size(); ++length) {
    Note read;
    if (length == 7) continue;  // the end of the first
    EXPECT_FALSE(GetNumbered(kNote, std::string_view(text).substr(0, length), read)) << length;
  }
  Note read;
  EXPECT_FALSE(GetNumbered(kNote, std::string_view("\x02\x00", 2), read));  // a number without digits
}

TEST(Details, NumbersDifferWhereEachIsThereOnce) {
  EXPECT_TRUE(NumbersDiffer(kNote));
  EXPECT_FALSE(NumbersDiffer(std::tuple{Detail(&Note::text, "a", "", 1, 5), Detail(&Note::weight, "b", "", 1, 5)}));
}

}  // namespace
}  // namespace allot
