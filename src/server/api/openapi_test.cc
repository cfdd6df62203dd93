// SPDX-License-Identifier: Apache-2.0
// The description of the API, and the files made from it. What a real server says is held against it by tests/wire.
#include "server/api/openapi.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "server/api/route_table.h"

namespace allot {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// The same JSON, a line for each field.
std::string Indented(const std::string& json) {
  std::string out;
  std::size_t depth = 0;
  bool quoted = false;
  const auto line = [&] { out.append("\n").append(2 * depth, ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"' && (i == 0 || json[i - 1] != '\\')) quoted = !quoted;
    const bool empty = i + 1 < json.size() && (json[i + 1] == '}' || json[i + 1] == ']');
    if (!quoted && (c == '}' || c == ']') && json[i - 1] != '{' && json[i - 1] != '[') {
      --depth;
      line();
    }
    out.push_back(c);
    if (quoted) continue;
    if ((c == '{' || c == '[') && !empty) {
      ++depth;
      line();
    }
    if (c == ',') line();
    if (c == ':') out.push_back(' ');
  }
  return out + "\n";
}

// A file that is made from the tables. With ALLOT_UPDATE in the environment it is written.
void ExpectMade(const std::string& path, const std::string& text) {
  if (std::getenv("ALLOT_UPDATE") != nullptr) std::ofstream(path) << text;
  EXPECT_TRUE(ReadText(path) == text) << path << " is not what the tables say. Make it anew: "
                                      << "ALLOT_UPDATE=1 build/server_tests --gtest_filter='OpenApi.*'";
}

TEST(OpenApi, IsTheOneInDocs) { ExpectMade("docs/openapi.json", Indented(OpenApi())); }

TEST(OpenApi, TheDashboardsTypesAreOfTheSameTables) {
  ExpectMade("web/src/types.ts", wire::TypeScript(ApiVocabulary()));
}

TEST(OpenApi, EveryRouteSaysWhatGoesOverTheWire) {
  for (const Route& route : Routes()) {
    SCOPED_TRACE(route.path.text());
    const Route::Objects& objects = route.objects;
    EXPECT_TRUE(objects.gives != nullptr || objects.media != "application/json" ||
                route.path.text() == "/v1/openapi.json");
    EXPECT_TRUE(objects.or_gives == nullptr || objects.gives != nullptr);
    EXPECT_TRUE(objects.takes == nullptr || route.method != Method::kGet || route.upgrade != nullptr);
    EXPECT_TRUE(objects.first == nullptr || route.upgrade != nullptr);
    EXPECT_TRUE(!objects.may_be_there || objects.creates);
  }
}

TEST(OpenApi, NamesAreThereOnce) {
  const wire::Vocabulary vocabulary = ApiVocabulary();
  std::set<std::string_view> names = {"Ms", "Json"};
  for (const wire::Words* words : vocabulary.words) {
    EXPECT_TRUE(names.insert(words->name).second) << words->name;
    EXPECT_EQ(std::set<std::string_view>(words->words.begin(), words->words.end()).size(), words->words.size());
  }
  for (const wire::Object* object : vocabulary.objects) {
    EXPECT_TRUE(names.insert(object->name).second) << object->name;
    std::set<std::string_view> fields;
    for (const wire::Field& field : object->fields) {
      EXPECT_TRUE(fields.insert(field.name).second) << object->name << "." << field.name;
      EXPECT_FALSE(field.about.empty()) << object->name << "." << field.name;
      // Units are the last word of a name.
      EXPECT_TRUE(field.type != wire::Type::kTime || field.name.ends_with("at_ms")) << field.name;
      EXPECT_TRUE(field.type != wire::Type::kMillis || field.name.ends_with("_ms")) << field.name;
    }
  }
}

}  // namespace
}  // namespace allot
