// SPDX-License-Identifier: Apache-2.0
// Strategies as text and as JSON, canonical both.
#include <fmt/format.h>

#include "base/json.h"
#include "strategy/blocks/block.h"
#include "strategy/strategy.h"

namespace allot {
namespace {

using Traits = Block::Traits;

// Equal keys print alike.
std::string Lower(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

void WriteValue(const MetaValue& value, JsonWriter& json) {
  if (const auto* text = std::get_if<std::string>(&value)) json.String(*text);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) json.Int(*integer);
  // -0.0 equals 0.0, so it prints as that.
  if (const auto* real = std::get_if<double>(&value)) json.Real(*real == 0 ? 0.0 : *real);
  if (const auto* flag = std::get_if<bool>(&value)) json.Bool(*flag);
}

std::string Max(const Strategy& node) { return fmt::format("{}{}", node.max, node.percent ? "%" : ""); }

void Print(const Strategy& node, std::string& out) {
  out.append(StrategyWord(node.kind));
  if (node.inner.empty()) return;
  out.push_back('(');
  const Traits& traits = BlockOf(node).traits();
  if (node.keyed()) out.append(Lower(node.key.name));
  if (traits.value) {
    out.append(" = ");
    JsonWriter json(out);
    WriteValue(node.value, json);
  }
  if (traits.max != Traits::Max::kNone) out.append(", " + Max(node));
  for (std::size_t i = 0; i < node.inner.size(); ++i) {
    if (node.keyed() || i > 0) out.append(", ");
    Print(*node.inner[i], out);
  }
  out.push_back(')');
}

void Write(const Strategy& node, JsonWriter& json) {
  if (node.inner.empty()) {
    json.String(StrategyWord(node.kind));
    return;
  }
  json.BeginObject().Key(StrategyWord(node.kind));
  if (node.shape() == Strategy::Shape::kChoice) {
    json.BeginArray();
    for (const StrategyPtr& inner : node.inner) Write(*inner, json);
    json.EndArray().EndObject();
    return;
  }
  json.BeginObject().Key("key").String(Lower(node.key.name));
  const Traits& traits = BlockOf(node).traits();
  if (traits.value) WriteValue(node.value, json.Key("value"));
  if (traits.max != Traits::Max::kNone) {
    json.Key("max");
    node.percent ? json.String(Max(node)) : json.Uint(node.max);
  }
  json.Key("inner");
  Write(*node.inner[0], json);
  json.EndObject().EndObject();
}

}  // namespace

std::string PrintStrategy(const Strategy& strategy) {
  std::string out;
  Print(strategy, out);
  return out;
}

void AppendStrategyJson(const Strategy& strategy, std::string& out) {
  JsonWriter json(out);
  Write(strategy, json);
}

}  // namespace allot
