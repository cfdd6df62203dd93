// SPDX-License-Identifier: Apache-2.0
#include "server/wire/strategy_fields.h"

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/text.h"
#include "server/wire/json_fields.h"
#include "strategy/blocks/block.h"
#include "strategy/strategy_rules.h"

namespace allot {
namespace {

using Kind = Strategy::Kind;
using Value = JsonReader::Value;

// The fields of a block with a key: `key` and `inner`, and what its traits say.
enum BlockField : std::size_t { kBlockKey, kBlockInner, kBlockMax, kBlockValue };
constexpr std::string_view kFieldNames[] = {"key", "inner", "max", "value"};

struct BlockFields {
  explicit BlockFields(Kind kind) : traits(BlockOf(kind).traits()) {
    if (traits.max != Block::Traits::Max::kNone) fields[count++] = kBlockMax;
    if (traits.value) fields[count++] = kBlockValue;
    for (std::size_t i = 0; i < count; ++i) names[i] = kFieldNames[fields[i]];
  }
  const Block::Traits& traits;
  std::array<BlockField, 4> fields{kBlockKey, kBlockInner};
  std::array<std::string_view, 4> names{};
  std::size_t count = 2;
};

class StrategyReader {
 public:
  StrategyReader(JsonReader& reader, const NamedStrategies& names) : reader_(reader), names_(names) {}

  bool Read(Value& value, std::size_t depth, StrategyPtr& out) {
    if (depth > bounds::kMaxStrategyDepth) return reader_.Bad(Colon(strategy_rules::TooDeep()));
    if (++nodes_ > bounds::kMaxStrategyNodes) return reader_.Bad(Colon(strategy_rules::TooMany()));
    if (reader_.IsString(value)) {
      std::string_view word;
      if (!reader_.Text(value, word)) return false;
      out = StrategyFromWord(word, names_);
      return out != nullptr || Refuse(NoSuchStrategy(word, names_));
    }
    const std::string at = reader_.Path();
    std::size_t fields = 0;
    const bool read = reader_.Map(value, [&](std::string_view word, Value inner) {
      if (++fields > 1)
        return reader_.Fail(Code::kBadValue, fmt::format("`{}` must have one field, the name of a block", at));
      return ReadBlock(word, inner, depth, out);
    });
    if (!read) return false;
    if (fields == 0) return reader_.Bad("must have one field, the name of a block", R"(like {"fair": {…}})");
    return true;
  }

 private:
  static std::string Colon(const std::string& why) { return "cannot be: " + why; }
  bool Refuse(const std::string& why) {
    return reader_.Fail(Code::kBadValue, fmt::format("`{}`: {}", reader_.Path(), why));
  }

  bool ReadBlock(std::string_view word, Value& value, std::size_t depth, StrategyPtr& out) {
    auto made = std::make_shared<Strategy>();
    const std::optional<Kind> kind = StrategyKindOf(word);
    made->kind = kind.value_or(Kind::kWorker);
    const bool choice = made->shape() == Strategy::Shape::kChoice;
    if (!choice && !made->keyed()) {
      const StrategyPtr known = StrategyFromWord(word, names_);
      return Refuse(known == nullptr ? NoSuchStrategy(word, names_)
                                     : fmt::format("`{}` has nothing inside: give it as a string", word));
    }
    const bool read = choice ? ReadBranches(value, depth, *made) : ReadKeyed(value, depth, *made);
    out = std::move(made);
    return read;
  }

  bool ReadBranches(Value& value, std::size_t depth, Strategy& out) {
    return reader_.Array(value, bounds::kMaxStrategyNodes, Code::kBadValue,
                         [&](std::size_t, Value& item) { return Read(item, depth + 1, out.inner.emplace_back()); });
  }

  bool ReadKeyed(Value& value, std::size_t depth, Strategy& out) {
    const BlockFields fields(out.kind);
    const FieldSet set{StrategyWord(out.kind), std::span(fields.names).first(fields.count)};
    unsigned seen = 0;
    const bool read = reader_.Object(value, set, [&](std::size_t at, Value inner) {
      const BlockField field = fields.fields[at];
      seen |= 1u << field;
      switch (field) {
        case kBlockKey: {
          std::string_view name;
          if (!reader_.Text(inner, name)) return false;
          out.key = MakeStrategyKey(name);
          const std::string why = strategy_rules::CheckKey(out.key);
          return why.empty() || Refuse(why);
        }
        case kBlockInner:
          return Read(inner, depth + 1, out.inner.emplace_back());
        case kBlockMax:
          return ReadMax(inner, out);
        default:
          return ReadMetaValue(reader_, inner, out.value);
      }
    });
    if (!read) return false;
    if ((seen >> kBlockKey & 1) == 0) return Missing(reader_, "key");
    if (fields.traits.value && (seen >> kBlockValue & 1) == 0) return Missing(reader_, "value");
    const bool must = fields.traits.max == Block::Traits::Max::kRequired;
    if (must && (seen >> kBlockMax & 1) == 0) return Missing(reader_, "max");
    return (seen >> kBlockInner & 1) != 0 || Missing(reader_, "inner");
  }

  bool ReadMax(Value& value, Strategy& out) {
    if (!BlockOf(out).traits().percent || !reader_.IsString(value)) return reader_.IntTo(value, 1, UINT32_MAX, out.max);
    std::string_view text;
    if (!reader_.Text(value, text)) return false;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, out.max);
    out.percent = true;
    if (error != std::errc() || rest + 1 != end || *rest != '%' || out.max < 1 || out.max > 100)
      return reader_.Bad(R"(must be a whole number, or a percentage from "1%" to "100%")");
    return true;
  }

  JsonReader& reader_;
  const NamedStrategies& names_;
  std::size_t nodes_ = 0;
};

bool ReadEither(JsonReader& reader, Value& value, bool policy, const NamedStrategies* names, StrategyPtr& out) {
  static const NamedStrategies kNone;
  const NamedStrategies& known = names == nullptr ? kNone : *names;
  out = nullptr;
  if (reader.IsNull(value)) return true;
  if (reader.IsString(value)) {
    std::string_view text;
    if (!reader.Text(value, text)) return false;
    ParsedStrategy parsed = ParseStrategy(text, policy, known);
    if (parsed.strategy == nullptr) return FailInside(reader, text, parsed.error);
    out = std::move(parsed.strategy);
    return true;
  }
  const std::string at = reader.Path();
  if (!StrategyReader(reader, known).Read(value, 1, out)) return false;
  if (policy) out = WithRoomForWorker(out);
  const std::string why = CheckStrategy(*out, policy);
  return why.empty() || reader.Fail(Code::kBadValue, fmt::format("`{}`: {}", at, why));
}

}  // namespace

bool ReadStrategy(JsonReader& reader, Value& value, const NamedStrategies* names, StrategyPtr& out) {
  return ReadEither(reader, value, false, names, out);
}

bool ReadPolicy(JsonReader& reader, Value& value, const NamedStrategies* names, StrategyPtr& out) {
  return ReadEither(reader, value, true, names, out);
}

bool ReadWeights(JsonReader& reader, Value& value, WeightsChange& out) {
  out = {};
  if (reader.IsNull(value)) {
    out.clear = true;
    return true;
  }
  const std::string at = reader.Path();
  return reader.Map(value, [&](std::string_view given, Value inner) {
    if (out.set.size() == bounds::kMaxWeights) {
      return reader.Fail(Code::kBadValue,
                         fmt::format("`{}` has more than {} weights", at, FormatCount(bounds::kMaxWeights)));
    }
    const Result<std::string> name = CheckWeightName(given);
    if (!name.ok())
      return reader.Fail(name.error().code, fmt::format("`{}`: {}", at, name.error().message), name.error().hint);
    if (out.set.count(*name) != 0) return reader.Bad("is there twice");
    std::uint32_t& weight = out.set[*name];  // 0: none any more
    return reader.IsNull(inner) || reader.IntTo(inner, 1, bounds::kMaxWeight, weight);
  });
}

}  // namespace allot
