// SPDX-License-Identifier: Apache-2.0
// Walking JSON with simdjson's on-demand parser: one pass, fields in whatever order they come.
//
// The walkers throw simdjson's exceptions; Document() turns them into an Error, so that none leaves this folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "allotter/result.h"

namespace allotter::json_in {

using Value = simdjson::ondemand::value;

inline std::string Text(Value value) { return std::string(std::string_view(value.get_string())); }

// The value's own text. The value can be read again afterwards.
inline std::string Raw(Value& value) {
  const simdjson::ondemand::json_type type = value.type();
  if (type == simdjson::ondemand::json_type::object) {
    simdjson::ondemand::object object = value.get_object();
    std::string out{std::string_view(object.raw_json())};
    object.reset();
    return out;
  }
  if (type == simdjson::ondemand::json_type::array) {
    simdjson::ondemand::array array = value.get_array();
    return std::string(std::string_view(array.raw_json()));
  }
  std::string_view token = value.raw_json_token();
  while (!token.empty() &&
         (token.back() == ' ' || token.back() == '\n' || token.back() == '\r' || token.back() == '\t')) {
    token.remove_suffix(1);
  }
  return std::string(token);
}

// f(key, value) for every field of an object.
template <typename F>
void EachField(Value value, F f) {
  simdjson::ondemand::object object = value.get_object();
  for (auto field : object) {
    const std::string_view key = field.unescaped_key();
    f(key, Value(field.value()));
  }
}

// f(value) for every item of an array.
template <typename F>
void Each(Value value, F f) {
  simdjson::ondemand::array array = value.get_array();
  for (auto item : array) f(Value(item.value()));
}

// Values of basic types; all others are in fields.h. A wrong type throws, and so does null.
// The compiler would rather call those that messages are full of.
[[gnu::always_inline]] inline void Read(Value value, std::string& out) { out = std::string_view(value.get_string()); }
[[gnu::always_inline]] inline void Read(Value value, std::uint64_t& out) { out = value.get_uint64(); }
[[gnu::always_inline]] inline void Read(Value value, std::uint32_t& out) {
  out = static_cast<std::uint32_t>(std::uint64_t(value.get_uint64()));
}
[[gnu::always_inline]] inline void Read(Value value, std::int64_t& out) { out = value.get_int64(); }
inline void Read(Value value, double& out) { out = value.get_double(); }
inline void Read(Value value, bool& out) { out = value.get_bool(); }
[[gnu::always_inline]] inline void Read(Value value, std::chrono::milliseconds& out) {
  out = std::chrono::milliseconds(std::int64_t(value.get_int64()));
}
inline void Read(Value value, std::vector<std::string>& out) {
  Each(value, [&](Value item) { out.push_back(Text(item)); });
}
inline Error NotOfTheProtocol(const char* why) {
  return {Code::kInternal, std::string("the server's answer is not of the protocol: ") + why,
          "is that address Allotter's, and of this version?"};
}

inline simdjson::ondemand::parser& Parser() {
  thread_local simdjson::ondemand::parser parser;
  return parser;
}

// f(root) for the object in `text`, which has simdjson's padding behind it.
template <typename F>
Result<void> Document(simdjson::padded_string_view text, F f) {
  try {
    simdjson::ondemand::document document = Parser().iterate(text);
    Value root = document.get_value();
    f(root);
    return {};
  } catch (const simdjson::simdjson_error& error) {
    return NotOfTheProtocol(error.what());
  }
}

template <typename F>
Result<void> Document(const std::string& json, F f) {
  if (json.capacity() >= json.size() + simdjson::SIMDJSON_PADDING) {
    return Document(simdjson::padded_string_view(json.data(), json.size(), json.capacity()), f);
  }
  const simdjson::padded_string padded(json);
  return Document(simdjson::padded_string_view(padded), f);
}

// What read(root, T&) makes of the object.
template <typename T, typename F>
Result<T> DocumentAs(const std::string& json, F read) {
  T out{};
  auto parsed = Document(json, [&](Value root) { read(root, out); });
  if (!parsed) return parsed.error();
  return out;
}

}  // namespace allotter::json_in
