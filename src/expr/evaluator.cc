// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <new>

#include "base/bounds.h"
#include "expr/arena.h"
#include "expr/evaluator.h"
#include "expr/expr.h"

namespace allot::expr {

Evaluation::Evaluation(const Program& program, const Sides& sides, CallContext& context)
    : program_(program), context_(context) {
  const Ad* const my = sides.my == Side::kJob ? sides.job : sides.machine;
  const Ad* const target = sides.my == Side::kJob ? sides.machine : sides.job;
  ads_[static_cast<std::size_t>(Scope::kNone)] = my;
  ads_[static_cast<std::size_t>(Scope::kMy)] = my;
  ads_[static_cast<std::size_t>(Scope::kTarget)] = target;
  ads_[static_cast<std::size_t>(Scope::kJob)] = sides.job;
  ads_[static_cast<std::size_t>(Scope::kMachine)] = sides.machine;
}

inline Value Evaluation::Lookup(const Node& node) const {
  const Name& name = program_.name(node);
  if (const Ad* ad = ads_[static_cast<std::size_t>(node.scope)]; ad != nullptr) {
    if (const Value* value = ad->Find(name.text, name.hash); value != nullptr) return *value;
  }
  if (node.scope != Scope::kNone) return Value::Undefined();
  const Ad* target = ads_[static_cast<std::size_t>(Scope::kTarget)];
  const Value* value = target == nullptr ? nullptr : target->Find(name.text, name.hash);
  return value == nullptr ? Value::Undefined() : *value;
}

// The two most common kinds without a call.
inline Value Evaluation::Operand(NodeId id) {
  const Node& node = program_.node(id);
  if (node.kind == Kind::kConstant) {
    --context_.steps_left;
    return program_.constant(node);
  }
  if (node.kind == Kind::kReference) {
    --context_.steps_left;
    return Lookup(node);
  }
  return Run(id);
}

Value ApplyWithin(Op op, const Value& a, const Value& b, std::int64_t& steps) {
  if (op == Op::kIs || op == Op::kIsnt) {
    const bool same = Identical(a, b, steps);
    return steps < 0 ? Value::Error() : Value::Boolean(same == (op == Op::kIs));
  }
  if (a.is(Type::kString) && b.is(Type::kString)) {
    // What is equal is so at a glance; else it is looked at byte by byte.
    const std::size_t shared = std::min(a.string().size(), b.string().size());
    if (shared >= 64) steps -= static_cast<std::int64_t>(a.string() == b.string() ? shared / 64 : shared / 4);
    if (steps < 0) return Value::Error();
  }
  return ApplyBinary(op, a, b);
}

Value Select(const Value& base, std::string_view name, CallContext& context) {
  switch (base.type()) {
    case Type::kUndefined:
      return base;
    case Type::kRecord:
      if (!context.Charge(static_cast<std::int64_t>(base.record().size() * 3 / 2))) return Value::Error();
      return FieldOf(base, name);
    case Type::kList: {
      const auto from = base.list();
      if (!context.Charge(static_cast<std::int64_t>(from.size()))) return Value::Error();
      const auto items = context.arena.Values(from.size());
      if (items.size() != from.size()) return Value::Error();
      for (std::size_t i = 0; i < from.size(); ++i) new (&items[i]) Value(Select(from[i], name, context));
      return Value::List(items);
    }
    default:
      return Value::Error();
  }
}

Value Evaluation::Run(NodeId id) {
  const Node* node = &program_.node(id);
  if (--context_.steps_left < 0) return Value::Error();
  const auto links = program_.links(*node);
  switch (node->kind) {
    case Kind::kConstant:
      return program_.constant(*node);
    case Kind::kReference:
      return Lookup(*node);
    case Kind::kUnary:
      return ApplyUnary(node->unary, Operand(links[0].node));
    case Kind::kChain: {
      Value value = Operand(links[0].node);
      for (const Link& link : links.subspan(1))
        value = ApplyWithin(link.op, value, Operand(link.node), context_.steps_left);
      return value;
    }
    case Kind::kAnd:
      return Join(links, Truth::kFalse, Truth::kTrue);
    case Kind::kOr:
      return Join(links, Truth::kTrue, Truth::kFalse);
    case Kind::kConditional:
      switch (const Truth truth = ToTruth(Operand(links[0].node)); truth) {
        case Truth::kTrue:
          return Operand(links[1].node);
        case Truth::kFalse:
          return Operand(links[2].node);
        default:
          return FromTruth(truth);
      }
    case Kind::kCoalesce: {
      const Value value = Operand(links[0].node);
      return value.is(Type::kUndefined) ? Operand(links[1].node) : value;
    }
    case Kind::kSelect:
      return Select(Operand(links[0].node), program_.name(*node).text, context_);
    case Kind::kIndex: {
      const Value base = Operand(links[0].node), index = Operand(links[1].node);
      if (base.is(Type::kRecord) && index.is(Type::kString)) return Select(base, index.string(), context_);
      return SelectIndex(base, index);
    }
    case Kind::kCall:
      return Call(*node);
    case Kind::kList: {
      const auto items = context_.arena.Values(links.size());
      if (items.size() != links.size()) return Value::Error();
      for (std::size_t i = 0; i < links.size(); ++i) new (&items[i]) Value(Operand(links[i].node));
      return Value::List(items);
    }
    case Kind::kRecord: {
      const auto fields = context_.arena.Fields(links.size());
      if (fields.size() != links.size()) return Value::Error();
      for (std::size_t i = 0; i < links.size(); ++i)
        new (&fields[i]) Field{program_.name(*node, i).text, Operand(links[i].node)};
      return Value::Record(fields);
    }
  }
  return Value::Error();
}

// The first operand that decides or is ERROR ends it; UNDEFINED waits for those behind it.
Value Evaluation::Join(std::span<const Link> links, Truth decides, Truth neutral) {
  Truth joined = neutral;
  for (const Link& link : links) {
    const Truth truth = ToTruth(Operand(link.node));
    if (truth == decides || truth == Truth::kError) return FromTruth(truth);
    if (truth == Truth::kUndefined) joined = truth;
  }
  return FromTruth(joined);
}

Value Evaluation::Call(const Node& node) {
  constexpr std::size_t kFew = 4;
  const auto links = program_.links(node);
  Value few[kFew];
  std::span<Value> arguments(few, std::min(links.size(), kFew));
  if (links.size() > kFew) {
    arguments = context_.arena.Values(links.size());
    if (arguments.empty()) return Value::Error();
  }
  for (std::size_t i = 0; i < links.size(); ++i) new (&arguments[i]) Value(Operand(links[i].node));
  if (context_.steps_left < 0) return Value::Error();
  return program_.function(node).run(context_, arguments);
}

struct Evaluator::State {
  Arena arena{bounds::kMaxEvaluationBytes};
  PatternCache patterns;
};

Evaluator::Evaluator() : state_(std::make_unique<State>()) {}
Evaluator::~Evaluator() = default;

Value Evaluator::Evaluate(const Expr& expr, const Sides& sides) {
  state_->arena.Clear();
  CallContext context{state_->arena, state_->patterns, sides.time, bounds::kMaxEvaluationSteps};
  const Program& program = expr.program();
  const Value value = Evaluation(program, sides, context).Run(program.root());
  steps_ += static_cast<std::uint64_t>(static_cast<std::int64_t>(bounds::kMaxEvaluationSteps) - context.steps_left);
  // What an expression makes of an ERROR that its bounds caused is not its value.
  if (context.steps_left < 0 || state_->arena.exhausted()) return Value::Error();
  return value;
}

bool Evaluator::True(const Expr& expr, const Sides& sides) { return ToTruth(Evaluate(expr, sides)) == Truth::kTrue; }

double Evaluator::Number(const Expr& expr, const Sides& sides) {
  const Value value = Evaluate(expr, sides);
  if (value.is(Type::kInteger)) return static_cast<double>(value.integer());
  return value.is(Type::kReal) && std::isfinite(value.real()) ? value.real() : 0;
}

}  // namespace allot::expr
