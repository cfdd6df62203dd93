// SPDX-License-Identifier: Apache-2.0
#include "server/wire/json_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"

namespace allot {
namespace {

using simdjson::ondemand::json_type;

// Above this, a reader gives its memory back before the next text: simdjson keeps about seven bytes for each byte of
// the largest text.
constexpr std::size_t kKeptBytes = 256 * 1024;

constexpr bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

std::string_view TrimEnd(std::string_view text) {
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}
std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  return TrimEnd(text);
}

// A key from outside, as it may stand in a message.
std::string ShownField(std::string_view key) {
  std::string shown = JsonString(key.substr(0, 64));
  shown = "`" + shown.substr(1, shown.size() - 2) + "`";
  return key.size() > 64 ? shown + "…" : shown;
}

std::string Number(std::int64_t value) {
  if (value >= 0) return FormatCount(static_cast<std::uint64_t>(value));
  return "-" + FormatCount(~static_cast<std::uint64_t>(value) + 1);
}

// Whole numbers look like those of integers.
std::string Number(double value) {
  if (value == std::trunc(value) && std::abs(value) < 9e15) return Number(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

}  // namespace

bool IsJsonNumber(std::string_view text) {
  std::size_t i = 0;
  const auto digits = [&] {
    const std::size_t from = i;
    while (i < text.size() && IsAsciiDigit(text[i])) ++i;
    return i > from;
  };
  if (i < text.size() && text[i] == '-') ++i;
  if (i < text.size() && text[i] == '0') {
    ++i;
  } else if (!digits()) {
    return false;
  }
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits()) return false;
  }
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (!digits()) return false;
  }
  return i == text.size();
}

JsonReader& ThreadReader() {
  thread_local JsonReader reader;
  return reader;
}

bool JsonReader::Begin(std::string_view text) {
  failed_ = false;
  path_.clear();
  text_ = text;
  if (capacity_ > kKeptBytes && text.size() <= kKeptBytes) {
    capacity_ = 0;
    copy_.reset();
    parser_.reset();
  }
  if (!parser_) parser_ = std::make_unique<simdjson::ondemand::parser>();
  if (capacity_ < text.size() || !copy_) {
    capacity_ = std::max<std::size_t>(text.size() + text.size() / 4, 4096);
    copy_ = std::make_unique<char[]>(capacity_ + simdjson::SIMDJSON_PADDING);
  }
  if (!text.empty()) std::memcpy(copy_.get(), text.data(), text.size());
  // Blank, because the parser peeks: a brace left over from an earlier text must not close this one.
  std::memset(copy_.get() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
  const auto error = parser_->iterate(copy_.get(), text.size(), capacity_ + simdjson::SIMDJSON_PADDING).get(doc_);
  return error == simdjson::SUCCESS || Broken(error);
}

bool JsonReader::Int(Value& value, std::int64_t min, std::int64_t max, std::int64_t& out) {
  if (value.get_int64().get(out) == simdjson::SUCCESS && out >= min && out <= max) return true;
  return Bad(fmt::format("must be an integer from {} to {}", Number(min), Number(max)));
}

bool JsonReader::Real(Value& value, double min, double max, double& out) {
  if (value.get_double().get(out) == simdjson::SUCCESS && std::isfinite(out) && out >= min && out <= max) return true;
  return Bad(fmt::format("must be a number from {} to {}", Number(min), Number(max)));
}

bool JsonReader::Bool(Value& value, bool& out) {
  return value.get_bool().get(out) == simdjson::SUCCESS || Bad("must be true or false");
}

bool JsonReader::Text(Value& value, std::string_view& out) {
  if (const auto error = value.get_string().get(out)) return WrongType(error, "a string");
  return true;
}

bool JsonReader::IsNull(Value& value) {
  bool null = false;
  return value.is_null().get(null) == simdjson::SUCCESS && null;
}

bool JsonReader::IsString(Value& value) {
  json_type type;
  return value.type().get(type) == simdjson::SUCCESS && type == json_type::string;
}

bool JsonReader::IsNumber(Value& value, bool& is_integer) {
  json_type type;
  if (value.type().get(type) != simdjson::SUCCESS || type != json_type::number) return false;
  is_integer = value.raw_json_token().find_first_of(".eE") == std::string_view::npos;
  return true;
}

bool JsonReader::Raw(Value& value, std::string_view& out) {
  std::string_view token = value.raw_json_token();
  const char* const start = token.data();
  json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return Broken();
  if (!Walk(value, path_.size())) return false;
  if (type == json_type::object || type == json_type::array) {
    // The parser now stands at the token after the value.
    const char* next = nullptr;
    if (doc_.current_location().get(next) != simdjson::SUCCESS) return Broken();
    token = std::string_view(start, static_cast<std::size_t>(next - start));
  }
  token = TrimEnd(token);
  out = text_.substr(static_cast<std::size_t>(start - copy_.get()), token.size());
  return true;
}

bool JsonReader::Walk(Value& value, std::size_t depth) {
  if (depth >= bounds::kMaxJsonDepth) {
    return Fail(Code::kBadJson,
                fmt::format("more than {} arrays and objects inside one another", bounds::kMaxJsonDepth));
  }
  json_type type;
  if (value.type().get(type) != simdjson::SUCCESS) return Broken();
  switch (type) {
    case json_type::object: {
      simdjson::ondemand::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) return Broken();
      for (auto item : object) {
        simdjson::ondemand::field field;
        std::string_view key;
        if (std::move(item).get(field) != simdjson::SUCCESS || field.unescaped_key().get(key) != simdjson::SUCCESS)
          return Broken();
        if (!Walk(field.value(), depth + 1)) return false;
      }
      return true;
    }
    case json_type::array: {
      simdjson::ondemand::array array;
      if (value.get_array().get(array) != simdjson::SUCCESS) return Broken();
      for (auto item : array) {
        Value inner;
        if (std::move(item).get(inner) != simdjson::SUCCESS) return Broken();
        if (!Walk(inner, depth + 1)) return false;
      }
      return true;
    }
    case json_type::string: {
      std::string_view text;
      return value.get_string().get(text) == simdjson::SUCCESS || Broken();
    }
    case json_type::boolean: {
      bool flag = false;
      return value.get_bool().get(flag) == simdjson::SUCCESS || Broken();
    }
    case json_type::null:
      return IsNull(value) || Broken();
    // Any size: numbers that fit no type of ours are still JSON.
    case json_type::number:
      return IsJsonNumber(TrimEnd(value.raw_json_token())) || Broken();
  }
  return Broken();
}

bool JsonReader::Whole(std::string_view text, std::string_view& out) {
  out = Trim(text);
  failed_ = false;
  path_.clear();
  text_ = text;
  if (out.empty()) return Fail(Code::kBadJson, "an empty line is not JSON");
  // On-demand treats a scalar as the whole text in a way of its own; numbers and words need no parser.
  const char first = out.front();
  if (first != '{' && first != '[' && first != '"') {
    if (out == "true" || out == "false" || out == "null" || IsJsonNumber(out)) return true;
    return Fail(Code::kBadJson, "not JSON at offset 0");
  }
  if (!Begin(out)) return false;
  if (first == '"') {
    std::string_view string;
    if (doc_.get_string().get(string) != simdjson::SUCCESS) return Broken();
  } else {
    Value value;
    if (doc_.get_value().get(value) != simdjson::SUCCESS) return Broken();
    if (!Walk(value, 0)) return false;
  }
  return AtEnd();
}

bool JsonReader::AtEnd() {
  const char* next = nullptr;
  const auto error = doc_.current_location().get(next);
  if (error == simdjson::OUT_OF_BOUNDS) return true;
  if (error != simdjson::SUCCESS) return Broken();
  return Fail(Code::kBadJson, fmt::format("something follows the JSON at offset {}", next - copy_.get()));
}

bool JsonReader::Broken() {
  const char* place = nullptr;
  if (doc_.current_location().get(place) == simdjson::SUCCESS && place >= copy_.get() &&
      place <= copy_.get() + text_.size()) {
    return Fail(Code::kBadJson, fmt::format("not JSON at about offset {}", place - copy_.get()));
  }
  return Fail(Code::kBadJson, fmt::format("not JSON at about offset {}", text_.size()));
}

bool JsonReader::Broken(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return Fail(Code::kBadJson, "there is no JSON at all");
    case simdjson::UTF8_ERROR: {
      // The longest valid beginning, up to the three bytes of a character that is only cut off.
      std::size_t low = 0, high = text_.size();
      while (low < high) {
        const std::size_t middle = low + (high - low + 1) / 2;
        bool valid = false;
        for (std::size_t cut = 0; cut < 4 && cut <= middle && !valid; ++cut)
          valid = IsUtf8(text_.substr(0, middle - cut));
        (valid ? low : high) = valid ? middle : middle - 1;
      }
      return Fail(Code::kBadJson, fmt::format("not UTF-8 at about offset {}", low > 3 ? low - 3 : 0));
    }
    case simdjson::UNCLOSED_STRING:
      return Fail(Code::kBadJson, fmt::format("not JSON: a string has no end (offset {})", text_.size()));
    case simdjson::UNESCAPED_CHARS:
      return Fail(Code::kBadJson, "not JSON: a control character inside a string");
    case simdjson::CAPACITY:
      return Fail(Code::kTooLarge, "the JSON is too long");
    default:
      return Fail(Code::kBadJson, fmt::format("not JSON: {}", simdjson::error_message(error)));
  }
}

bool JsonReader::WrongType(simdjson::error_code error, std::string_view wanted) {
  if (error == simdjson::INCORRECT_TYPE) return Bad(fmt::format("must be {}", wanted));
  return Broken();
}

bool JsonReader::RootNotAnObject(const FieldSet& fields) {
  const std::string_view text = Trim(text_);
  if (!text.empty() && text.front() == '{') {
    return Fail(Code::kBadJson,
                fmt::format("not JSON: the object does not end where the text does (offset {})", text_.size()));
  }
  std::string_view whole;
  const std::string what(fields.what);
  if (!Whole(text_, whole)) return false;
  return Fail(Code::kBadValue, fmt::format("{} must be an object", what));
}

bool JsonReader::UnknownField(std::string_view key, const FieldSet& fields) {
  const std::string_view nearest = Nearest(key, fields.names);
  std::string hint;
  if (!nearest.empty()) {
    hint = fmt::format("did you mean `{}`?", nearest);
  } else {
    for (const std::string_view name : fields.names)
      hint += (hint.empty() ? "its fields are " : ", ") + std::string(name);
  }
  const std::string at = Path();
  return Fail(
      Code::kUnknownField,
      fmt::format("{} is not a field of {}{}", ShownField(key), fields.what, at.empty() ? "" : " (in " + at + ")"),
      hint);
}

bool JsonReader::TooMany(Code code, std::size_t max) {
  return Fail(code, fmt::format("`{}` has more than {} items", Path(), FormatCount(max)));
}

std::string JsonReader::Path() const {
  std::string path;
  for (const Step& step : path_) {
    if (step.index != kNoIndex) {
      path += fmt::format("[{}]", step.index);
    } else {
      const std::string shown = ShownField(step.name);
      path += (path.empty() ? "" : ".") + shown.substr(1, shown.rfind('`') - 1);
    }
  }
  return path;
}

bool JsonReader::Bad(std::string_view message, std::string_view hint) {
  return Fail(Code::kBadValue, fmt::format("`{}` {}", Path(), message), std::string(hint));
}

bool JsonReader::Fail(Code code, std::string message, std::string hint) {
  failed_ = true;
  error_ = Error{code, std::move(message), std::move(hint)};
  return false;
}

bool JsonReader::Take(const Result<void>& check) {
  return check.ok() || Fail(check.error().code, check.error().message, check.error().hint);
}

std::optional<std::uint64_t> JsonReader::Find(std::string_view text, std::string_view name) {
  Error kept = std::move(error_);
  std::optional<std::uint64_t> found;
  std::string_view whole;
  // First the whole, so that nothing is taken from what is not JSON.
  if (Whole(text, whole) && !whole.empty() && whole.front() == '{' && Begin(text)) {
    simdjson::ondemand::object object;
    std::int64_t number = 0;
    if (doc_.get_object().get(object) == simdjson::SUCCESS &&
        object.find_field_unordered(name).get_int64().get(number) == simdjson::SUCCESS && number >= 0) {
      found = static_cast<std::uint64_t>(number);
    }
  }
  error_ = std::move(kept);
  failed_ = true;
  return found;
}

}  // namespace allot
