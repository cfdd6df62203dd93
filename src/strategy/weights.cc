// SPDX-License-Identifier: Apache-2.0
#include "strategy/weights.h"

#include <charconv>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "strategy/strategy_rules.h"

namespace allot {

std::string WeightName(const StrategyKey& key, std::string_view value) {
  std::string name;
  name.reserve(key.name.size() + 1 + value.size());
  for (const char c : key.name) name.push_back(AsciiLower(c));
  name.push_back('.');
  name.append(value);
  return name;
}

Result<std::string> CheckWeightName(std::string_view name) {
  const auto bad = [&](std::string why) {
    return Error{Code::kBadValue, fmt::format("{} is no weight's name: {}", strategy_rules::Quoted(name), why),
                 "it is a key and one of its values, like user.acme"};
  };
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return bad("there is no `.` in it");
  const StrategyKey key = MakeStrategyKey(name.substr(0, dot));
  const std::string_view value = name.substr(dot + 1);
  if (std::string why = strategy_rules::CheckKey(key); !why.empty()) return bad(std::move(why));
  if (value.empty()) return bad("there is no value behind the `.`");
  if (value.size() > bounds::kMaxMetaValueBytes)
    return bad(fmt::format("a value has at most {} bytes", FormatCount(bounds::kMaxMetaValueBytes)));
  if (HasControl(value) || !IsUtf8(value)) return bad("it must be UTF-8 without control characters");
  return WeightName(key, value);
}

Result<std::pair<std::string, std::uint32_t>> ParseWeight(std::string_view text) {
  const std::size_t sign = text.rfind('=');
  const std::string_view number = sign == std::string_view::npos ? "" : text.substr(sign + 1);
  std::uint32_t weight = 0;
  const char* const end = number.data() + number.size();
  const auto [rest, error] = std::from_chars(number.data(), end, weight);
  if (number.empty() || error != std::errc() || rest != end || weight < 1 || weight > bounds::kMaxWeight) {
    return Error{Code::kBadValue, fmt::format("{} is no weight", strategy_rules::Quoted(text)),
                 fmt::format("like user.acme=3, with a whole number from 1 to {}", FormatCount(bounds::kMaxWeight))};
  }
  Result<std::string> name = CheckWeightName(text.substr(0, sign));
  if (!name.ok()) return name.error();
  return std::pair(std::move(*name), weight);
}

std::string PrintWeights(const Weights& weights) {
  std::string out;
  for (const auto& [name, weight] : weights) {
    if (!out.empty()) out.append(", ");
    out.append(fmt::format("{}={}", name, weight));
  }
  return out;
}

}  // namespace allot
