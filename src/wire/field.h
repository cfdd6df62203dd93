// SPDX-License-Identifier: Apache-2.0
// The objects of the protocol, field by field: what the server writes, what the client reads, what openapi.json and the
// dashboard's types.ts say all comes from tables of these. They are constants: a writer or reader that names a field
// which is not in its table, or takes it for something else, does not compile.
//
// Changing it: what a table says is a promise to clients in other languages. New fields may come at any time; one that
// goes, or changes its type, is a new version of the protocol.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace allot::wire {

enum class Type : std::uint8_t {
  kBool,
  kCount,    // a whole number from 0 on
  kInt,      // a whole number
  kReal,     // a number
  kMillis,   // a duration
  kTime,     // milliseconds since 1970
  kText,     //
  kId,       // a whole number as text: it may be too large for a double
  kRank,     // an expression as text, or a number
  kJson,     // any value
  kObject,   // `object`
  kTexts,    // an object of any names with texts
  kValues,   // an object of any names with texts, numbers or booleans
  kCounts,   // an object of any names with whole numbers; in requests null takes one away
  kNumeral,  // a whole number, or text that says one in another way, as "5%"
};

// Some words, of which a text is one.
struct Words {
  std::string_view name;
  std::span<const std::string_view> words;
};

struct Object;

struct Field {
  std::string_view name;
  Type type = Type::kText;
  std::string_view about;  // a line of words
  const Object* object = nullptr;
  const Words* words = nullptr;  // null: any text
  bool optional = false;         // it may be missing
  bool nullable = false;
  bool list = false;
};

struct Object {
  std::string_view name;
  std::string_view about;
  std::span<const Field> fields;
};

// How the tables are written.
constexpr Field Of(Type type, std::string_view name, std::string_view about) { return {name, type, about}; }
constexpr Field Bool(std::string_view name, std::string_view about) { return Of(Type::kBool, name, about); }
constexpr Field Count(std::string_view name, std::string_view about) { return Of(Type::kCount, name, about); }
constexpr Field Int(std::string_view name, std::string_view about) { return Of(Type::kInt, name, about); }
constexpr Field Real(std::string_view name, std::string_view about) { return Of(Type::kReal, name, about); }
constexpr Field Millis(std::string_view name, std::string_view about) { return Of(Type::kMillis, name, about); }
constexpr Field Time(std::string_view name, std::string_view about) { return Of(Type::kTime, name, about); }
constexpr Field Text(std::string_view name, std::string_view about) { return Of(Type::kText, name, about); }
constexpr Field Id(std::string_view name, std::string_view about) { return Of(Type::kId, name, about); }
constexpr Field Json(std::string_view name, std::string_view about) { return Of(Type::kJson, name, about); }
constexpr Field Word(std::string_view name, const Words& words, std::string_view about) {
  return {name, Type::kText, about, nullptr, &words};
}
constexpr Field One(std::string_view name, const Object& object, std::string_view about) {
  return {name, Type::kObject, about, &object};
}
constexpr Field List(Field field) {
  field.list = true;
  return field;
}
constexpr Field Many(std::string_view name, const Object& object, std::string_view about) {
  return List(One(name, object, about));
}
constexpr Field OrNull(Field field) {
  field.nullable = true;
  return field;
}
constexpr Field Maybe(Field field) {
  field.optional = true;
  return field;
}

// Lists of fields one behind the other.
template <const auto&... kLists>
constexpr auto Joined() {
  std::array<Field, (std::size(kLists) + ...)> all;
  auto to = all.begin();
  ((to = std::copy(std::begin(kLists), std::end(kLists), to)), ...);
  return all;
}

constexpr const Field* Find(const Object& object, std::string_view name) {
  for (const Field& field : object.fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

// Are these the names of its fields, in whatever order?
constexpr bool SameNames(const Object& object, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (Find(object, name) == nullptr) return false;
  }
  return names.size() == object.fields.size();
}

// Has it all fields of the other one, as the same?
constexpr bool Includes(const Object& object, const Object& other) {
  for (const Field& field : other.fields) {
    const Field* mine = Find(object, field.name);
    if (mine == nullptr || mine->type != field.type || mine->object != field.object || mine->list != field.list)
      return false;
  }
  return true;
}

// What compilers show of a field that is none, or not of that kind: not constant, so that it ends the compilation.
inline void NoSuchField(std::string_view) {}
inline void FieldOfAnotherType(std::string_view) {}
inline void FieldWithoutReader(std::string_view) {}

}  // namespace allot::wire
