// SPDX-License-Identifier: Apache-2.0
// The language once more, for tests: as slow and as plain as can be, with trees, values and rules of its own, written
// from the reference and from nothing else. Where the two disagree, one of them is wrong.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace allot::expr::naive {

struct Val {
  enum Kind { kUndefined, kError, kBoolean, kInteger, kReal, kString, kList, kRecord };
  Kind kind = kUndefined;
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0;
  std::string text{};
  std::vector<Val> items{};          // of a list or record
  std::vector<std::string> names{};  // of a record's items

  bool IsNumeric() const { return kind == kBoolean || kind == kInteger || kind == kReal; }
};

inline Val Undefined() { return {}; }
inline Val Error() { return Val{.kind = Val::kError}; }
inline Val Bool(bool b) { return Val{.kind = Val::kBoolean, .boolean = b}; }
inline Val Int(std::int64_t i) { return Val{.kind = Val::kInteger, .integer = i}; }
inline Val Real(double r) { return std::isfinite(r) ? Val{.kind = Val::kReal, .real = r} : Error(); }
inline Val Str(std::string s) { return Val{.kind = Val::kString, .text = std::move(s)}; }
inline Val List(std::vector<Val> items) { return Val{.kind = Val::kList, .items = std::move(items)}; }
inline Val Record(std::vector<std::string> names, std::vector<Val> items) {
  return Val{.kind = Val::kRecord, .items = std::move(items), .names = std::move(names)};
}
// An integer, if it is one of 64 bits.
inline Val Wide(__int128 i) { return i < INT64_MIN || i > INT64_MAX ? Error() : Int(static_cast<std::int64_t>(i)); }

inline std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

inline bool Same(const Val& a, const Val& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Val::kUndefined:
    case Val::kError:
      return true;
    case Val::kBoolean:
      return a.boolean == b.boolean;
    case Val::kInteger:
      return a.integer == b.integer;
    case Val::kReal:
      return a.real == b.real;
    case Val::kString:
      return a.text == b.text;
    case Val::kList:
      if (a.items.size() != b.items.size()) return false;
      for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (!Same(a.items[i], b.items[i])) return false;
      }
      return true;
    case Val::kRecord: {
      if (a.items.size() != b.items.size()) return false;
      std::map<std::string, Val> mine, other;
      for (std::size_t i = 0; i < a.items.size(); ++i) mine[Lower(a.names[i])] = a.items[i];
      for (std::size_t i = 0; i < b.items.size(); ++i) other[Lower(b.names[i])] = b.items[i];
      for (const auto& [name, value] : mine) {
        if (!other.contains(name) || !Same(value, other[name])) return false;
      }
      return true;
    }
  }
  return false;
}

// As a literal of the language.
inline std::string Print(const Val& v) {
  switch (v.kind) {
    case Val::kUndefined:
      return "undefined";
    case Val::kError:
      return "error";
    case Val::kBoolean:
      return v.boolean ? "true" : "false";
    case Val::kInteger:
      return std::to_string(v.integer);
    case Val::kReal: {
      char buffer[64];
      *std::to_chars(buffer, buffer + sizeof buffer, v.real).ptr = 0;  // the shortest that reads back the same
      std::string text = buffer;
      return text.find_first_of(".e") == text.npos ? text + ".0" : text;
    }
    case Val::kString: {
      std::string text = "\"";
      for (const char c : v.text) {
        if (c == '"' || c == '\\') text += '\\';
        if (static_cast<unsigned char>(c) < 0x20) {
          char buffer[8];
          std::snprintf(buffer, sizeof buffer, "\\u%04x", c);
          text += buffer;
        } else {
          text += c;
        }
      }
      return text + "\"";
    }
    case Val::kList: {
      std::string text;
      for (const Val& item : v.items) text += (text.empty() ? "" : ", ") + Print(item);
      return "{" + text + "}";
    }
    case Val::kRecord: {
      std::string text;
      for (std::size_t i = 0; i < v.items.size(); ++i) {
        text += (text.empty() ? "" : "; ") + v.names[i] + " = " + Print(v.items[i]);
      }
      return "[" + text + "]";
    }
  }
  return "";
}

// The two ads by names in lower case, and whose expression it is.
struct World {
  std::map<std::string, Val> job, machine;
  bool my_is_job = true;
  std::int64_t time = 0;
};

struct Tree {
  enum Kind { kLiteral, kReference, kUnary, kBinary, kConditional, kCoalesce, kSelect, kIndex, kCall, kList, kRecord };
  Kind kind = kLiteral;
  Val value{};          // of a literal
  std::string scope{};  // of a reference: "", "MY", "TARGET", "JOB", "MACHINE"
  std::string text{};   // the operator, or the name of attribute, field or function
  std::vector<Tree> kids{};
  std::vector<std::string> names{};  // of a record's fields
};

Val Call(const std::string& function, const std::vector<Val>& arguments, const World& world);  // naive/functions.h

// true, false, UNDEFINED or ERROR.
inline Val AsBoolean(const Val& v) {
  switch (v.kind) {
    case Val::kUndefined:
    case Val::kBoolean:
      return v;
    case Val::kInteger:
      return Bool(v.integer != 0);
    case Val::kReal:
      return Bool(v.real != 0);
    default:
      return Error();
  }
}

// An extended double holds every 64-bit integer and every double.
inline long double Exactly(const Val& v) {
  if (v.kind == Val::kReal) return v.real;
  return v.kind == Val::kBoolean ? static_cast<long double>(v.boolean) : static_cast<long double>(v.integer);
}
static_assert(__LDBL_MANT_DIG__ >= 64);
inline __int128 Whole(const Val& v) { return v.kind == Val::kBoolean ? v.boolean : v.integer; }
inline double Rounded(const Val& v) {
  if (v.kind == Val::kReal) return v.real;
  return v.kind == Val::kBoolean ? v.boolean : static_cast<double>(v.integer);
}

inline Val Ordered(const std::string& op, bool less, bool equal) {
  if (op == "==") return Bool(equal);
  if (op == "!=") return Bool(!equal);
  if (op == "<") return Bool(less);
  if (op == "<=") return Bool(less || equal);
  if (op == ">") return Bool(!less && !equal);
  return Bool(!less);
}

inline Val Binary(const std::string& op, const Val& a, const Val& b) {
  if (op == "=?=" || op == "is") return Bool(Same(a, b));
  if (op == "=!=" || op == "isnt") return Bool(!Same(a, b));
  if (op == "&&" || op == "||") {
    Val decides = Bool(op == "||"), x = AsBoolean(a), y = AsBoolean(b);
    if (Same(x, decides)) return decides;
    if (x.kind == Val::kError) return x;
    if (Same(y, decides)) return decides;
    if (y.kind == Val::kError) return y;
    if (x.kind == Val::kUndefined || y.kind == Val::kUndefined) return Undefined();
    return Bool(!decides.boolean);
  }
  if (a.kind == Val::kError || b.kind == Val::kError) return Error();
  if (a.kind == Val::kUndefined || b.kind == Val::kUndefined) return Undefined();
  if (op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">=") {
    if (a.kind == Val::kString && b.kind == Val::kString) {
      const std::string x = Lower(a.text), y = Lower(b.text);
      return Ordered(op, x < y, x == y);  // char_traits<char> compares as unsigned
    }
    if (!a.IsNumeric() || !b.IsNumeric()) return Error();
    return Ordered(op, Exactly(a) < Exactly(b), Exactly(a) == Exactly(b));
  }
  if (op == "+" || op == "-" || op == "*" || op == "/" || op == "%") {
    if (!a.IsNumeric() || !b.IsNumeric()) return Error();
    if (a.kind == Val::kReal || b.kind == Val::kReal) {
      if (op == "+") return Real(Rounded(a) + Rounded(b));
      if (op == "-") return Real(Rounded(a) - Rounded(b));
      if (op == "*") return Real(Rounded(a) * Rounded(b));
      if (op == "/") return Rounded(b) == 0 ? Error() : Real(Rounded(a) / Rounded(b));
      return Error();
    }
    if (op == "+") return Wide(Whole(a) + Whole(b));
    if (op == "-") return Wide(Whole(a) - Whole(b));
    if (op == "*") return Wide(Whole(a) * Whole(b));
    if (Whole(b) == 0) return Error();
    return Wide(op == "/" ? Whole(a) / Whole(b) : Whole(a) % Whole(b));
  }
  if (a.kind != Val::kInteger || b.kind != Val::kInteger) return Error();
  if (op == "&") return Int(a.integer & b.integer);
  if (op == "|") return Int(a.integer | b.integer);
  if (op == "^") return Int(a.integer ^ b.integer);
  if (b.integer < 0 || b.integer > 63) return Error();
  __int128 power = 1;
  for (std::int64_t i = 0; i < b.integer; ++i) power *= 2;
  if (op == "<<") return Wide(a.integer * power);
  if (op == ">>") {  // rounds down
    __int128 quotient = a.integer / power;
    if (a.integer < 0 && quotient * power != a.integer) --quotient;
    return Wide(quotient);
  }
  __int128 bits = a.integer;  // `>>>`
  if (bits < 0) bits += static_cast<__int128>(1) << 64;
  bits /= power;
  return Int(static_cast<std::int64_t>(static_cast<std::uint64_t>(bits)));
}

inline Val Unary(const std::string& op, const Val& a) {
  if (op == "!") {
    const Val x = AsBoolean(a);
    return x.kind == Val::kBoolean ? Bool(!x.boolean) : x;
  }
  if (a.kind == Val::kError || a.kind == Val::kUndefined) return a;
  if (op == "~") return a.kind == Val::kInteger ? Int(-1 - a.integer) : Error();
  if (!a.IsNumeric()) return Error();
  if (a.kind == Val::kReal) return Real(op == "-" ? -a.real : a.real);
  return Wide(op == "-" ? -Whole(a) : Whole(a));
}

inline Val Select(const Val& base, const std::string& name) {
  if (base.kind == Val::kUndefined) return Undefined();
  if (base.kind == Val::kList) {
    std::vector<Val> selected;
    for (const Val& item : base.items) selected.push_back(Select(item, name));
    return List(selected);
  }
  if (base.kind != Val::kRecord) return Error();
  for (std::size_t i = 0; i < base.names.size(); ++i) {
    if (Lower(base.names[i]) == Lower(name)) return base.items[i];
  }
  return Undefined();
}

inline Val Index(const Val& base, const Val& index) {
  if (base.kind == Val::kError || index.kind == Val::kError) return Error();
  if (base.kind == Val::kUndefined || index.kind == Val::kUndefined) return Undefined();
  if (base.kind == Val::kRecord && index.kind == Val::kString) return Select(base, index.text);
  if (base.kind != Val::kList || index.kind != Val::kInteger) return Error();
  for (std::size_t i = 0; i < base.items.size(); ++i) {
    if (static_cast<std::int64_t>(i) == index.integer) return base.items[i];
  }
  return Error();
}

inline Val Lookup(const std::string& scope, const std::string& name, const World& world) {
  const auto in = [&](const std::map<std::string, Val>& ad) {
    const auto found = ad.find(Lower(name));
    return found == ad.end() ? Undefined() : found->second;
  };
  const auto& my = world.my_is_job ? world.job : world.machine;
  const auto& target = world.my_is_job ? world.machine : world.job;
  if (scope == "MY") return in(my);
  if (scope == "TARGET") return in(target);
  if (scope == "JOB") return in(world.job);
  if (scope == "MACHINE") return in(world.machine);
  const Val mine = in(my);
  return mine.kind == Val::kUndefined ? in(target) : mine;
}

inline Val Evaluate(const Tree& tree, const World& world) {
  std::vector<Val> kids;
  for (const Tree& kid : tree.kids) kids.push_back(Evaluate(kid, world));
  switch (tree.kind) {
    case Tree::kLiteral:
      return tree.value;
    case Tree::kReference:
      return Lookup(tree.scope, tree.text, world);
    case Tree::kUnary:
      return Unary(tree.text, kids[0]);
    case Tree::kBinary:
      return Binary(tree.text, kids[0], kids[1]);
    case Tree::kConditional: {
      Val condition = AsBoolean(kids[0]);
      if (condition.kind != Val::kBoolean) return condition;
      return condition.boolean ? kids[1] : kids[2];
    }
    case Tree::kCoalesce:
      return kids[0].kind == Val::kUndefined ? kids[1] : kids[0];
    case Tree::kSelect:
      return Select(kids[0], tree.text);
    case Tree::kIndex:
      return Index(kids[0], kids[1]);
    case Tree::kCall:
      return Call(tree.text, kids, world);
    case Tree::kList:
      return List(kids);
    case Tree::kRecord:
      return Record(tree.names, kids);
  }
  return Error();
}

// How tightly a tree holds together, from 0 for `? :`.
inline int Level(const Tree& tree) {
  switch (tree.kind) {
    case Tree::kConditional:
      return 0;
    case Tree::kBinary: {
      static const std::map<std::string, int> kLevels = {
          {"||", 1},  {"&&", 2},  {"|", 3},    {"^", 4}, {"&", 5},  {"==", 6}, {"!=", 6}, {"=?=", 6},
          {"=!=", 6}, {"is", 6},  {"isnt", 6}, {"<", 7}, {"<=", 7}, {">", 7},  {">=", 7}, {"<<", 8},
          {">>", 8},  {">>>", 8}, {"+", 9},    {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
      return kLevels.at(tree.text);
    }
    case Tree::kUnary:
      return 11;
    case Tree::kCoalesce:
      return 12;
    case Tree::kLiteral:  // a number below 0 begins with a minus
      return Print(tree.value).starts_with('-') ? 11 : 14;
    default:
      return 14;
  }
}

// Does it end in a `?:` that a further one would be drawn into?
inline bool EndsInCoalesce(const Tree& tree) {
  return tree.kind == Tree::kCoalesce || (tree.kind == Tree::kUnary && EndsInCoalesce(tree.kids[0]));
}

// As text: with brackets around every operand, or with those alone that it cannot do without.
inline std::string Print(const Tree& tree, bool all_brackets) {
  const auto part = [&](std::size_t i, int level) {
    const std::string text = Print(tree.kids[i], all_brackets);
    return all_brackets || Level(tree.kids[i]) < level ? "(" + text + ")" : text;
  };
  switch (tree.kind) {
    case Tree::kLiteral:
      return Print(tree.value);
    case Tree::kReference:
      return tree.scope.empty() ? tree.text : tree.scope + "." + tree.text;
    case Tree::kUnary:
      return tree.text + part(0, 11);
    case Tree::kBinary:
      return part(0, Level(tree)) + " " + tree.text + " " + part(1, Level(tree) + 1);
    case Tree::kConditional:
      return part(0, 1) + " ? " + part(1, 0) + " : " + part(2, 0);
    case Tree::kCoalesce:
      return part(0, 12) + " ?: " + part(1, EndsInCoalesce(tree.kids[1]) ? 99 : 11);
    case Tree::kSelect: {
      // A dot after a number would be its decimal point.
      const bool number = tree.kids[0].kind == Tree::kLiteral && tree.kids[0].value.IsNumeric();
      return part(0, number ? 99 : 13) + "." + tree.text;
    }
    case Tree::kIndex:
      return part(0, 13) + "[" + part(1, 0) + "]";
    case Tree::kCall:
    case Tree::kList: {
      std::string text;
      for (std::size_t i = 0; i < tree.kids.size(); ++i) text += (i == 0 ? "" : ", ") + part(i, 0);
      return tree.kind == Tree::kList ? "{" + text + "}" : tree.text + "(" + text + ")";
    }
    case Tree::kRecord: {
      std::string text;
      for (std::size_t i = 0; i < tree.kids.size(); ++i)
        text += (i == 0 ? "" : "; ") + tree.names[i] + " = " + part(i, 0);
      return "[" + text + "]";
    }
  }
  return "";
}

}  // namespace allot::expr::naive
