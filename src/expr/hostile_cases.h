// SPDX-License-Identifier: Apache-2.0
// Expressions that want to cost more than they should, for hostile_test.cc and hostile_bench.cc.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/bounds.h"
#include "expr/ad.h"

namespace allot::expr::hostile {

struct Case {
  std::string name;
  std::string text;
};

inline std::string Repeat(const std::string& part, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part;
  return text;
}
// As many as fit between `begin` and `end`.
inline std::string Fill(const std::string& part, const std::string& begin = "", const std::string& end = "") {
  const std::size_t room = bounds::kMaxExpressionBytes - begin.size() - end.size();
  return begin + Repeat(part, room / part.size()) + end;
}
// The same, numbered: what is the same is not what is looked up again and again.
inline std::string FillNumbered(const std::string& before, const std::string& after, const std::string& begin = "",
                                const std::string& end = "") {
  std::string text = begin;
  for (int i = 0;; ++i) {
    const std::string next = fmt::format("{}{}{}", before, i, after);
    if (text.size() + next.size() + end.size() > bounds::kMaxExpressionBytes) return text + end;
    text += next;
  }
}
inline std::string Nested(const std::string& open, const std::string& inside, const std::string& close,
                          std::size_t times) {
  return Repeat(open, times) + inside + Repeat(close, times);
}

// What costs at parsing, whether it is an expression in the end or not.
inline std::vector<Case> ToParse() {
  const std::size_t deep = bounds::kMaxExpressionDepth - 8;
  const std::string largest_pattern = "(?i)" + Repeat("[a-f]", 20);
  return {
      {"brackets, open", Fill("(")},
      {"brackets, balanced", Nested("(", "1", ")", 8'000)},
      {"brackets, as deep as it goes", Nested("(", "1", ")", deep)},
      {"minuses", Fill("-", "", "1")},
      {"nots", Fill("!", "", "a")},
      {"lists in lists", Fill("{")},
      {"lists in lists, balanced", Nested("{", "1", "}", 8'000)},
      {"records in records", Nested("[a=", "1", "]", 4'000)},
      {"conditionals to the right", Fill("a?b:", "", "c")},
      {"conditionals in the middle", Nested("a?", "b", ":c", 4'000)},
      {"calls in calls", Nested("int(", "1", ")", 3'000)},
      {"indexes in indexes", Nested("a[", "1", "]", 5'000)},
      {"precedence ladder", Fill("1||1&&1|1^1&1==1<1<<1+1*", "", "1")},
      {"a chain of and", Fill("a&&", "", "a")},
      {"a chain of plus", Fill("1+", "", "1")},
      {"a chain of ?:", Fill("a?:", "", "a")},
      {"a chain of dots", Fill(".a", "a")},
      {"a chain of indexes", Fill("[0]", "a")},
      {"a list of numbers", Fill("1,", "{", "1}")},
      {"a list of lists", Fill("{},", "{", "{}}")},
      {"a list of names", FillNumbered("n", ",", "{", "a}")},
      {"a record of many fields", FillNumbered("f", "=1;", "[", "]")},
      {"a record of lists", FillNumbered("f", "={1};", "[", "]")},
      {"a long string", Fill("a", "\"", "\"")},
      {"a string of escapes", Fill("\\u00e9", "\"", "\"")},
      {"a string without an end", Fill("a", "\"")},
      {"many strings", FillNumbered("\"", "\",", "{", "1}")},
      {"a long name", Fill("a")},
      {"a long name of a function", Fill("a", "", "()")},
      {"a long number", Fill("1")},
      {"a long fraction", Fill("1", "1.")},
      {"a call with many arguments", Fill("1,", "strcat(", "1)")},
      {"many patterns", FillNumbered("regexp(\"p", "\",a)||", "", "a")},
      {"many large patterns", FillNumbered("regexp(\"" + largest_pattern, "\",a)||", "", "a")},
      {"many patterns of repetitions", FillNumbered("regexp(\".{20}", "\",a)||", "", "a")},
      {"many patterns that are refused", FillNumbered("a||regexp(strcat(\"\\\\pL", "\"),a)||", "", "a")},
      {"a pattern of classes", "regexp(\"" + Repeat("\\\\pL", 80) + "\", a)"},
      {"not UTF-8, at the end", Fill("\xC3\xA9", "\"", "\xC3")},
      {"spaces", Fill(" ", "", "1")},
      {"too long", std::string(1'000'000, '(')},
  };
}

// The ad that comes with ToEvaluate(): strings and lists as long as a stranger can make them.
inline Ad LargeAd() {
  Ad ad;
  ad.Set("text", Value::String(std::string(1'024, 'a')));
  ad.Set("upper", Value::String(std::string(1'023, 'A') + "B"));
  ad.Set("long", Value::String(std::string(16'384, 'a')));
  ad.Set("longer", Value::String(std::string(16'383, 'A') + "b"));
  ad.Set("pieces", Value::String(Repeat("a,", 512)));
  ad.Set("digits", Value::String(std::string(1'024, '1')));
  ad.Set("ab", Value::String(Repeat("abbaabab", 128)));
  std::vector<Value> items(1'000, Value::Integer(7));
  ad.Set("numbers", Value::List(items));
  for (Value& item : items) item = Value::String("some text of a few bytes");
  ad.Set("strings", Value::List(items));
  std::vector<Field> fields;
  std::vector<std::string> names;
  names.reserve(1'000);
  for (int i = 0; i < 1'000; ++i) names.push_back("field" + std::to_string(i));
  fields.reserve(names.size());
  for (const std::string& name : names) fields.push_back({name, Value::Integer(1)});
  ad.Set("record", Value::Record(fields));
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = Value::Real(1.0 / static_cast<double>(i + 3));
  ad.Set("reals", Value::List(items));
  for (int i = 0; i < 120; ++i) ad.Set("attribute" + std::to_string(i), Value::Integer(i));
  return ad;
}

// All of these parse.
inline std::vector<Case> ToEvaluate() {
  const auto fill = [](const std::string& part, const std::string& end = "a") {
    // Few enough nodes to be let in.
    return Repeat(part, std::min<std::size_t>(600, (bounds::kMaxExpressionBytes - 200) / part.size())) + end;
  };
  std::string doubled = "text";
  for (int i = 0; i < 9; ++i) doubled = fmt::format("strcat({0},{0})", doubled);
  return {
      {"and, to the last", Fill("true&&", "", "a").substr(0, 2'000 * 6) + "a"},
      {"plus, to the last", Repeat("1+", 4'000) + "1"},
      {"names", Repeat("a+", 4'000) + "a"},
      {"names that are not there", FillNumbered("n", "+", "", "1").substr(0, 10'000) + "+1"},
      {"names of the other side", Repeat("TARGET.numbers is ", 600) + "a"},
      {"equal strings", fill("text==text&&")},
      {"equal but for case", fill("text==upper||")},
      {"long strings that differ at the end", fill("long==longer||")},
      {"strings in order", fill("text<upper||")},
      {"identical strings", fill("long=?=long&&")},
      {"identical lists", fill("numbers=?=numbers&&")},
      {"identical records", fill("record=?=record&&")},
      {"lists of lists",
       "{" + Repeat("{numbers,numbers},", 500) + "1} =?= {" + Repeat("{numbers,numbers},", 300) + "1}"},
      {"fields", fill("record.field999+")},
      {"fields that are not there", fill("isUndefined(record.none)&&")},
      {"fields by text", fill("record[\"field999\"]+")},
      {"strcat, doubled", doubled},
      {"strcat, many", "strcat(" + Repeat("text,", 1'000) + "text)"},
      {"strcat, nested", Nested("strcat(text,", "text", ")", 100)},
      {"strcat of lists", "strcat(" + Repeat("numbers,", 1'000) + "1)"},
      {"string of lists of lists", "string({" + Repeat("{strings},", 500) + "1})"},
      {"string of reals", "string(reals)"},
      {"string of some reals", "size(string({" + Repeat("reals[7],", 700) + "1}))"},
      {"join", "join(text, numbers)"},
      {"join of joins", fill("join(\",\", strings)==text||")},
      {"toUpper", fill("toUpper(text)==\"\"||")},
      {"toUpper, long", fill("toUpper(long)==\"\"||")},
      {"split", fill("size(split(pieces))+")},
      {"split, long", fill("size(split(long,\"a\"))+")},
      {"substr", fill("size(substr(long,1,-1))+")},
      {"replaceAll of nothing", "replaceAll(\"\", text, text)"},
      {"replaceAll of one", fill("replaceAll(\"a\", text, \"bb\")==a||")},
      {"replaceAll, to the end each time", "replaceAll(\"a|a.*b\", text, \"bb\")"},
      {"regexp, the same", fill("regexp(\"^a+b$\", text)||")},
      {"regexp on short text", fill("regexp(\"^node[0-9]+$\", \"node12\")&&")},
      {"regexp, blown up states", fill("regexp(\"(a|b)*a(a|b){8}\", ab)&&")},
      {"regexp, many stars", fill("regexp(\"(.*)(.*)(.*)(.*)(.*)(.*)x\", text)||")},
      {"regexp, no two alike",
       [] {
         std::string text;
         for (int i = 0; i < 300; ++i) text += "regexp(strcat(\"a[b-f]*\"," + std::to_string(i) + "),\"aaa\")||";
         return text + "a";
       }()},
      {"regexp, invalid ones",
       [] {
         std::string text;
         for (int i = 0; i < 300; ++i) text += "isError(regexp(strcat(\"((\"," + std::to_string(i) + "),\"aaa\"))&&";
         return text + "a";
       }()},
      {"regexp, refused ones",
       [] {
         std::string text;
         for (int i = 0; i < 300; ++i)
           text += "isError(regexp(strcat(\"\\\\pL\"," + std::to_string(i) + "),\"aaa\"))&&";
         return text + "a";
       }()},
      {"regexp, as large as it gets", "regexp(strcat(\"" + Repeat("[a-f]", 50) + "\", \"$\"), text)"},
      {"regexp, as large as it gets, long text",
       "regexp(strcat(\"" + Repeat("[a-f]?", 30) + "\", \"x$\"), \"" + std::string(40, 'a') + "\")"},
      {"regexp, one, blown up states", "regexp(\"(a|b)*a(a|b){8}c\", substr(ab, 0, 130))"},
      {"replace, one, blown up states", "replace(\"(a|b)*a((a|b){8})\", substr(ab, 0, 80), \"x\")"},
      {"replaceAll, many matches", "replaceAll(\"(a)|(b)\", substr(ab, 0, 40), \"\\\\1\\\\2\")"},
      {"pow", Repeat("pow(1.1,3.3)+", 1'000) + "1"},
      {"regexps with groups", fill("size(regexps(\"(a*)(a*)(a*)\", substr(text, 0, 100), \"\\\\1\\\\2\"))+")},
      {"regexpMember", fill("regexpMember(\"few$\", strings)||")},
      {"member", fill("member(8, numbers)||")},
      {"member of strings", fill("member(\"some text of a few byteS!\", strings)||")},
      {"anyCompare", fill("anyCompare(\">\", numbers, 8)||")},
      {"sum", fill("sum(numbers)+", "1")},
      {"stringListMember", fill("stringListMember(\"b\", pieces)||")},
      {"stringListSubsetMatch", fill("!stringListSubsetMatch(pieces, pieces)||")},
      {"versioncmp", fill("versioncmp(digits, digits)+", "1")},
      {"int of long text", fill("int(digits)+", "1")},
      {"quantize", fill("quantize(8, numbers)+", "1")},
      {"a list of 4,000", "{" + Repeat("a,", 4'000) + "a}"},
      {"lists of lists of names", "{" + Repeat("{a,a,a},", 900) + "a}"},
      {"calls", Repeat("isUndefined(a)+", 1'000) + "1"},
  };
}

}  // namespace allot::expr::hostile
