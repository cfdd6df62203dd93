// SPDX-License-Identifier: Apache-2.0
#include "expr/ad.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/rng.h"

namespace allot::expr {
namespace {

TEST(Ad, NamesAreFoundInAnyCase) {
  Ad ad;
  ad.Set("Memory", Value::Integer(1));
  ad.Set("a-b", Value::Integer(2));
  ASSERT_NE(ad.Find("mEMORY"), nullptr);
  EXPECT_EQ(ad.Find("mEMORY")->integer(), 1);
  EXPECT_EQ(ad.Find("A-B")->integer(), 2);
  EXPECT_EQ(ad.Find("Memor"), nullptr);
  EXPECT_EQ(HashName("Memory"), HashName("MEMORY"));
  EXPECT_FALSE(SameName("a[", "a{"));  // their bits differ as those of letters do
}

TEST(Ad, OwnsWhatItIsGiven) {
  Ad ad;
  {
    std::string name = "name", text = "text";
    const Value items[] = {Value::String(text)};
    ad.Set(name, Value::List(items));
    name[0] = text[0] = '?';
  }
  EXPECT_EQ(Print(*ad.Find("name")), "{\"text\"}");
}

TEST(Ad, UndefinedRemoves) {
  Ad ad;
  ad.Set("a", Value::Integer(1));
  ad.Set("A", Value::Undefined());
  ad.Set("b", Value::Undefined());
  EXPECT_TRUE(ad.empty());
  EXPECT_EQ(ad.Find("a"), nullptr);
}

TEST(Ad, AgreesWithAMap) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Ad ad;
    std::map<std::string, std::int64_t> map;
    for (int i = 0; i < 300; ++i) {
      const std::string name = "n" + std::to_string(rng.Below(60));
      if (rng.Below(4) == 0) {
        ad.Set(name, Value::Undefined());
        map.erase(name);
      } else {
        ad.Set(rng.Below(2) == 0 ? name : "N" + name.substr(1), Value::Integer(i));
        map[name] = i;
      }
      ASSERT_EQ(ad.size(), map.size());
    }
    for (int i = 0; i < 60; ++i) {
      const std::string name = "n" + std::to_string(i);
      const Value* found = ad.Find(name);
      const auto want = map.find(name);
      ASSERT_EQ(found != nullptr, want != map.end()) << name;
      if (found == nullptr) continue;
      ASSERT_EQ(found->integer(), want->second) << name;
    }
    std::size_t seen = 0;
    ad.ForEach([&](std::string_view, const Value&) { ++seen; });
    EXPECT_EQ(seen, map.size());
  }
}

}  // namespace
}  // namespace allot::expr
