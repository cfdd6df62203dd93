// SPDX-License-Identifier: Apache-2.0
// Reading JSON field by field with simdjson's on-demand parser, such that the whole text is validated: what is only
// handed on is walked through, because on-demand does not look at what it skips.
//
// Inner header of request_json: functions return false after a failure, whose Error is then in error(). The path of the
// field at hand is kept, so that errors can name it (`jobs[2].backoff.first_ms`).
//
// Threading: one reader per thread and text at a time; see ThreadReader().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "base/result.h"

namespace allot {

// The fields that an object may have, at most 32 of them.
struct FieldSet {
  std::string_view what;  // `a job`: for messages
  std::span<const std::string_view> names;
};

class JsonReader {
 public:
  using Value = simdjson::ondemand::value;

  // Starts on `text`, which stays the caller's.
  bool Begin(std::string_view text);

  // The text as one object, to its end. `on_field(i, value)` is called for each field, with its place in fields.names,
  // and must read the value with one of the functions below.
  template <typename F>
  bool Root(const FieldSet& fields, F&& on_field) {
    simdjson::ondemand::object object;
    if (doc_.get_object().get(object) != simdjson::SUCCESS) return RootNotAnObject(fields);
    return Fields(object, fields, on_field) && AtEnd();
  }
  template <typename F>
  bool Object(Value& value, const FieldSet& fields, F&& on_field) {
    simdjson::ondemand::object object;
    if (const auto error = value.get_object().get(object)) return WrongType(error, "an object");
    return Fields(object, fields, on_field);
  }
  // An object with keys of the sender's choice: `on_pair(key, value)`.
  template <typename F>
  bool Map(Value& value, F&& on_pair) {
    simdjson::ondemand::object object;
    if (const auto error = value.get_object().get(object)) return WrongType(error, "an object");
    for (auto item : object) {
      simdjson::ondemand::field field;
      std::string_view key;
      if (std::move(item).get(field) != simdjson::SUCCESS || field.unescaped_key().get(key) != simdjson::SUCCESS)
        return Broken();
      const std::string owned(key);
      Enter enter(*this, Step{owned, kNoIndex});
      if (!on_pair(std::string_view(owned), field.value())) return false;
    }
    return true;
  }
  // `on_item(i, value)` for each item. More than `max` of them: false, with `too_many` as the code.
  template <typename F>
  bool Array(Value& value, std::size_t max, Code too_many, F&& on_item) {
    simdjson::ondemand::array array;
    if (const auto error = value.get_array().get(array)) return WrongType(error, "a list");
    std::size_t i = 0;
    for (auto item : array) {
      Value v;
      if (std::move(item).get(v) != simdjson::SUCCESS) return Broken();
      if (i == max) return TooMany(too_many, max);
      Enter enter(*this, Step{{}, i});
      if (!on_item(i, v)) return false;
      ++i;
    }
    return true;
  }

  bool Int(Value& value, std::int64_t min, std::int64_t max, std::int64_t& out);
  template <typename T>
  bool IntTo(Value& value, std::int64_t min, std::int64_t max, T& out) {
    std::int64_t number = 0;
    if (!Int(value, min, max, number)) return false;
    out = static_cast<T>(number);
    return true;
  }
  bool Real(Value& value, double min, double max, double& out);
  bool Bool(Value& value, bool& out);
  // Valid until the next Begin().
  bool Text(Value& value, std::string_view& out);
  // Any value, validated, as a slice of the caller's text.
  bool Raw(Value& value, std::string_view& out);
  bool IsNull(Value& value);
  bool IsString(Value& value);
  bool IsNumber(Value& value, bool& is_integer);

  // The whole text as any one value; the slice is without surrounding white space.
  bool Whole(std::string_view text, std::string_view& out);

  // Fails. `message` follows the name of the field at hand: `must be a boolean`.
  bool Bad(std::string_view message, std::string_view hint = {});
  bool Fail(Code code, std::string message, std::string hint = {});
  // Takes over the error of a check that names its field itself.
  bool Take(const Result<void>& check);
  // The field at hand: `jobs[2].count`.
  std::string Path() const;
  const Error& error() const { return error_; }
  // After a failure on `text`: the root's field of that name, if it is a natural number.
  std::optional<std::uint64_t> Find(std::string_view text, std::string_view name);

 private:
  static constexpr std::size_t kNoIndex = SIZE_MAX;
  struct Step {
    std::string_view name;
    std::size_t index;
  };
  struct Enter {
    Enter(JsonReader& reader, Step step) : reader_(reader) { reader.path_.push_back(step); }
    // A failure leaves the path as it is: it is part of the error.
    ~Enter() {
      if (!reader_.failed_) reader_.path_.pop_back();
    }
    JsonReader& reader_;
  };

  template <typename F>
  bool Fields(simdjson::ondemand::object& object, const FieldSet& fields, F&& on_field) {
    std::uint32_t seen = 0;
    for (auto item : object) {
      simdjson::ondemand::field field;
      std::string_view key;
      if (std::move(item).get(field) != simdjson::SUCCESS || field.unescaped_key().get(key) != simdjson::SUCCESS)
        return Broken();
      std::size_t i = 0;
      while (i < fields.names.size() && fields.names[i] != key) ++i;
      if (i == fields.names.size()) return UnknownField(key, fields);
      Enter enter(*this, Step{fields.names[i], kNoIndex});
      if ((seen >> i & 1) != 0) return Bad("is there twice");
      seen |= 1u << i;
      if (!on_field(i, field.value())) return false;
    }
    return true;
  }
  bool Walk(Value& value, std::size_t depth);
  bool AtEnd();
  bool Broken();  // not JSON, at the place where the parser is
  bool Broken(simdjson::error_code error);
  bool WrongType(simdjson::error_code error, std::string_view wanted);
  bool RootNotAnObject(const FieldSet& fields);
  bool UnknownField(std::string_view key, const FieldSet& fields);
  bool TooMany(Code code, std::size_t max);

  std::string_view text_;
  std::unique_ptr<char[]> copy_;  // text_, padded as simdjson needs it
  std::size_t capacity_ = 0;
  std::unique_ptr<simdjson::ondemand::parser> parser_;
  simdjson::ondemand::document doc_;
  std::vector<Step> path_;
  bool failed_ = false;
  Error error_;
};

// This thread's reader.
JsonReader& ThreadReader();

// JSON's grammar of a number.
bool IsJsonNumber(std::string_view text);

}  // namespace allot
