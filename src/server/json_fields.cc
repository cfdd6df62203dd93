#include "server/json_fields.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "server/request_json.h"

namespace allot {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool IsTagChar(char c) {
  return IsLetter(c) || IsDigit(c) || std::string_view("_.-/:=@+").find(c) != std::string_view::npos;
}
bool IsQueueChar(char c) { return IsLetter(c) || IsDigit(c) || c == '_' || c == '.' || c == '-'; }

// C0, DEL, and C1 as UTF-8 writes it (C2 80 … C2 9F): terminals obey all of them.
bool HasControl(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c < 0x20 || c == 0x7f) return true;
    if (c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0) return true;
  }
  return false;
}

Error BadValue(std::string_view field, std::string_view message) {
  return Error{Code::kBadValue, fmt::format("`{}` {}", field, message), ""};
}

bool MetaKey(std::string_view key) {
  return !key.empty() && !IsDigit(key[0]) &&
         std::all_of(key.begin(), key.end(), [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

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

}  // namespace

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
  out.clear();
  const bool read = reader.Map(value, [&](std::string_view key, JsonReader::Value inner) {
    if (key.size() > bounds::kMaxMetaKeyBytes || !MetaKey(key)) {
      return reader.Bad(fmt::format("is not a meta key: 1 to {} letters, digits or `_`, not beginning with a digit",
                                    bounds::kMaxMetaKeyBytes));
    }
    if (out.size() == bounds::kMaxMetaPairs) {
      return reader.Fail(Code::kBadValue, fmt::format("`meta` has more than {} pairs", bounds::kMaxMetaPairs));
    }
    out.emplace_back(std::string(key), MetaValue());
    return ReadMetaValue(reader, inner, out.back().second);
  });
  if (!read) return false;
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> lower;
  for (const auto& [key, unused] : out) {
    lower.push_back(key);
    std::transform(key.begin(), key.end(), lower.back().begin(), Lower);
  }
  std::sort(lower.begin(), lower.end());
  const auto twice = std::adjacent_find(lower.begin(), lower.end());
  if (twice != lower.end()) return reader.Bad(fmt::format("has the key `{}` twice (case does not count)", *twice));
  return true;
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
