// Walking JSON with simdjson's on-demand parser: one pass, fields in whatever order they come.
//
// The walkers throw simdjson's exceptions; Document() turns them into an Error, so that none leaves this folder.
#pragma once

#include <string>
#include <string_view>

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

}  // namespace allotter::json_in
