// SPDX-License-Identifier: Apache-2.0
#include "expr/value.h"

#include <charconv>
#include <cstring>

#include "base/json.h"
#include "expr/ad.h"

namespace allot::expr {
namespace {

void PrintString(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  const auto escape = [&](unsigned char c) {
    out.append("\\u00");
    out.push_back(kHex[c >> 4]);
    out.push_back(kHex[c & 15]);
  };
  out.push_back('"');
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '"':
        out.append("\\\"");
        break;
      case '\\':
        out.append("\\\\");
        break;
      case '\n':
        out.append("\\n");
        break;
      case '\t':
        out.append("\\t");
        break;
      case '\r':
        out.append("\\r");
        break;
      case '\b':
        out.append("\\b");
        break;
      case '\f':
        out.append("\\f");
        break;
      default:
        // C0, DEL, and C1 as UTF-8 writes it: none of these reaches a terminal as it is.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          escape(static_cast<unsigned char>(c));
        } else if (c == '\xc2' && i + 1 < text.size() && (text[i + 1] & 0xe0) == 0x80) {
          escape(static_cast<unsigned char>(text[++i]));
        } else {
          out.push_back(c);
        }
    }
  }
  out.push_back('"');
}

bool IdenticalRecords(std::span<const Field> a, std::span<const Field> b, std::int64_t& steps) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    // Mostly in the same place; names are unique, so one that is found is the one.
    if ((steps -= 2) < 0) return false;
    std::size_t at = i;
    while (!SameName(a[i].name, b[at].name)) {
      if (--steps < 0) return false;
      at = at + 1 == b.size() ? 0 : at + 1;
      if (at == i) return false;
    }
    if (!Identical(a[i].value, b[at].value, steps)) return false;
  }
  return true;
}

}  // namespace

std::string_view TypeText(Type type) {
  switch (type) {
    case Type::kUndefined:
      return "undefined";
    case Type::kError:
      return "error";
    case Type::kBoolean:
      return "boolean";
    case Type::kInteger:
      return "integer";
    case Type::kReal:
      return "real";
    case Type::kString:
      return "string";
    case Type::kList:
      return "list";
    case Type::kRecord:
      return "record";
  }
  return "error";
}

bool Identical(const Value& a, const Value& b, std::int64_t& steps) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case Type::kUndefined:
    case Type::kError:
      return true;
    case Type::kBoolean:
      return a.boolean() == b.boolean();
    case Type::kInteger:
      return a.integer() == b.integer();
    case Type::kReal:
      return a.real() == b.real();
    case Type::kString:
      if (a.string().size() != b.string().size()) return false;
      if ((steps -= static_cast<std::int64_t>(a.string().size() / 64)) < 0) return false;
      return a.string() == b.string();
    case Type::kList: {
      const auto left = a.list(), right = b.list();
      if (left.size() != right.size()) return false;
      for (std::size_t i = 0; i < left.size(); ++i) {
        if (--steps < 0 || !Identical(left[i], right[i], steps)) return false;
      }
      return true;
    }
    case Type::kRecord:
      return --steps >= 0 && IdenticalRecords(a.record(), b.record(), steps);
  }
  return false;
}

bool Identical(const Value& a, const Value& b) {
  std::int64_t steps = INT64_MAX;
  return Identical(a, b, steps);
}

void Print(const Value& value, std::string& out) {
  switch (value.type()) {
    case Type::kUndefined:
    case Type::kError:
      out.append(TypeText(value.type()));
      return;
    case Type::kBoolean:
      out.append(value.boolean() ? "true" : "false");
      return;
    case Type::kInteger: {
      char buffer[24];
      out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, value.integer()).ptr);
      return;
    }
    case Type::kReal:
      AppendJsonReal(value.real(), out);
      return;
    case Type::kString:
      PrintString(value.string(), out);
      return;
    case Type::kList: {
      out.push_back('{');
      bool first = true;
      for (const Value& item : value.list()) {
        if (!first) out.append(", ");
        first = false;
        Print(item, out);
      }
      out.push_back('}');
      return;
    }
    case Type::kRecord: {
      out.push_back('[');
      bool first = true;
      for (const Field& field : value.record()) {
        if (!first) out.append("; ");
        first = false;
        out.append(field.name);
        out.append(" = ");
        Print(field.value, out);
      }
      out.push_back(']');
      return;
    }
  }
}

std::string Print(const Value& value) {
  std::string out;
  Print(value, out);
  return out;
}

}  // namespace allot::expr
