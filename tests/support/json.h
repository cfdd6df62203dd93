// SPDX-License-Identifier: Apache-2.0
// Reading the server's JSON in tests: values by JSON pointer, with a default where there is none of that type.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace allot::testing {

// A view of a value inside a Document.
class Json {
 public:
  Json() = default;
  explicit Json(simdjson::dom::element element) : element_(element), there_(true) {}

  bool there() const { return there_; }
  explicit operator bool() const { return there_; }
  // `/error/code`; the empty pointer is the value itself.
  Json At(std::string_view pointer) const {
    if (!there_) return {};
    simdjson::dom::element found;
    if (element_.at_pointer(pointer).get(found) != simdjson::SUCCESS) return {};
    return Json(found);
  }
  std::string Text(std::string_view pointer = "") const {
    std::string_view text;
    const Json at = At(pointer);
    return at.there_ && at.element_.get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
  }
  std::int64_t Int(std::string_view pointer = "", std::int64_t otherwise = -1) const {
    std::int64_t number = 0;
    const Json at = At(pointer);
    return at.there_ && at.element_.get(number) == simdjson::SUCCESS ? number : otherwise;
  }
  bool Bool(std::string_view pointer = "") const {
    bool value = false;
    const Json at = At(pointer);
    return at.there_ && at.element_.get(value) == simdjson::SUCCESS && value;
  }
  bool IsNull(std::string_view pointer = "") const {
    const Json at = At(pointer);
    return at.there_ && at.element_.is_null();
  }
  std::size_t Size(std::string_view pointer = "") const {
    simdjson::dom::array array;
    const Json at = At(pointer);
    return at.there_ && at.element_.get(array) == simdjson::SUCCESS ? array.size() : 0;
  }
  // Calls `each` with every element of an array.
  template <typename Each>
  void ForEach(std::string_view pointer, const Each& each) const {
    simdjson::dom::array array;
    const Json at = At(pointer);
    if (!at.there_ || at.element_.get(array) != simdjson::SUCCESS) return;
    for (const simdjson::dom::element element : array) each(Json(element));
  }
  // The value as JSON text, without spaces.
  std::string Dump(std::string_view pointer = "") const {
    const Json at = At(pointer);
    return at.there_ ? simdjson::minify(at.element_) : std::string();
  }

 private:
  simdjson::dom::element element_;
  bool there_ = false;
};

class Document : public Json {
 public:
  explicit Document(std::string_view text) {
    simdjson::dom::element element;
    if (parser_.parse(text.data(), text.size()).get(element) == simdjson::SUCCESS) Json::operator=(Json(element));
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

 private:
  simdjson::dom::parser parser_;
};

}  // namespace allot::testing
