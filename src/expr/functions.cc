// SPDX-License-Identifier: Apache-2.0
#include "expr/functions.h"

#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bounds.h"
#include "expr/function_support.h"
#include "expr/operators.h"

namespace allot::expr {
namespace {

struct Table {
  std::vector<Function> all;
  std::unordered_map<std::string, const Function*> by_name;  // in lower case

  Table() {
    const std::span<const Function> themes[] = {TypeFunctions(),   NumberFunctions(),  ListFunctions(),
                                                StringFunctions(), PatternFunctions(), StringListFunctions(),
                                                VersionFunctions()};
    for (const auto& theme : themes) all.insert(all.end(), theme.begin(), theme.end());
    for (const Function& function : all) by_name.emplace(LowerText(function.name), &function);
  }
  static std::string LowerText(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) c = LowerCase(c);
    return lower;
  }
};

const Table& TheTable() {
  static const Table table;
  return table;
}

// How long a value is when it prints, or somewhat less than that is long; false once a bound is reached. Values may
// hold the same list many times over: what prints is looked at before anything is allocated for it.
bool MeasurePrinted(CallContext& context, const Value& value, std::size_t& bytes) {
  constexpr std::size_t kScalar = 24;  // the longest number
  if (!context.Charge(8) || bytes > bounds::kMaxEvaluationBytes) return false;
  switch (value.type()) {
    case Type::kString:
      bytes += value.string().size() + 2;
      return ChargeBytes(context, value.string().size()) && bytes <= bounds::kMaxEvaluationBytes;
    case Type::kList:
      for (const Value& item : value.list()) {
        if (!MeasurePrinted(context, item, bytes)) return false;
      }
      return true;
    case Type::kRecord:
      for (const Field& field : value.record()) {
        bytes += field.name.size() + 3;
        if (!MeasurePrinted(context, field.value, bytes)) return false;
      }
      return true;
    default:
      bytes += kScalar;
      return true;
  }
}

}  // namespace

const Function* FindFunction(std::string_view name) {
  const auto& by_name = TheTable().by_name;
  const auto found = by_name.find(Table::LowerText(name));
  return found == by_name.end() ? nullptr : found->second;
}

std::span<const Function> Functions() { return TheTable().all; }

std::optional<std::string_view> AsText(CallContext& context, const Value& value) {
  if (value.is(Type::kString)) return value.string();
  std::size_t bytes = 0;
  if (!MeasurePrinted(context, value, bytes)) {
    TooLarge(context);
    return std::nullopt;
  }
  bool ok = true;
  const std::string_view text = context.arena.Copy(Print(value), ok);
  if (!ok) return std::nullopt;
  return text;
}

Value NewString(CallContext& context, std::string_view text) {
  bool ok = ChargeCopy(context, text.size());
  const std::string_view copy = ok ? context.arena.Copy(text, ok) : std::string_view();
  return ok ? Value::String(copy) : Value::Error();
}

std::optional<Separators> Separators::From(std::string_view characters) {
  Separators separators;
  for (const char c : characters) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 128) return std::nullopt;
    separators.bits_[byte / 64] |= std::uint64_t{1} << (byte % 64);
  }
  return separators;
}

std::string_view Separators::Next(std::string_view& text) const {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  std::size_t begin = 0;
  while (begin < text.size() && (Has(text[begin]) || is_space(text[begin]))) ++begin;
  std::size_t end = begin;
  while (end < text.size() && !Has(text[end])) ++end;
  std::string_view piece = text.substr(begin, end - begin);
  text.remove_prefix(end);
  while (!piece.empty() && is_space(piece.back())) piece.remove_suffix(1);
  return piece;
}

}  // namespace allot::expr
