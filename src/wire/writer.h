// SPDX-License-Identifier: Apache-2.0
// Writes an object of the protocol, whose table (wire/field.h) knows its fields: a name that is not in it, or of
// another type, does not compile. What it costs is what JsonWriter costs.
//
//   JsonWriter json(out);
//   wire::Writer<wire::kTask> w(json);
//   w.Count("index", task.index);
//
// The object ends with its writer. Fields are written in the order of the table; that those are there which are not
// optional is held by tests, which look at all that a server says (tests/wire).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/time.h"
#include "wire/field.h"

namespace allot::wire {

// The name of a field of kObject that is one of the types of `mask`.
enum Shape : unsigned { kPlain = 0, kMayBeNull = 1, kIsList = 2, kAnyShape = 4 };
constexpr unsigned Bit(Type type) { return 1u << static_cast<unsigned>(type); }
constexpr unsigned kAnyType = ~0u;
constexpr unsigned kWhole = Bit(Type::kCount) | Bit(Type::kInt) | Bit(Type::kMillis) | Bit(Type::kTime);
// A text is one of many values, where a field takes any.
constexpr unsigned kString = Bit(Type::kText) | Bit(Type::kId) | Bit(Type::kRank) | Bit(Type::kJson);

template <const Object& kObject, unsigned kTypes, unsigned kShape = kPlain, const Object* kInner = nullptr>
struct Name {
  template <std::size_t N>
  consteval Name(const char (&name)[N]) : text(name, N - 1) {  // NOLINT: a literal is a name
    const Field* field = Find(kObject, text);
    if (field == nullptr) NoSuchField(text);
    if ((kTypes & Bit(field->type)) == 0 || (kInner != nullptr && field->object != kInner)) FieldOfAnotherType(text);
    if (kShape == kAnyShape) return;
    if (field->list != ((kShape & kIsList) != 0)) FieldOfAnotherType(text);
    if ((kShape & kMayBeNull) != 0 && !field->nullable) FieldOfAnotherType(text);
  }
  std::string_view text;
};

template <const Object& kObject>
class Writer {
 public:
  explicit Writer(JsonWriter& json) : json_(json) { json_.BeginObject(); }
  ~Writer() { json_.EndObject(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void Bool(Name<kObject, Bit(Type::kBool)> name, bool value) { Key(name.text).Bool(value); }
  void Count(Name<kObject, kWhole> name, std::uint64_t value) { Key(name.text).Uint(value); }
  template <typename T>
  void Count(Name<kObject, kWhole, kMayBeNull> name, const std::optional<T>& value) {
    value ? Key(name.text).Uint(*value) : Key(name.text).Null();
  }
  void Int(Name<kObject, kWhole> name, std::int64_t value) { Key(name.text).Int(value); }
  template <typename T>
  void Int(Name<kObject, kWhole, kMayBeNull> name, const std::optional<T>& value) {
    value ? Key(name.text).Int(*value) : Key(name.text).Null();
  }
  void Real(Name<kObject, Bit(Type::kReal)> name, double value) { Key(name.text).Real(value); }
  void Millis(Name<kObject, Bit(Type::kMillis)> name, milliseconds value) { Key(name.text).Int(value.count()); }
  void Time(Name<kObject, Bit(Type::kTime)> name, WallTime value) { Key(name.text).Int(ToMillis(value)); }
  void Time(Name<kObject, Bit(Type::kTime), kMayBeNull> name, const std::optional<WallTime>& value) {
    value ? Key(name.text).Int(ToMillis(*value)) : Key(name.text).Null();
  }
  void Text(Name<kObject, kString> name, std::string_view value) { Key(name.text).String(value); }
  template <typename T>
  void Text(Name<kObject, kString, kMayBeNull> name, const std::optional<T>& value) {
    value ? Key(name.text).String(*value) : Key(name.text).Null();
  }
  // Empty: null.
  void TextOrNull(Name<kObject, kString, kMayBeNull> name, std::string_view value) {
    value.empty() ? Key(name.text).Null() : Key(name.text).String(value);
  }
  void Texts(Name<kObject, Bit(Type::kText), kIsList> name, const std::vector<std::string>& values) {
    Key(name.text).BeginArray();
    for (const std::string& value : values) json_.String(value);
    json_.EndArray();
  }
  void Id(Name<kObject, Bit(Type::kId)> name, std::uint64_t value) { Key(name.text).Id(value); }
  // 0: null.
  void IdOrNull(Name<kObject, Bit(Type::kId), kMayBeNull> name, std::uint64_t value) {
    value != 0 ? Key(name.text).Id(value) : Key(name.text).Null();
  }
  void Null(Name<kObject, kAnyType, kMayBeNull> name) { Key(name.text).Null(); }
  void Raw(Name<kObject, kAnyType, kAnyShape> name, std::string_view json) { Key(name.text).Raw(json); }
  // For a value that is written by other means.
  JsonWriter& Value(Name<kObject, kAnyType, kAnyShape> name) { return Key(name.text); }
  // write(item, json) for each.
  template <typename Items, typename F>
  void Each(Name<kObject, kAnyType, kIsList> name, const Items& items, F&& write) {
    Key(name.text).BeginArray();
    for (const auto& item : items) write(item, json_);
    json_.EndArray();
  }
  // Where a value is appended by other means, at once and as a whole.
  std::string& Place(Name<kObject, kAnyType, kAnyShape> name) { return Key(name.text).Raw({}).out(); }
  // append(item, text) for each, which appends one value; false from it, where it says so, ends the list.
  template <typename Items, typename F>
  void List(Name<kObject, kAnyType, kIsList> name, const Items& items, F&& append) {
    Key(name.text).BeginArray();
    for (const auto& item : items) {
      json_.Raw({});
      if constexpr (std::is_same_v<decltype(append(item, json_.out())), bool>) {
        if (!append(item, json_.out())) break;
      } else {
        append(item, json_.out());
      }
    }
    json_.EndArray();
  }
  template <const wire::Object& kInner>
  Writer<kInner> Open(Name<kObject, Bit(Type::kObject), kPlain, &kInner> name) {
    return Writer<kInner>(Key(name.text));
  }
  JsonWriter& json() { return json_; }

 private:
  JsonWriter& Key(std::string_view name) { return json_.Key(name); }

  JsonWriter& json_;
};

}  // namespace allot::wire
