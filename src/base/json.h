// SPDX-License-Identifier: Apache-2.0
// Writing JSON by appending to a string. Reading is simdjson's business.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace allot {

// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD, so that the result is always valid.
void AppendJsonString(std::string_view text, std::string& out);
std::string JsonString(std::string_view text);
bool IsUtf8(std::string_view text);
// A double as the shortest text that reads back the same, always with a point or exponent; null if not finite.
void AppendJsonReal(double value, std::string& out);

// To three digits behind the point: more would make looks at a rate differ for nothing.
constexpr double Thousandths(double value) {
  return static_cast<double>(static_cast<std::int64_t>(value * 1000 + 0.5)) / 1000;
}

// Puts commas where they belong. Misuse (a value without a key in an object, unbalanced ends) gives wrong text, not a
// crash.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  // A key that needs no escaping.
  JsonWriter& Key(std::string_view key) {
    // In one piece: keys are most of what is written.
    char piece[kShortKey + 4];
    if (key.size() > kShortKey) return OpenKey(key);
    char* end = piece;
    if (!fresh_) *end++ = ',';
    *end++ = '"';
    std::memcpy(end, key.data(), key.size());
    end += key.size();
    *end++ = '"';
    *end++ = ':';
    out_.append(piece, static_cast<std::size_t>(end - piece));
    fresh_ = true;
    return *this;
  }
  // A key from outside.
  JsonWriter& OpenKey(std::string_view key) {
    Comma();
    AppendJsonString(key, out_);
    out_.push_back(':');
    fresh_ = true;
    return *this;
  }
  JsonWriter& String(std::string_view value) {
    Comma();
    AppendJsonString(value, out_);
    return *this;
  }
  JsonWriter& Int(std::int64_t value);
  JsonWriter& Uint(std::uint64_t value);
  // A number as a string: ids.
  JsonWriter& Id(std::uint64_t value);
  JsonWriter& Real(double value) {
    Comma();
    AppendJsonReal(value, out_);
    return *this;
  }
  JsonWriter& Bool(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }
  // JSON text that is known to be valid.
  JsonWriter& Raw(std::string_view json) {
    Comma();
    out_.append(json);
    return *this;
  }
  std::string& out() { return out_; }

 private:
  static constexpr std::size_t kShortKey = 60;

  void Comma() {
    if (!fresh_) out_.push_back(',');
    fresh_ = false;
  }
  JsonWriter& Open(char c) {
    Comma();
    out_.push_back(c);
    fresh_ = true;
    return *this;
  }
  JsonWriter& Close(char c) {
    out_.push_back(c);
    fresh_ = false;
    return *this;
  }
  std::string& out_;
  bool fresh_ = true;
};

}  // namespace allot
