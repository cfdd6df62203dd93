// SPDX-License-Identifier: Apache-2.0
// The expression language: an expression, parsed once and evaluated often.
// Its reference is docs/reference/expressions.md.
//
// Expressions come from strangers: text, depth, nodes, steps and memory are bounded (base/bounds.h), here and in the
// evaluator.
//
// Threading: an Expr is immutable; Evaluators are confined to a thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "expr/ad.h"
#include "expr/value.h"

namespace allot::expr {

// Whose attributes. `MY.` and `TARGET.` depend on who owns the expression, `JOB.` and `MACHINE.` do not.
enum class Scope : std::uint8_t { kNone, kMy, kTarget, kJob, kMachine };
enum class Side : std::uint8_t { kJob, kMachine };

struct ParseError {
  std::size_t offset = 0;  // in bytes
  std::string message;     // `expected an expression here`
};
// The text with a caret under the place, for people, on two lines; of long or many-line texts the part around it:
//   requirements: MACHINE.Memory >= 4096 && (
//                                            ^ expected an expression here
std::string PointAt(std::string_view label, std::string_view text, const ParseError& error);

// An attribute that an expression reads.
struct Reference {
  Scope scope = Scope::kNone;
  std::string name;  // as first written
  friend bool operator==(const Reference&, const Reference&) = default;
};

class Expr;
using ExprPtr = std::shared_ptr<const Expr>;

// What Parse() gives: exactly one of the two.
struct Parsed {
  ExprPtr expr;
  ParseError error;
};

class Program;  // the compact form

class Expr {
 public:
  static Parsed Parse(std::string_view text);
  explicit Expr(std::unique_ptr<const Program> program, std::string source);
  ~Expr();

  // As it was written; of a residual, as it prints.
  const std::string& source() const { return source_; }
  // Canonical: parses back to the same expression; two texts that differ in space and brackets alone print alike.
  std::string Print() const;
  // Every attribute that it may read, each once per scope, in order of appearance.
  const std::vector<Reference>& References() const;
  // Does it read attributes of that side, if `my` is the side that owns it? An unscoped name counts for both.
  bool Reads(Side side, Side my) const;
  bool UsesTime() const;
  // The value, if it is a constant.
  std::optional<Value> Constant() const;
  // What `&&` joins at the outermost level, one expression each; itself, if it is no conjunction.
  std::vector<ExprPtr> Clauses() const;
  // For "nearest miss": a comparison of one attribute with a constant, whichever stands first (the operator is turned
  // where the constant does).
  struct Comparison {
    Reference attribute;
    std::string_view op;  // `==`, `>=`, …
    Value constant;       // lives as long as the expression
  };
  std::optional<Comparison> AsComparison() const;
  std::size_t MemoryBytes() const;

  const Program& program() const { return *program_; }

 private:
  std::unique_ptr<const Program> program_;
  std::string source_;
};

// What an evaluation sees. A null ad is an empty one.
struct Sides {
  const Ad* job = nullptr;
  const Ad* machine = nullptr;
  Side my = Side::kJob;   // who owns the expression
  std::int64_t time = 0;  // seconds since 1970: what time() gives
};

// Evaluates, with memory of its own that is used again and again.
class Evaluator {
 public:
  Evaluator();
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // ERROR where it goes beyond its bounds of steps or memory. Valid until the next call, and no longer than the
  // expression and the ads.
  Value Evaluate(const Expr& expr, const Sides& sides);
  // Is it true? UNDEFINED, ERROR and strings are not; numbers are unless 0.
  bool True(const Expr& expr, const Sides& sides);
  // Steps of all evaluations so far: what they cost, about 10 ns each.
  std::uint64_t steps() const { return steps_; }
  // As a rank: the number; anything else, NaN and infinities included, is 0.
  double Number(const Expr& expr, const Sides& sides);

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::uint64_t steps_ = 0;
};

// With the ads of one side known (sides.job or sides.machine is not null; both may be), folds what can be folded and
// keeps the rest. A missing attribute stays a reference; time() stays. For every other side the residual has the same
// value as `expr`, also where the known side is not there any more, with two exceptions, both for the sake of bounds:
// an attribute whose value does not fit into the text of an expression (too long, or not UTF-8) stays a reference,
// which needs the known side; and what exceeds the bounds of evaluation as a whole may have a value when part of it is
// done.
ExprPtr Flatten(const Expr& expr, const Sides& sides);

}  // namespace allot::expr
