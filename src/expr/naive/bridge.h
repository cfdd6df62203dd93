// SPDX-License-Identifier: Apache-2.0
// Between the naive evaluator and the real one, for tests: values, ads, and random trees.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/rng.h"
#include "expr/arena.h"
#include "expr/expr.h"
#include "expr/naive/evaluator.h"
#include "expr/naive/functions.h"

namespace allot::expr::naive {

inline Val FromValue(const Value& value) {
  switch (value.type()) {
    case Type::kUndefined:
      return Undefined();
    case Type::kError:
      return Error();
    case Type::kBoolean:
      return Bool(value.boolean());
    case Type::kInteger:
      return Int(value.integer());
    case Type::kReal:
      return Val{.kind = Val::kReal, .real = value.real()};
    case Type::kString:
      return Str(std::string(value.string()));
    case Type::kList: {
      std::vector<Val> items;
      for (const Value& item : value.list()) items.push_back(FromValue(item));
      return List(items);
    }
    case Type::kRecord: {
      std::vector<std::string> names;
      std::vector<Val> items;
      for (const Field& field : value.record()) {
        names.emplace_back(field.name);
        items.push_back(FromValue(field.value));
      }
      return Record(names, items);
    }
  }
  return Error();
}

inline Value ToValue(const Val& v, Arena& arena) {
  bool ok = true;
  switch (v.kind) {
    case Val::kUndefined:
      return Value::Undefined();
    case Val::kError:
      return Value::Error();
    case Val::kBoolean:
      return Value::Boolean(v.boolean);
    case Val::kInteger:
      return Value::Integer(v.integer);
    case Val::kReal:
      return Value::Real(v.real);
    case Val::kString:
      return Value::String(arena.Copy(v.text, ok));
    case Val::kList: {
      const auto items = arena.Values(v.items.size());
      for (std::size_t i = 0; i < items.size(); ++i) items[i] = ToValue(v.items[i], arena);
      return Value::List(items);
    }
    case Val::kRecord: {
      auto* fields = static_cast<Field*>(arena.Allocate(v.items.size() * sizeof(Field)));
      for (std::size_t i = 0; i < v.items.size(); ++i) {
        new (&fields[i]) Field{arena.Copy(v.names[i], ok), ToValue(v.items[i], arena)};
      }
      return Value::Record({fields, v.items.size()});
    }
  }
  return Value::Error();
}

// `Same()`, and zeros have the same sign.
inline bool SameToTheBit(const Val& a, const Val& b) {
  if (a.kind == Val::kReal && b.kind == Val::kReal)
    return std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
  return Same(a, b);
}

inline Ad ToAd(const std::map<std::string, Val>& attributes) {
  Arena arena;
  Ad ad;
  for (const auto& [name, value] : attributes) ad.Set(name, ToValue(value, arena));
  return ad;
}

// Values that like to go wrong.
inline Val RandomScalar(Rng& rng) {
  static const std::vector<Val> kValues = {Undefined(),
                                           Error(),
                                           Bool(false),
                                           Bool(true),
                                           Int(0),
                                           Int(1),
                                           Int(-1),
                                           Int(2),
                                           Int(3),
                                           Int(7),
                                           Int(63),
                                           Int(64),
                                           Int(1000),
                                           Int(INT64_MAX),
                                           Int(INT64_MAX - 1),
                                           Int(INT64_MIN),
                                           Int(INT64_MIN + 1),
                                           Int(9007199254740993),
                                           Real(0.0),
                                           Real(-0.0),
                                           Real(1.0),
                                           Real(-1.0),
                                           Real(0.5),
                                           Real(-2.5),
                                           Real(2.5),
                                           Real(1e308),
                                           Real(-1e308),
                                           Real(5e-324),
                                           Real(9223372036854775808.0),
                                           Real(-9223372036854775808.0),
                                           Real(9007199254740992.0),
                                           Real(1e18),
                                           Str(""),
                                           Str("a"),
                                           Str("A"),
                                           Str("b"),
                                           Str("abc"),
                                           Str("aBc, d"),
                                           Str("12"),
                                           Str("-7.5e1"),
                                           Str("0x1f"),
                                           Str("1.10"),
                                           Str("1.9"),
                                           Str("true"),
                                           Str("node12"),
                                           Str("\xC3\xA9t\xC3\xA9"),
                                           Str("\"q\\\""),
                                           Str("<"),
                                           Str("=?="),
                                           Str("i")};
  return kValues[rng.Below(kValues.size())];
}

// `error`: may there be ERROR in it? Not in an ad.
inline Val RandomValue(Rng& rng, bool error, int depth = 2) {
  const auto choice = rng.Below(8);
  if (depth > 0 && choice == 0) {
    std::vector<Val> items;
    const Val like = RandomScalar(rng);
    const bool alike = rng.Below(2) == 0;
    for (auto n = rng.Below(4); n > 0; --n) {
      Val item = RandomValue(rng, error, depth - 1);
      if (!alike || item.kind == like.kind) items.push_back(item);
    }
    return List(items);
  }
  if (depth > 0 && choice == 1) {
    std::vector<std::string> names;
    std::vector<Val> items;
    for (const char* name : {"x", "Y", "z"}) {
      if (rng.Below(2) == 0) continue;
      names.emplace_back(name);
      items.push_back(RandomValue(rng, error, depth - 1));
    }
    return Record(names, items);
  }
  const Val value = RandomScalar(rng);
  return value.kind == Val::kError && !error ? Int(static_cast<std::int64_t>(rng.Below(10))) : value;
}

inline const char* const kAttributes[] = {"a", "B", "cpus", "Memory", "name", "x", "list", "rec"};

inline std::map<std::string, Val> RandomAd(Rng& rng) {
  std::map<std::string, Val> ad;
  for (const char* name : kAttributes) {
    if (rng.Below(3) == 0) continue;
    const Val value = RandomValue(rng, false);
    if (value.kind != Val::kUndefined) ad[Lower(name)] = value;
  }
  return ad;
}

inline const char* const kBinaryOperators[] = {
    "||", "&&", "|",  "^",  "&",  "==",  "!=", "=?=", "=!=", "is", "isnt", "<",
    "<=", ">",  ">=", "<<", ">>", ">>>", "+",  "-",   "*",   "/",  "%"};

class RandomTrees {
 public:
  explicit RandomTrees(Rng& rng) : rng_(rng) {}

  Tree Make(int depth) {
    const auto choice = rng_.Below(16);
    if (depth <= 0 || choice < 3) return Leaf();
    if (choice < 9) {
      // The logical ones and comparisons are what is written most.
      const auto op = rng_.Below(2) == 0 ? rng_.Below(2) : rng_.Below(std::size(kBinaryOperators));
      return Tree{.kind = Tree::kBinary, .text = kBinaryOperators[op], .kids = {Make(depth - 1), Make(depth - 1)}};
    }
    switch (choice) {
      case 9: {
        static const char* const kUnary[] = {"-", "+", "~", "!"};
        return Tree{.kind = Tree::kUnary, .text = kUnary[rng_.Below(4)], .kids = {Make(depth - 1)}};
      }
      case 10:
        return Tree{.kind = Tree::kConditional, .kids = {Make(depth - 1), Make(depth - 1), Make(depth - 1)}};
      case 11:
        return Tree{.kind = Tree::kCoalesce, .kids = {Make(depth - 1), Make(depth - 1)}};
      case 12:
        if (rng_.Below(2) == 0) return Tree{.kind = Tree::kSelect, .text = Name(), .kids = {Make(depth - 1)}};
        return Tree{.kind = Tree::kIndex, .kids = {Make(depth - 1), Make(depth - 1)}};
      case 13: {
        Tree list{.kind = Tree::kList};
        for (auto n = rng_.Below(4); n > 0; --n) list.kids.push_back(Make(depth - 1));
        return list;
      }
      case 14: {
        Tree record{.kind = Tree::kRecord};
        for (const char* name : {"x", "Y", "z"}) {
          if (rng_.Below(2) == 0) continue;
          record.names.emplace_back(name);
          record.kids.push_back(Make(depth - 1));
        }
        return record;
      }
      default:
        return Call(depth);
    }
  }

  Tree Call(int depth) {
    struct Signature {
      const char* name;
      std::size_t least, most;
    };
    static const Signature kFunctions[] = {{"isUndefined", 1, 1},
                                           {"isError", 1, 1},
                                           {"isString", 1, 1},
                                           {"isInteger", 1, 1},
                                           {"isReal", 1, 1},
                                           {"isBoolean", 1, 1},
                                           {"isList", 1, 1},
                                           {"isClassAd", 1, 1},
                                           {"int", 1, 1},
                                           {"real", 1, 1},
                                           {"bool", 1, 1},
                                           {"string", 1, 1},
                                           {"ifThenElse", 3, 3},
                                           {"time", 0, 0},
                                           {"floor", 1, 1},
                                           {"ceiling", 1, 1},
                                           {"ceil", 1, 1},
                                           {"round", 1, 1},
                                           {"pow", 2, 2},
                                           {"quantize", 2, 2},
                                           {"min", 1, 1},
                                           {"max", 1, 1},
                                           {"sum", 1, 1},
                                           {"avg", 1, 1},
                                           {"size", 1, 1},
                                           {"member", 2, 2},
                                           {"identicalMember", 2, 2},
                                           {"anyCompare", 3, 3},
                                           {"allCompare", 3, 3},
                                           {"strcat", 1, 6},
                                           {"join", 1, 6},
                                           {"substr", 2, 3},
                                           {"strcmp", 2, 2},
                                           {"stricmp", 2, 2},
                                           {"toUpper", 1, 1},
                                           {"toLower", 1, 1},
                                           {"split", 1, 2},
                                           {"splitUserName", 1, 1},
                                           {"splitSlotName", 1, 1},
                                           {"regexp", 2, 3},
                                           {"regexps", 3, 4},
                                           {"regexpMember", 2, 3},
                                           {"replace", 3, 4},
                                           {"replaceAll", 3, 4},
                                           {"stringList_regexpMember", 2, 4},
                                           {"stringListMember", 2, 3},
                                           {"stringListIMember", 2, 3},
                                           {"stringListSubsetMatch", 2, 3},
                                           {"stringListISubsetMatch", 2, 3},
                                           {"stringListsIntersect", 2, 3},
                                           {"stringListSize", 1, 2},
                                           {"stringListSum", 1, 2},
                                           {"stringListAvg", 1, 2},
                                           {"stringListMin", 1, 2},
                                           {"stringListMax", 1, 2},
                                           {"versioncmp", 2, 2},
                                           {"versionEQ", 2, 2},
                                           {"versionLT", 2, 2},
                                           {"versionLE", 2, 2},
                                           {"versionGT", 2, 2},
                                           {"versionGE", 2, 2},
                                           {"versionInRange", 3, 3},
                                           {"version_in_range", 3, 3}};
    const Signature& signature = kFunctions[rng_.Below(std::size(kFunctions))];
    Tree call{.kind = Tree::kCall, .text = signature.name};
    auto count = signature.least + rng_.Below(signature.most - signature.least + 1);
    const bool pattern = call.text.find("regexp") != std::string::npos || call.text.starts_with("replace");
    const std::size_t options_at = call.text == "regexp" || call.text == "regexpMember" ? 2 : 3;
    while (call.kids.size() < count) {
      const std::size_t i = call.kids.size();
      if (pattern && i == 0) {
        call.kids.push_back(Text({"a", "^[a-c]+", "(b|c)(d)?", "[0-9]+$", "x*", "N(o)de", ""}));
      } else if (pattern && i == options_at) {
        call.kids.push_back(Text({"", "i", "F", "if", "g", "fG"}));
      } else if (pattern && i == 2 && !call.text.starts_with("stringList")) {
        call.kids.push_back(Text({"", "z", "<\\0>", "\\\\", "\\1", "\\2-\\1"}));
      } else if (call.text.ends_with("Compare") && i == 0) {
        call.kids.push_back(Text({"<", "<=", ">", ">=", "==", "!=", "is", "isnt", "=?=", "=!=", "?"}));
      } else {
        call.kids.push_back(rng_.Below(3) == 0 ? ListOrText() : Make(depth - 1));
      }
    }
    return call;
  }

 private:
  Tree Leaf() {
    if (rng_.Below(2) == 0) return Tree{.kind = Tree::kLiteral, .value = RandomScalar(rng_)};
    static const char* const kScopes[] = {"", "MY", "TARGET", "JOB", "MACHINE"};
    return Tree{.kind = Tree::kReference, .scope = kScopes[rng_.Below(5)], .text = Name()};
  }
  std::string Name() { return kAttributes[rng_.Below(std::size(kAttributes))]; }
  Tree Text(std::vector<std::string> choices) {
    return Tree{.kind = Tree::kLiteral, .value = Str(choices[rng_.Below(choices.size())])};
  }
  // What most functions want.
  Tree ListOrText() {
    if (rng_.Below(2) == 0) {
      return Text({"abc", "a b,c", "b", "c,, a", "", "Node12", "node7", "1.2.10", "1.2.9-x", "ab\xC3\xA9", "3.9", "-2",
                   "4, 2.5\t,3", "9007199254740993", ",", "ann@b@c"});
    }
    Tree list{.kind = Tree::kList};
    const Val like = RandomScalar(rng_);
    for (int i = 0; i < 4; ++i) {
      const Val item = RandomScalar(rng_);
      if (item.kind == like.kind || rng_.Below(12) == 0) list.kids.push_back({.kind = Tree::kLiteral, .value = item});
    }
    return list;
  }

  Rng& rng_;
};

}  // namespace allot::expr::naive
