// SPDX-License-Identifier: Apache-2.0
// A value of the expression language.
//
// A Value is a view of 16 bytes: strings, lists and records point into what they came from (an expression's constants,
// an ad, or the arena of an evaluation) and live as long as that does. Numbers and booleans stand for themselves.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace allot::expr {

enum class Type : std::uint8_t { kUndefined, kError, kBoolean, kInteger, kReal, kString, kList, kRecord };

// `undefined`, `error`, `boolean`, `integer`, `real`, `string`, `list`, `record`.
std::string_view TypeText(Type type);

struct Field;

class Value {
 public:
  constexpr Value() : type_(Type::kUndefined), size_(0), integer_(0) {}
  static constexpr Value Undefined() { return Value(); }
  static constexpr Value Error() { return Value(Type::kError, 0, 0); }
  static constexpr Value Boolean(bool value) { return Value(Type::kBoolean, 0, value ? 1 : 0); }
  static constexpr Value Integer(std::int64_t value) { return Value(Type::kInteger, 0, value); }
  static constexpr Value Real(double value) {
    Value v(Type::kReal, 0, 0);
    v.real_ = value;
    return v;
  }
  static constexpr Value String(std::string_view value) {
    Value v(Type::kString, static_cast<std::uint32_t>(value.size()), 0);
    v.text_ = value.data();
    return v;
  }
  static constexpr Value List(std::span<const Value> items) {
    Value v(Type::kList, static_cast<std::uint32_t>(items.size()), 0);
    v.items_ = items.data();
    return v;
  }
  // REQUIRES: names unique regardless of case.
  static constexpr Value Record(std::span<const Field> fields);

  constexpr Type type() const { return type_; }
  constexpr bool is(Type type) const { return type_ == type; }
  constexpr bool IsNumber() const { return type_ == Type::kInteger || type_ == Type::kReal; }
  // REQUIRES: of that type.
  constexpr bool boolean() const { return integer_ != 0; }
  constexpr std::int64_t integer() const { return integer_; }
  constexpr double real() const { return real_; }
  constexpr std::string_view string() const { return {text_, size_}; }
  constexpr std::span<const Value> list() const { return {items_, size_}; }
  std::span<const Field> record() const;

 private:
  constexpr Value(Type type, std::uint32_t size, std::int64_t integer) : type_(type), size_(size), integer_(integer) {}

  Type type_;
  std::uint32_t size_;
  union {
    std::int64_t integer_;
    double real_;
    const char* text_;
    const Value* items_;
    const Field* fields_;
  };
};
static_assert(sizeof(Value) == 16);

struct Field {
  std::string_view name;  // as written
  Value value;
};

constexpr Value Value::Record(std::span<const Field> fields) {
  Value v(Type::kRecord, static_cast<std::uint32_t>(fields.size()), 0);
  v.fields_ = fields.data();
  return v;
}
inline std::span<const Field> Value::record() const { return {fields_, size_}; }

// As `=?=`: same type and same value, case included. (There are no infinities and no NaN: what would be one is ERROR.)
bool Identical(const Value& a, const Value& b);
// The same for values from strangers: pays a step per item, field and 64 bytes that it looks at. False, with `steps`
// below 0, if they do not suffice.
bool Identical(const Value& a, const Value& b, std::int64_t& steps);
// So that it parses back to an identical value: `"a\"b"`, `1.0`, `{1, 2}`, `[a = 1]`, `undefined`.
std::string Print(const Value& value);
void Print(const Value& value, std::string& out);

}  // namespace allot::expr
