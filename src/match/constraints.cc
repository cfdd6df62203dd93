// SPDX-License-Identifier: Apache-2.0
#include "match/constraints.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "expr/parser.h"

namespace allot {
namespace {

constexpr std::string_view kPrefix = "c:";

// Stands in a tag as it is.
bool IsPlain(char c) { return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '_' || c == '.' || c == '-' || c == '/'; }

bool IsKey(std::string_view key) {
  return !key.empty() && key.size() <= bounds::kMaxPropertyKeyBytes && !IsAsciiDigit(key[0]) &&
         std::all_of(key.begin(), key.end(), [](char c) { return IsAsciiLetter(c) || IsAsciiDigit(c) || c == '_'; });
}

// Text from outside, as it may stand in a message.
std::string Shown(std::string_view text) {
  const std::string json = JsonString(text.substr(0, 64));
  return fmt::format("`{}{}`", json.substr(1, json.size() - 2), text.size() > 64 ? "…" : "");
}

Error Bad(std::string message, std::string hint = {}) {
  return Error{Code::kBadValue, std::move(message), std::move(hint)};
}

Error Undeclared(std::string_view key, std::span<const std::string> declared) {
  if (declared.empty()) {
    return Bad(fmt::format("{} is not a property key of this queue: it declares none", Shown(key)),
               IsKey(key) ? fmt::format("allot queue set --property-keys {}", key) : "");
  }
  std::string_view nearest;
  for (const std::string& candidate : declared) {
    if (EqualNoCase(candidate, key)) nearest = candidate;
  }
  if (nearest.empty()) {
    const std::vector<std::string_view> candidates(declared.begin(), declared.end());
    nearest = Nearest(key, candidates);
  }
  return Bad(fmt::format("{} is not a property key of this queue{}", Shown(key),
                         nearest.empty() ? std::string() : fmt::format("; did you mean `{}`?", nearest)),
             fmt::format("it declares {}", fmt::join(declared, ", ")));
}

Result<void> CheckValue(std::string_view key, std::string_view value) {
  if (value.empty()) return Bad(fmt::format("the value of {} is empty", Shown(key)), "leave the key out to mean any");
  if (value.size() > bounds::kMaxPropertyValueBytes) {
    return Bad(fmt::format("the value of {} must have at most {} bytes", Shown(key), bounds::kMaxPropertyValueBytes));
  }
  if (!IsUtf8(value)) return Bad(fmt::format("the value of {} must be UTF-8", Shown(key)));
  if (HasControl(value)) return Bad(fmt::format("the value of {} must not contain control characters", Shown(key)));
  return {};
}

bool IsOneOf(std::string_view name, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view one) { return EqualNoCase(one, name); });
}

}  // namespace

std::string ConstraintTag(const Properties& properties) {
  std::string tag(kPrefix);
  for (const auto& [key, value] : properties) {
    if (tag.size() > kPrefix.size()) tag.push_back(',');
    tag.append(key).push_back('=');
    for (const char c : value) {
      if (IsPlain(c))
        tag.push_back(c);
      else
        fmt::format_to(std::back_inserter(tag), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return tag;
}

std::vector<std::string> ConstraintTags(const Properties& properties) {
  CHECK(properties.size() <= bounds::kMaxPropertyKeys);
  std::vector<std::string> tags;
  const std::uint32_t subsets = 1u << properties.size();
  tags.reserve(subsets);
  Properties some;
  for (std::uint32_t subset = 0; subset < subsets; ++subset) {
    some.clear();
    for (std::size_t i = 0; i < properties.size(); ++i) {
      if ((subset >> i & 1) != 0) some.push_back(properties[i]);
    }
    tags.push_back(ConstraintTag(some));
  }
  std::sort(tags.begin(), tags.end());
  return tags;
}

std::vector<std::string> ConstraintTags(const std::vector<Properties>& alternatives) {
  std::vector<std::string> tags;
  tags.reserve(alternatives.size());
  for (const Properties& alternative : alternatives) tags.push_back(ConstraintTag(alternative));
  std::sort(tags.begin(), tags.end());
  tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
  return tags;
}

Result<Properties> ParseConstraintTag(std::string_view tag) {
  if (tag.substr(0, kPrefix.size()) != kPrefix)
    return Bad(fmt::format("{} is not a constraint tag: it does not begin with `c:`", Shown(tag)));
  std::string_view rest = tag.substr(kPrefix.size());
  Properties properties;
  if (rest.empty()) return properties;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    const std::string_view pair = rest.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) rest.remove_prefix(comma + 1);
    // Also the end of what a hostile text may cost.
    if (properties.size() == bounds::kMaxPropertyKeys)
      return Bad(fmt::format("a constraint tag has at most {} pairs", bounds::kMaxPropertyKeys));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return Bad(fmt::format("{} is not a key=value pair", Shown(pair)));
    const std::string_view key = pair.substr(0, equals);
    if (!IsKey(key)) return Bad(fmt::format("{} is not a property key", Shown(key)));
    std::string value;
    for (std::size_t i = equals + 1; i < pair.size(); ++i) {
      if (IsPlain(pair[i])) {
        value.push_back(pair[i]);
        continue;
      }
      const int high = pair[i] == '%' && i + 2 < pair.size() ? HexDigit(pair[i + 1]) : -1;
      const int low = high < 0 ? -1 : HexDigit(pair[i + 2]);
      if (low < 0) {
        return Bad(fmt::format("the value of {} is not percent-encoded", Shown(key)),
                   "in a tag everything but letters, digits and `_ . - /` is written as %20");
      }
      value.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
    if (const auto check = CheckValue(key, value); !check.ok()) return check.error();
    properties.emplace_back(key, std::move(value));
  }
  std::sort(properties.begin(), properties.end());
  for (std::size_t i = 1; i < properties.size(); ++i) {
    if (properties[i].first == properties[i - 1].first)
      return Bad(fmt::format("{} stands there twice", Shown(properties[i].first)));
  }
  return properties;
}

Result<void> CheckProperties(Properties& properties, std::span<const std::string> declared) {
  for (const auto& [key, value] : properties) {
    if (std::find(declared.begin(), declared.end(), key) == declared.end()) return Undeclared(key, declared);
    if (auto check = CheckValue(key, value); !check.ok()) return check;
  }
  std::sort(properties.begin(), properties.end());
  for (std::size_t i = 1; i < properties.size(); ++i) {
    if (properties[i].first == properties[i - 1].first)
      return Bad(fmt::format("{} stands there twice", Shown(properties[i].first)));
  }
  return {};
}

Result<void> CheckConstraints(std::vector<Properties>& alternatives, std::span<const std::string> declared) {
  if (alternatives.size() > bounds::kMaxAlternatives)
    return Bad(fmt::format("there are more than {} alternatives", bounds::kMaxAlternatives));
  bool any = false;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (const auto check = CheckProperties(alternatives[i], declared); !check.ok()) {
      if (alternatives.size() == 1) return check;
      return Bad(fmt::format("alternative {}: {}", i + 1, check.error().message), check.error().hint);
    }
    any = any || alternatives[i].empty();
  }
  if (any) alternatives.clear();
  std::sort(alternatives.begin(), alternatives.end());
  alternatives.erase(std::unique(alternatives.begin(), alternatives.end()), alternatives.end());
  return {};
}

Result<void> CheckPropertyKeys(std::span<const std::string> keys, std::size_t max_keys) {
  if (keys.size() > max_keys) {
    return Bad(fmt::format("{} property keys are more than the {} that this queue may declare", keys.size(), max_keys),
               fmt::format("max_property_keys may be up to {}; every further key doubles the tags of a worker",
                           bounds::kMaxPropertyKeys));
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!IsKey(keys[i])) {
      return Bad(fmt::format("{} is not a property key: 1 to {} letters, digits or `_`, not beginning with a digit",
                             Shown(keys[i]), bounds::kMaxPropertyKeyBytes));
    }
    if (IsBuiltInWorkerName(keys[i]))
      return Bad(fmt::format("{} is a name that every worker has already", Shown(keys[i])));
    if (expr::IsKeyword(keys[i]) || expr::ScopeFromText(keys[i]) != expr::Scope::kNone)
      return Bad(fmt::format("{} is a word of the language of expressions", Shown(keys[i])));
    for (std::size_t k = 0; k < i; ++k) {
      if (!EqualNoCase(keys[i], keys[k])) continue;
      return Bad(fmt::format("{} and {} are one key: case does not tell them apart", Shown(keys[k]), Shown(keys[i])));
    }
  }
  return {};
}

bool IsBuiltInJobName(std::string_view name) {
  constexpr std::string_view kNames[] = {"User", "Tags", "Priority", "Async", "Tasks"};
  return IsOneOf(name, kNames);
}

bool IsBuiltInWorkerName(std::string_view name) {
  constexpr std::string_view kNames[] = {"Name", "Tags", "Slots"};
  return IsOneOf(name, kNames);
}

}  // namespace allot
