// SPDX-License-Identifier: Apache-2.0
#include "server/wire/json_fields.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "expr/expr.h"
#include "expr/lexer.h"
#include "match/constraints.h"

namespace allot {
namespace {

bool IsTagChar(char c) {
  return IsAsciiLetter(c) || IsAsciiDigit(c) || std::string_view("_.-/:=@+").find(c) != std::string_view::npos;
}
bool IsQueueChar(char c) { return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '_' || c == '.' || c == '-'; }

// What tells a job's meta and a worker's attributes apart.
struct MetaRules {
  std::string_view noun;
  std::size_t max_pairs;
  bool (*built_in)(std::string_view name);
};

bool ReadPairs(JsonReader& reader, JsonReader::Value& value, const MetaRules& rules, Meta& out) {
  out.clear();
  const std::string at = reader.Path();
  const bool read = reader.Map(value, [&](std::string_view key, JsonReader::Value inner) {
    if (key.size() > bounds::kMaxMetaKeyBytes || !expr::IsAttributeName(key)) {
      return reader.Bad(
          fmt::format("is not {} key: 1 to {} letters, digits or `_`", rules.noun, bounds::kMaxMetaKeyBytes));
    }
    if (rules.built_in(key)) {
      return reader.Bad(fmt::format("cannot be {} key: expressions know it as something else", rules.noun),
                        "choose another name");
    }
    if (out.size() == rules.max_pairs)
      return reader.Fail(Code::kBadValue, fmt::format("`{}` has more than {} pairs", at, rules.max_pairs));
    out.emplace_back(std::string(key), MetaValue());
    return ReadMetaValue(reader, inner, out.back().second);
  });
  if (!read) return false;
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lower;
  for (const auto& [key, unused] : out) {
    lower.push_back(key);
    std::transform(key.begin(), key.end(), lower.back().begin(), AsciiLower);
  }
  std::sort(lower.begin(), lower.end());
  const auto twice = std::adjacent_find(lower.begin(), lower.end());
  if (twice != lower.end()) return reader.Bad(fmt::format("has the key `{}` twice (case does not count)", *twice));
  return true;
}

// Fails, with the place before what a check of another room says.
bool At(JsonReader& reader, const Error& error) {
  return reader.Fail(error.code, fmt::format("`{}`: {}", reader.Path(), error.message), error.hint);
}

bool CheckDeclared(JsonReader& reader, const KeySource& keys, Properties& properties) {
  if (properties.empty()) return true;
  const PropertyKeysPtr declared = keys ? keys() : nullptr;
  const Result<void> check = CheckProperties(properties, declared == nullptr ? PropertyKeys{} : *declared);
  return check.ok() || At(reader, check.error());
}

// A map, or a constraint tag.
bool ReadAlternative(JsonReader& reader, JsonReader::Value& value, const KeySource& keys, Properties& out) {
  if (!reader.IsString(value)) return ReadProperties(reader, value, keys, out);
  std::string_view tag;
  if (!reader.Text(value, tag)) return false;
  Result<Properties> parsed = ParseConstraintTag(tag);
  if (!parsed.ok()) return At(reader, parsed.error());
  out = std::move(*parsed);
  return CheckDeclared(reader, keys, out);
}

// Not beginning or ending inside a character.
std::string_view WholeCharacters(std::string_view text) {
  const auto inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  while (!text.empty() && inside(text.front())) text.remove_prefix(1);
  while (!text.empty() && !IsUtf8(text)) text.remove_suffix(1);
  return text;
}

// For those who have no picture with a caret: what stands around the place.
std::string Around(std::string_view text, std::size_t offset) {
  constexpr std::size_t kBytes = 40;
  offset = std::min(offset, text.size());
  const std::size_t from = offset > kBytes ? offset - kBytes : 0;
  const std::string_view before = WholeCharacters(text.substr(from, offset - from));
  if (!before.empty()) return fmt::format("after `{}{}`", from > 0 ? "…" : "", before);
  const std::string_view behind = WholeCharacters(text.substr(offset, kBytes));
  return behind.empty() ? "it is empty; null means none" : fmt::format("before `{}`", behind);
}

bool ReadExpr(JsonReader& reader, JsonReader::Value& value, bool number, ExprPtr& out) {
  out = nullptr;
  if (reader.IsNull(value)) return true;
  std::string_view text;
  bool integer = false;
  if (reader.IsString(value)) {
    if (!reader.Text(value, text)) return false;
  } else if (number && reader.IsNumber(value, integer)) {
    if (!reader.Raw(value, text)) return false;
  } else {
    return reader.Bad(number ? "must be an expression, as a string, or a number" : "must be an expression, as a string",
                      R"(like "TARGET.memory >= 4096")");
  }
  if (text.size() > bounds::kMaxExpressionBytes)
    return reader.Bad(fmt::format("must have at most {} bytes", FormatCount(bounds::kMaxExpressionBytes)));
  expr::Parsed parsed = expr::Expr::Parse(text);
  if (parsed.expr == nullptr) return FailInside(reader, text, parsed.error);
  out = std::move(parsed.expr);
  return true;
}

}  // namespace

Error BadValue(std::string_view field, std::string_view message) {
  return Error{Code::kBadValue, fmt::format("`{}` {}", field, message), ""};
}

Result<void> CheckQueueName(std::string_view field, std::string_view name) {
  if (name.empty() || name.size() > bounds::kMaxNameBytes || name[0] == '.' ||
      !std::all_of(name.begin(), name.end(), IsQueueChar)) {
    return BadValue(field, fmt::format("must be 1 to {} letters, digits, `_`, `.` or `-`, and not begin with `.`",
                                       bounds::kMaxNameBytes));
  }
  return {};
}

Result<void> CheckTag(std::string_view field, std::string_view tag) {
  if (tag.empty() || tag.size() > bounds::kMaxTagBytes || !std::all_of(tag.begin(), tag.end(), IsTagChar)) {
    return BadValue(field,
                    fmt::format("must be 1 to {} letters, digits, or any of `_ . - / : = @ +`", bounds::kMaxTagBytes));
  }
  return {};
}

Result<void> CheckPlainText(std::string_view field, std::string_view text, std::size_t max_bytes) {
  if (text.size() > max_bytes)
    return BadValue(field, fmt::format("must have at most {} bytes", FormatCount(max_bytes)));
  if (HasControl(text)) return BadValue(field, "must not contain control characters");
  if (!IsUtf8(text)) return BadValue(field, "must be UTF-8");
  return {};
}

bool ReadTags(JsonReader& reader, JsonReader::Value& value, bool one, std::size_t max, std::vector<std::string>& out) {
  out.clear();
  const auto add = [&](JsonReader::Value& item) {
    std::string_view tag;
    if (!reader.Text(item, tag)) return false;
    if (const auto check = CheckTag("", tag); !check.ok()) return reader.Take(CheckTag(reader.Path(), tag));
    out.emplace_back(tag);
    return true;
  };
  if (one) return add(value);
  if (!reader.Array(value, max, Code::kBadValue, [&](std::size_t, JsonReader::Value& item) { return add(item); }))
    return false;
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return true;
}

bool ReadPlainText(JsonReader& reader, JsonReader::Value& value, std::size_t max_bytes, std::string& out) {
  std::string_view text;
  if (!reader.Text(value, text)) return false;
  if (!CheckPlainText("", text, max_bytes).ok()) return reader.Take(CheckPlainText(reader.Path(), text, max_bytes));
  out.assign(text);
  return true;
}

bool ReadMeta(JsonReader& reader, JsonReader::Value& value, Meta& out) {
  return ReadPairs(reader, value, {"a meta", bounds::kMaxMetaPairs, IsBuiltInJobName}, out);
}

bool ReadAttributes(JsonReader& reader, JsonReader::Value& value, Meta& out) {
  return ReadPairs(reader, value, {"an attribute's", bounds::kMaxAttributePairs, IsBuiltInWorkerName}, out);
}

bool ReadProperties(JsonReader& reader, JsonReader::Value& value, const KeySource& keys, Properties& out) {
  out.clear();
  const std::string at = reader.Path();
  const bool read = reader.Map(value, [&](std::string_view key, JsonReader::Value inner) {
    if (out.size() == bounds::kMaxPropertyKeys)
      return reader.Fail(Code::kBadValue, fmt::format("`{}` has more than {} pairs", at, bounds::kMaxPropertyKeys));
    if (!reader.IsString(inner)) {
      std::string_view token;
      if (!reader.Raw(inner, token)) return false;
      const bool scalar = token[0] != '{' && token[0] != '[' && token != "null";
      return reader.Bad("must be a string", scalar ? fmt::format("quote it: \"{}\"", token.substr(0, 64)) : "");
    }
    std::string_view text;
    if (!reader.Text(inner, text)) return false;
    out.emplace_back(key, text);
    return true;
  });
  return read && CheckDeclared(reader, keys, out);
}

bool ReadConstraints(JsonReader& reader, JsonReader::Value& value, const KeySource& keys,
                     std::vector<Properties>& out) {
  out.clear();
  if (reader.IsNull(value)) return true;
  simdjson::ondemand::json_type type;
  if (value.type().get(type) == simdjson::SUCCESS && type == simdjson::ondemand::json_type::array) {
    if (!reader.Array(value, bounds::kMaxAlternatives, Code::kBadValue, [&](std::size_t, JsonReader::Value& item) {
          return ReadAlternative(reader, item, keys, out.emplace_back());
        }))
      return false;
  } else if (!ReadAlternative(reader, value, keys, out.emplace_back())) {
    return false;
  }
  // What is left to do is to put them into order, and that cannot fail: every key that is there is declared.
  PropertyKeys used;
  for (const Properties& alternative : out) {
    for (const auto& [key, unused] : alternative) used.push_back(key);
  }
  const Result<void> check = CheckConstraints(out, used);
  return check.ok() || At(reader, check.error());
}

bool ReadRequirements(JsonReader& reader, JsonReader::Value& value, ExprPtr& out) {
  return ReadExpr(reader, value, false, out);
}

bool ReadRank(JsonReader& reader, JsonReader::Value& value, ExprPtr& out) { return ReadExpr(reader, value, true, out); }

bool ReadMetaValue(JsonReader& reader, JsonReader::Value& value, MetaValue& out) {
  bool integer = false;
  if (reader.IsString(value)) {
    std::string_view text;
    if (!reader.Text(value, text)) return false;
    if (text.size() > bounds::kMaxMetaValueBytes) {
      return reader.Bad(fmt::format("must have at most {} bytes", FormatCount(bounds::kMaxMetaValueBytes)));
    }
    out = std::string(text);
    return true;
  }
  if (reader.IsNumber(value, integer)) {
    if (integer) {
      std::int64_t number = 0;
      if (!reader.Int(value, INT64_MIN, INT64_MAX, number)) return false;
      out = number;
      return true;
    }
    double number = 0;
    if (!reader.Real(value, -1.7976931348623157e308, 1.7976931348623157e308, number)) return false;
    out = number;
    return true;
  }
  bool flag = false;
  if (value.get_bool().get(flag) != simdjson::SUCCESS)
    return reader.Bad("must be a string, an integer, a real or a boolean");
  out = flag;
  return true;
}

bool FailInside(JsonReader& reader, std::string_view text, const expr::ParseError& error) {
  return reader.Fail(Code::kBadValue, fmt::format("`{}`: {} (at byte {})", reader.Path(), error.message, error.offset),
                     Around(text, error.offset));
}

bool ReadMillis(JsonReader& reader, JsonReader::Value& value, Duration min, Duration max, milliseconds& out) {
  std::int64_t ms = 0;
  if (!reader.Int(value, ToMillis(min), ToMillis(max), ms)) return false;
  out = milliseconds(ms);
  return true;
}

bool ReadId(JsonReader& reader, JsonReader::Value& value, std::string_view what, std::uint64_t& out) {
  std::string_view text;
  if (!reader.Text(value, text)) return false;
  const auto id = ParseId(text);
  if (!id) return reader.Bad(fmt::format("must be {}, a string of decimal digits", what));
  out = *id;
  return true;
}

bool ReadKey(JsonReader& reader, JsonReader::Value& value, std::uint64_t& out) {
  std::string_view text;
  if (!reader.Text(value, text)) return false;
  const char* const end = text.data() + text.size();
  if (text.size() != 16 || std::from_chars(text.data(), end, out, 16).ptr != end) {
    return reader.Bad("is not a worker's key", "it is in the answer to the worker's registration");
  }
  return true;
}

bool Missing(JsonReader& reader, std::string_view name) {
  const std::string path = reader.Path();
  return reader.Fail(Code::kBadValue, fmt::format("`{}{}{}` is missing", path, path.empty() ? "" : ".", name));
}

}  // namespace allot
