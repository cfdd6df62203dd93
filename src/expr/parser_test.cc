// SPDX-License-Identifier: Apache-2.0
#include "expr/parser.h"

#include <gtest/gtest.h>

#include <string>

#include "base/bounds.h"
#include "base/testing/text.h"
#include "expr/expr.h"

namespace allot::expr {
namespace {

// How a text prints, or what is wrong with it and where.
std::string Outcome(std::string_view text) {
  const Parsed parsed = Expr::Parse(text);
  if (parsed.expr != nullptr) return parsed.expr->Print();
  return std::to_string(parsed.error.offset) + ": " + parsed.error.message;
}

TEST(Parser, PrintsCanonicallyAndParsesThatToTheSame) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      // Brackets where they are needed.
      {"((a))", "a"},
      {"(a + b) + c", "a + b + c"},
      {"a + (b + c)", "a + (b + c)"},
      {"(a - b) + c", "a - b + c"},
      {"a * (b + c)", "a * (b + c)"},
      {"(a * b) + c", "a * b + c"},
      {"(a && b) && c", "a && b && c"},
      {"a && (b && c)", "a && (b && c)"},
      {"a && b || c && d", "a && b || c && d"},
      {"a && (b || c)", "a && (b || c)"},
      {"(a == b) == (c == d)", "a == b == (c == d)"},
      {"a|b^c&d==e<f<<g+h*i", "a | b ^ c & d == e < f << g + h * i"},
      {"((((((((a*b)+c)<<d)<e)==f)&g)^h)|i)&&j||k", "a * b + c << d < e == f & g ^ h | i && j || k"},
      {"a is b", "a =?= b"},
      {"a ISNT b", "a =!= b"},
      {"a ? b : c ? d : e", "a ? b : c ? d : e"},
      {"(a ? b : c) ? d : e", "(a ? b : c) ? d : e"},
      {"a ? (b ? c : d) : e", "a ? b ? c : d : e"},
      {"(a || b) ? c : d", "a || b ? c : d"},
      {"a || (b ? c : d)", "a || (b ? c : d)"},
      // Minus.
      {"-5", "-5"},
      {"- 5", "-5"},
      {"-(5)", "-5"},
      {"-(-5)", "5"},
      {"--9223372036854775808", "--9223372036854775808"},
      {"-x", "-x"},
      {"- -x", "--x"},
      {"-(a + b)", "-(a + b)"},
      {"a - -5", "a - -5"},
      {"a-5", "a - 5"},
      {"!(a && b)", "!(a && b)"},
      {"!a && b", "!a && b"},
      {"!-~+a", "!-~+a"},
      {"-0x10", "-16"},
      {"-a.b", "-a.b"},
      {"(-a).b", "(-a).b"},
      {"(-5).b", "(-5).b"},
      {"(5).b", "(5).b"},
      {"( 1.5 ).b.c", "(1.5).b.c"},
      {"5[0].b", "5[0].b"},
      // `?:`.
      {"a ?: b ?: c", "a ?: b ?: c"},
      {"a ?: (b ?: c)", "a ?: (b ?: c)"},
      {"a ?: -1", "a ?: -1"},
      {"-a ?: b", "-a ?: b"},
      {"(-a) ?: b", "(-a) ?: b"},
      {"-5 ?: b", "-5 ?: b"},
      {"(-5) ?: b", "(-5) ?: b"},
      {"a ?: -b ?: c", "a ?: -b ?: c"},
      {"a ?: -(b ?: c)", "a ?: -(b ?: c)"},
      {"a ?: b.c[0]", "a ?: b.c[0]"},
      {"(a ?: b).c", "(a ?: b).c"},
      {"(a ?: b)[c]", "(a ?: b)[c]"},
      {"a ?: b * c", "a ?: b * c"},
      {"a ?: (b * c)", "a ?: (b * c)"},
      {"a ? b ?: c : d", "a ? b ?: c : d"},
      // Names, scopes, lists, records, calls.
      {"my.A + Target.b + JOB.c + machine.D + e", "MY.A + TARGET.b + JOB.c + MACHINE.D + e"},
      {"MY.error.is", "MY.error.is"},
      {"my[\"6\"] == Target [ \"07a\" ]", "MY[\"6\"] == TARGET[\"07a\"]"},
      {"MY[\"size\"]", "MY.size"},
      {"MY[\"6\"][0].b", "MY[\"6\"][0].b"},
      {"MY.my + my.Machine.job", "MY.my + MY.Machine.job"},
      {"[my = 1; job = mystery].MY", "[my = 1; job = mystery].MY"},
      {"{ }", "{}"},
      {"{1,x,{2}}", "{1, x, {2}}"},
      {"[ ]", "[]"},
      {"[a=1;]", "[a = 1]"},
      {"[a=1;B=x+1;true=2].a", "[a = 1; B = x + 1; true = 2].a"},
      {"{1,2}[0]", "{1, 2}[0]"},
      {"SIZE ( x )", "size(x)"},
      {"strCAT(a,b,1)", "strcat(a, b, 1)"},
      {"TRUE && False || UNDEFINED && Error", "true && false || undefined && error"},
      {"time()", "time()"},
      // Literals.
      {"1e3", "1000.0"},
      {"1.5E-2", "0.015"},
      {"1e-400", "0.0"},
      {"0x7fffffffffffffff", "9223372036854775807"},
      {"007", "7"},
      {"\"\\u00e9\\ud83d\\ude00\\/\\b\"", "\"é😀/\\b\""},
      {"\t a \r\n + b ", "a + b"},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(Outcome(row.text), row.want) << row.text;
    EXPECT_EQ(Outcome(row.want), row.want) << row.text;
  }
}

TEST(Parser, ErrorsSayWhereAndWhatToDo) {
  struct Row {
    const char* text;
    const char* want;
  };
  constexpr Row kRows[] = {
      {"", "0: expected an expression here"},
      {"MACHINE.Memory >= 4096 && (", "27: expected an expression here"},
      {"a +", "3: expected an expression here"},
      {"MY[6]", "3: expected the name of an attribute, in quotes, here"},
      {"MY[\"a b\"]", "3: the name of an attribute has letters, digits and `_` alone"},
      {"MY[\"\"]", "3: the name of an attribute has letters, digits and `_` alone"},
      {"MY[\"6\"", "6: expected `]` here"},
      {"a + * b", "4: expected an expression here"},
      {"is == 3", "0: expected an expression here"},
      {"(a", "2: expected `)` here"},
      {"a)", "1: expected an operator or the end here"},
      {"a b", "2: expected an operator or the end here"},
      {"a and b", "2: for and, write `&&`"},
      {"a OR b", "2: for or, write `||`"},
      {"a = 3", "2: to compare, write `==`"},
      {"a ? b", "5: expected `:` here, as in `condition ? value : otherwise`"},
      {"{1 2}", "3: expected `,` or `}` here"},
      {"{1,}", "3: expected an expression here"},
      {"[1]", "1: expected the name of a field, or `]` here"},
      {"[a]", "2: expected `=` and a value here"},
      {"[a = 1, b = 2]", "6: expected `;` or `]` here"},
      {"[a = 1; A = 2]", "8: there is a field `A` already"},
      {"a[1", "3: expected `]` here"},
      {"a.1", "2: expected a name after the dot"},
      {"MY.", "3: expected the name of an attribute here"},
      {"MY", "0: `MY` needs a name: MY.name"},
      {"1 + target > 2", "4: `TARGET` needs a name: TARGET.name"},
      {"Machine == \"a\"", "0: `MACHINE` needs a name: MACHINE.name"},
      {"(Job).x", "1: `JOB` needs a name: JOB.name"},
      {"my[a]", "3: expected the name of an attribute, in quotes, here"},
      {"1.e5", "1: a digit must follow the point of a number"},
      {"a + 5.b", "5: a digit must follow the point of a number"},
      {"5 .b", "2: a digit must follow the point of a number"},
      {"-5.", "2: a digit must follow the point of a number"},
      {"1.5.b", "3: expected an operator between the number and what follows"},
      {"1.2.3", "3: expected an operator between the number and what follows"},
      {"size(a", "6: expected `,` or `)` here"},
      {"regex(\"a\", b)", "0: unknown function `regex`; did you mean `regexp`?"},
      {"1 + TOUPER(x)", "4: unknown function `TOUPER`; did you mean `toUpper`?"},
      {"frobnicate(1)", "0: unknown function `frobnicate`"},
      {"size()", "0: `size` takes 1 argument, not 0"},
      {"substr(a)", "0: `substr` takes 2 to 3 arguments, not 1"},
      {"a && regexp(\"(\", b)", "12: invalid regular expression: missing ): ("},
      {"9223372036854775808", "0: this number does not fit into 64 bits"},
      {"-9223372036854775809", "1: this number does not fit into 64 bits"},
      {"-9223372036854775808 ?: 1", "1: this number does not fit into 64 bits"},
      {"0x10000000000000000", "0: this number does not fit into 64 bits"},
      {"0x", "0: expected hexadecimal digits after 0x"},
      {"1e400", "0: this number is too large"},
      {"12abc", "2: expected an operator between the number and what follows"},
      {"'a'", "0: a text is written in double quotes"},
      {"a # b", "2: this character has no meaning here"},
      {"a == \"b", "5: expected a \" at the end of this text"},
      {"\"a\\", "2: expected a character after the backslash"},
      {"\"a\\q\"", "2: there is no such escape; a backslash is written as \\\\"},
      {"\"\\u12g4\"", "1: expected four hexadecimal digits after \\u"},
      {"\"\\u0000\"", "1: a text cannot have \\u0000"},
      {"\"\\ud83d\"", "1: this is half of a character: a pair of \\u is needed"},
      {"\"a\nb\"", "2: a control character in a text is written as an escape, such as \\n or \\t"},
      {"a == \"\xff\"", "6: this byte is not UTF-8"},
      {"é\xc3", "2: this byte is not UTF-8"},
  };
  for (const Row& row : kRows) EXPECT_EQ(Outcome(row.text), row.want) << row.text;
}

TEST(Parser, ChainsAreAsLongAsTheyLike) {
  const auto parses = [](const std::string& text) { return Expr::Parse(text).expr != nullptr; };
  EXPECT_TRUE(parses("a == 1" + testing::Repeated(" && a == 1", 500)));
  EXPECT_TRUE(parses("a" + testing::Repeated(" || b", 2000)));
  EXPECT_TRUE(parses("1" + testing::Repeated(" + 1", 2000)));
  EXPECT_TRUE(parses("1" + testing::Repeated(" - x * 2", 1000)));
  const Parsed clauses = Expr::Parse("a == 1" + testing::Repeated(" && a == 1", 499));
  EXPECT_EQ(clauses.expr->Clauses().size(), 500u);
}

TEST(Parser, WhatIsInsideOneAnotherIsBounded) {
  constexpr std::size_t kDepth = bounds::kMaxExpressionDepth;
  struct Shape {
    const char* open;
    const char* close;
  };
  constexpr Shape kShapes[] = {{"(", ")"},   {"{", "}"},   {"[a=", "]"},   {"size(", ")"},
                               {"!", ""},    {"-", ""},    {"x[", "]"},    {"a?b:", ""},
                               {"a?", ":b"}, {"1+(", ")"}, {"a?:-(", ")"}, {"a&&(b||(", "))"}};
  for (const Shape& shape : kShapes) {
    const auto nested = [&](std::size_t count) {
      return testing::Repeated(shape.open, count) + "x" + testing::Repeated(shape.close, count);
    };
    EXPECT_NE(Expr::Parse(nested(kDepth / 4)).expr, nullptr) << shape.open;
    for (const std::size_t count : {kDepth + 2, 2000 / std::string_view(shape.open).size()}) {
      const Parsed parsed = Expr::Parse(nested(count));
      ASSERT_EQ(parsed.expr, nullptr) << shape.open << count;
      EXPECT_EQ(parsed.error.message, "more than 128 levels inside one another: make it flatter") << shape.open;
    }
  }
  EXPECT_NE(Expr::Parse(testing::Repeated("(", kDepth) + "x" + testing::Repeated(")", kDepth)).expr, nullptr);
  // Selections stand inside one another as well.
  EXPECT_EQ(Expr::Parse("a" + testing::Repeated(".b", kDepth)).expr, nullptr);
}

TEST(Parser, LengthAndPartsAreBounded) {
  EXPECT_EQ(Outcome(std::string(bounds::kMaxExpressionBytes, ' ') + "1"),
            "16384: longer than 16384 bytes: make it shorter");
  EXPECT_NE(Expr::Parse(std::string(bounds::kMaxExpressionBytes - 1, ' ') + "1").expr, nullptr);
  const Parsed many = Expr::Parse("{1" + testing::Repeated(",1", 5000) + "}");
  ASSERT_EQ(many.expr, nullptr);
  EXPECT_EQ(many.error.message, "more than 4096 parts: make it shorter");
}

TEST(Parser, StaysSmall) {
  EXPECT_LE(Expr::Parse("TARGET.Memory >= 4096 && TARGET.Arch == \"x86_64\"").expr->MemoryBytes(), 1024u);
  std::string names = "x";
  for (int i = 0; names.size() < bounds::kMaxExpressionBytes - 8; ++i) names += "+x" + std::to_string(i);
  const Parsed parsed = Expr::Parse(names);
  ASSERT_NE(parsed.expr, nullptr);
  EXPECT_LE(parsed.expr->MemoryBytes(), 512u * 1024);
}

TEST(PointAt, TheCaretStandsUnderThePlace) {
  const auto picture = [](std::string_view label, std::string_view text) {
    return PointAt(label, text, Expr::Parse(text).error);
  };
  EXPECT_EQ(picture("requirements", "MACHINE.Memory >= 4096 && ("),
            "requirements: MACHINE.Memory >= 4096 && (\n"
            "                                         ^ expected an expression here");
  EXPECT_EQ(picture("", "a b"), "a b\n  ^ expected an operator or the end here");
  // Two bytes are one column; tabs are one, too; wide characters are two.
  EXPECT_EQ(picture("r", "\"é\" + +"), "r: \"é\" + +\n          ^ expected an expression here");
  EXPECT_EQ(picture("r", "\ta\t+\t)"), "r:  a + )\n        ^ expected an expression here");
  EXPECT_EQ(picture("r", "\"日本\" )"), "r: \"日本\" )\n          ^ expected an operator or the end here");
  // Of many lines, the one.
  EXPECT_EQ(picture("r", "a &&\nb b\n&& c"), "r: …b b…\n      ^ expected an operator or the end here");
  EXPECT_EQ(picture("r", "a \xff b"), "r: a ? b\n     ^ this byte is not UTF-8");
}

TEST(PointAt, LongTextsAreCutAroundThePlace) {
  const std::string text = "\"" + testing::Repeated("é", 300) + "\" b + \"" + testing::Repeated("x", 300) + "\"";
  const std::string picture = PointAt("r", text, Expr::Parse(text).error);
  EXPECT_EQ(picture, "r: …" + testing::Repeated("é", 62) + "\" b + \"" + testing::Repeated("x", 31) + "…\n" +
                         std::string(68, ' ') + "^ expected an operator or the end here");
  // Never far beyond the text, never wild, whatever it is asked for.
  for (std::size_t offset = 0; offset < text.size() + 10; ++offset) {
    const std::string any = PointAt("r", text, {offset, "here"});
    EXPECT_LE(any.size(), 500u);
    EXPECT_NE(any.find("^ here"), std::string::npos);
  }
}

}  // namespace
}  // namespace allot::expr
