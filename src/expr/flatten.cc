// SPDX-License-Identifier: Apache-2.0
// What is left of an expression when one side is known.
//
// Exact for every other side: nothing is dropped that could have been ERROR or UNDEFINED. So `x && false` stays, since
// x may be ERROR, and `true && x` stays where x may be a number, which `&&` makes a boolean.
#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/bounds.h"
#include "base/json.h"
#include "expr/evaluator.h"
#include "expr/expr.h"
#include "expr/lexer.h"
#include "expr/parser.h"
#include "expr/printer.h"

namespace allot::expr {
namespace {

bool Starts(std::string_view text, std::string_view with) { return text.substr(0, with.size()) == with; }

// Functions that give a boolean, UNDEFINED or ERROR.
bool IsPredicate(const Function& function) {
  for (const std::string_view name : {"bool", "member", "identicalMember", "anyCompare", "allCompare", "regexp",
                                      "regexpMember", "stringListMember", "stringListIMember", "stringListSubsetMatch",
                                      "stringListISubsetMatch", "stringListsIntersect", "stringList_regexpMember"}) {
    if (function.name == name) return true;
  }
  return Starts(function.name, "is") || (Starts(function.name, "version") && function.name != "versioncmp");
}

// isUndefined() and its kin are never anything but a boolean.
bool IsTypeTest(const Function& function) { return Starts(function.name, "is"); }

bool IsScalar(const Value& value) { return value.type() < Type::kString; }

class Flattener {
 public:
  using Item = ProgramBuilder::Item;

  Flattener(const Program& source, const Sides& sides)
      : source_(source),
        my_(sides.my),
        arena_(bounds::kMaxEvaluationBytes),
        context_{arena_, patterns_, sides.time, 0} {
    context_.steps_left = bounds::kMaxEvaluationSteps;
    ads_[0] = sides.job;
    ads_[1] = sides.machine;
  }

  // Null beyond a bound.
  std::unique_ptr<const Program> Run() {
    const Part root = Fold(source_.root());
    return out_.Finish(Put(root));
  }

 private:
  // A constant, which becomes a node only where it is needed, or a node.
  struct Part {
    bool constant = false;
    Value value;
    NodeId origin = 0;  // the part of the source that has this value; scalars need none
    Item item;

    bool is(Type type) const { return constant && value.is(type); }
  };

  static Part Constant(const Value& value, NodeId origin) { return {true, value, origin, {}}; }
  static Part Residual(Item item) { return {false, {}, 0, item}; }
  Part Unchanged(NodeId id) { return Residual(out_.Copy(source_, id)); }
  bool Exhausted() const { return context_.steps_left < 0 || arena_.exhausted(); }

  // Can it stand in the residual's text? Takes its length off the budget, if so.
  bool Fits(const Value& value) {
    std::size_t left = text_left_;
    if (!Measure(value, left)) return false;
    text_left_ = left;
    return true;
  }
  static bool Measure(const Value& value, std::size_t& left) {
    std::size_t size = 4;
    const auto pay = [&] {
      if (size > left) return false;
      left -= size;
      return true;
    };
    switch (value.type()) {
      case Type::kString:
        size += value.string().size();
        if (!pay() || !IsUtf8(value.string())) return false;
        return value.string().find('\0') == std::string_view::npos;
      case Type::kList:
        return pay() && std::all_of(value.list().begin(), value.list().end(),
                                    [&](const Value& item) { return Measure(item, left); });
      case Type::kRecord:
        return pay() && std::all_of(value.record().begin(), value.record().end(), [&](const Field& field) {
                 return IsName(field.name) && Measure(field.value, left);
               });
      default:
        return pay();
    }
  }

  // The node of a part. A constant that would not fit stays what it was.
  Item Put(const Part& part) {
    if (!part.constant) return part.item;
    if (IsScalar(part.value) || Fits(part.value)) return out_.Constant(part.value);
    return out_.Copy(source_, part.origin);
  }

  Part Fold(NodeId id) {
    if (!out_.ok()) return {};
    const Node& node = source_.node(id);
    const auto links = source_.links(node);
    switch (node.kind) {
      case Kind::kConstant:
        return Constant(source_.constant(node), id);
      case Kind::kReference:
        return Attribute(id);
      case Kind::kUnary: {
        const Part operand = Fold(links[0].node);
        if (operand.constant) return Constant(ApplyUnary(node.unary, operand.value), id);
        return Residual(out_.Unary(node.unary, operand.item));
      }
      case Kind::kChain:
        return Chain(id);
      case Kind::kAnd:
        return Join(id, Truth::kFalse, Truth::kTrue);
      case Kind::kOr:
        return Join(id, Truth::kTrue, Truth::kFalse);
      case Kind::kConditional:
        return Choose(links);
      case Kind::kCoalesce:
        return Coalesce(links);
      case Kind::kSelect: {
        const Part base = Fold(links[0].node);
        if (!base.constant) return Residual(out_.Select(base.item, source_.name(node).text));
        const Value value = Select(base.value, source_.name(node).text, context_);
        return Exhausted() ? Unchanged(id) : Constant(value, id);
      }
      case Kind::kIndex:
        return Index(id);
      case Kind::kCall:
        return Call(id);
      case Kind::kList:
      case Kind::kRecord:
        return Gather(id);
    }
    return {};
  }

  const Value* Find(Side side, const Name& name) const {
    const Ad* ad = ads_[static_cast<std::size_t>(side)];
    return ad == nullptr ? nullptr : ad->Find(name.text, name.hash);
  }

  Part Attribute(NodeId id) {
    const Node& node = source_.node(id);
    const Name& name = source_.name(node);
    const Side other = my_ == Side::kJob ? Side::kMachine : Side::kJob;
    const Value* value = nullptr;
    switch (node.scope) {
      case Scope::kMy:
        value = Find(my_, name);
        break;
      case Scope::kTarget:
        value = Find(other, name);
        break;
      case Scope::kJob:
        value = Find(Side::kJob, name);
        break;
      case Scope::kMachine:
        value = Find(Side::kMachine, name);
        break;
      case Scope::kNone:
        value = Find(my_, name);
        if (value != nullptr) break;
        value = Find(other, name);
        // MY comes first, and is not known yet.
        if (value != nullptr && ads_[static_cast<std::size_t>(my_)] == nullptr) {
          if (!Fits(*value)) return Unchanged(id);
          const Item own = out_.Reference(Scope::kMy, name.text);
          return Residual(out_.Coalesce(own, out_.Constant(*value)));
        }
        break;
    }
    return value == nullptr ? Unchanged(id) : Constant(*value, id);
  }

  Part Chain(NodeId id) {
    const auto links = source_.links(source_.node(id));
    std::vector<ProgramBuilder::Operand> operands;  // empty: `left` is all so far
    Part left = Fold(links[0].node);
    for (const Link& link : links.subspan(1)) {
      const Part right = Fold(link.node);
      if (!out_.ok()) return {};
      const bool strict = link.op != Op::kIs && link.op != Op::kIsnt;
      if (left.constant && right.constant) {
        const Value value = ApplyWithin(link.op, left.value, right.value, context_.steps_left);
        if (Exhausted()) return Unchanged(id);
        left = Constant(value, id);  // a scalar
      } else if (strict && (left.is(Type::kError) || right.is(Type::kError))) {
        left = Constant(Value::Error(), id);
        operands.clear();
      } else {
        if (operands.empty()) operands.push_back({Put(left), link.op});
        operands.push_back({Put(right), link.op});
        left = Residual({});
      }
    }
    if (operands.empty()) return left;
    return Residual(out_.Chain(operands));
  }

  void Collect(NodeId id, Kind kind, std::vector<Part>& out) {
    const Node& node = source_.node(id);
    if (node.kind != kind) {
      out.push_back(Fold(id));
      return;
    }
    for (const Link& link : source_.links(node)) Collect(link.node, kind, out);
  }

  // `&&` and `||`: the first operand that decides or is ERROR gives the result; else it is UNDEFINED if one is, else
  // neutral. So neutral constants can go, all but one UNDEFINED can, and what stands behind a constant that decides.
  Part Join(NodeId id, Truth decides, Truth neutral) {
    const Kind kind = source_.node(id).kind;
    const Op op = kind == Kind::kAnd ? Op::kAnd : Op::kOr;
    std::vector<Part> parts;
    Collect(id, kind, parts);
    if (!out_.ok()) return {};
    std::vector<Part> kept;
    bool undefined = false, ended = false;
    std::size_t unknown = 0;
    for (const Part& part : parts) {
      if (!part.constant) {
        kept.push_back(part);
        ++unknown;
        continue;
      }
      const Truth truth = ToTruth(part.value);
      if (truth == neutral) continue;
      if (truth == Truth::kUndefined) {
        if (!undefined) kept.push_back(Constant(Value::Undefined(), id));
        undefined = true;
        continue;
      }
      // Nobody asks any more whether something before was UNDEFINED.
      kept.erase(std::remove_if(kept.begin(), kept.end(), [](const Part& it) { return it.constant; }), kept.end());
      const bool certain = truth == decides && std::all_of(kept.begin(), kept.end(),
                                                           [&](const Part& it) { return NeverError(it.item, 0); });
      if (unknown == 0 || certain) return Constant(FromTruth(truth), id);
      kept.push_back(Constant(FromTruth(truth), id));
      ended = true;
      break;
    }
    if (unknown == 0) return Constant(FromTruth(undefined ? Truth::kUndefined : neutral), id);
    if (kept.size() == 1 && !ended) {
      if (Logical(kept[0].item, 0)) return kept[0];
      kept.insert(kept.begin(), Constant(FromTruth(neutral), id));
    }
    std::vector<ProgramBuilder::Operand> operands;
    operands.reserve(kept.size());
    for (const Part& part : kept) operands.push_back({Put(part), op});
    return Residual(out_.Chain(operands));
  }

  Part Choose(std::span<const Link> links) {
    const Part condition = Fold(links[0].node);
    if (!condition.constant) {
      const Item then = Put(Fold(links[1].node));
      const Item otherwise = Put(Fold(links[2].node));
      return Residual(out_.Conditional(condition.item, then, otherwise));
    }
    const Truth truth = ToTruth(condition.value);
    if (truth == Truth::kTrue) return Fold(links[1].node);
    if (truth == Truth::kFalse) return Fold(links[2].node);
    return Constant(FromTruth(truth), links[0].node);
  }

  Part Coalesce(std::span<const Link> links) {
    const Part left = Fold(links[0].node);
    if (left.constant) return left.is(Type::kUndefined) ? Fold(links[1].node) : left;
    if (!out_.ok() || NeverUndefined(left.item, 0)) return left;
    const Part right = Fold(links[1].node);
    if (right.is(Type::kUndefined)) return left;
    return Residual(out_.Coalesce(left.item, Put(right)));
  }

  Part Index(NodeId id) {
    const auto links = source_.links(source_.node(id));
    const Part base = Fold(links[0].node), index = Fold(links[1].node);
    if (base.is(Type::kError) || index.is(Type::kError)) return Constant(Value::Error(), id);
    if (!base.constant || !index.constant) {
      const Item first = Put(base);
      return Residual(out_.Index(first, Put(index)));
    }
    const bool by_name = base.value.is(Type::kRecord) && index.value.is(Type::kString);
    const Value value =
        by_name ? Select(base.value, index.value.string(), context_) : SelectIndex(base.value, index.value);
    return Exhausted() ? Unchanged(id) : Constant(value, id);
  }

  Part Call(NodeId id) {
    const Node& node = source_.node(id);
    const Function& function = source_.function(node);
    const auto links = source_.links(node);
    if (IsTime(function)) return Unchanged(id);
    if (function.name == "ifThenElse") {
      const Part condition = Fold(links[0].node);
      if (condition.constant) {
        const Truth truth = ToTruth(condition.value);
        if (truth == Truth::kTrue) return Fold(links[1].node);
        if (truth == Truth::kFalse) return Fold(links[2].node);
        return Constant(FromTruth(truth), links[0].node);
      }
      const Item then = Put(Fold(links[1].node));
      const Item items[] = {condition.item, then, Put(Fold(links[2].node))};
      return Residual(out_.Call(function, items));
    }
    std::vector<Part> parts;
    for (const Link& link : links) parts.push_back(Fold(link.node));
    if (!out_.ok()) return {};
    if (std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.constant; })) {
      std::vector<Value> values;
      values.reserve(parts.size());
      for (const Part& part : parts) values.push_back(part.value);
      // An exhausted budget stays so: the rest of the calls stays, too.
      const Value value = Exhausted() ? Value::Error() : function.run(context_, values);
      return Exhausted() ? Unchanged(id) : Constant(value, id);
    }
    std::vector<const Value*> constants;
    std::vector<Item> items;
    for (const Part& part : parts) {
      constants.push_back(part.constant ? &part.value : nullptr);
      items.push_back(Put(part));
    }
    // A pattern that came from an ad and is none is ERROR, but written out it would not parse: it hides in a call.
    if (!out_.ok()) return {};
    if (out_.constant(items[0]) != nullptr && !checker_.Fault(function, constants).empty())
      items[0] = out_.Call(*FindFunction("strcat"), {&items[0], 1});
    return Residual(out_.Call(function, items));
  }

  // Lists and records.
  Part Gather(NodeId id) {
    const Node& node = source_.node(id);
    const auto links = source_.links(node);
    std::vector<Part> parts;
    for (const Link& link : links) parts.push_back(Fold(link.node));
    if (!out_.ok()) return {};
    const bool list = node.kind == Kind::kList;
    if (std::all_of(parts.begin(), parts.end(), [](const Part& part) { return part.constant; })) {
      const auto values = arena_.Values(list ? parts.size() : 0);
      const auto fields = arena_.Fields(list ? 0 : parts.size());
      if (values.size() + fields.size() != parts.size()) return Unchanged(id);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        if (list) {
          new (&values[i]) Value(parts[i].value);
        } else {
          new (&fields[i]) Field{source_.name(node, i).text, parts[i].value};
        }
      }
      return Constant(list ? Value::List(values) : Value::Record(fields), id);
    }
    std::vector<std::string_view> names;
    std::vector<Item> items;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      items.push_back(Put(parts[i]));
      if (!list) names.push_back(source_.name(node, i).text);
    }
    return Residual(list ? out_.List(items) : out_.Record(names, items));
  }

  // What is certain of a node of the residual, as far as a short look tells.
  static constexpr int kShortLook = 6;

  template <typename F>
  bool AllLinks(Item item, F f) const {
    const auto links = out_.links(item);
    return std::all_of(links.begin(), links.end(), [&](const Link& link) { return f(Item{link.node, 1}); });
  }

  // A boolean, UNDEFINED or ERROR: what `&&` would leave as it is.
  bool Logical(Item item, int depth) const {
    if (!out_.ok() || depth > kShortLook) return false;
    const Node& node = out_.node(item);
    const auto links = out_.links(item);
    switch (node.kind) {
      case Kind::kConstant:
        return out_.constant(item)->type() <= Type::kBoolean;
      case Kind::kAnd:
      case Kind::kOr:
        return true;
      case Kind::kUnary:
        return node.unary == UnaryOp::kNot;
      case Kind::kChain:
        return IsComparison(links.back().op);
      case Kind::kConditional:
        return Logical({links[1].node, 1}, depth + 1) && Logical({links[2].node, 1}, depth + 1);
      case Kind::kCoalesce:
        return AllLinks(item, [&](Item it) { return Logical(it, depth + 1); });
      case Kind::kCall:
        return IsPredicate(out_.function(item));
      default:
        return false;
    }
  }

  // As an operand of `&&`: never ERROR, whatever the sides are.
  bool NeverError(Item item, int depth) const {
    if (!out_.ok() || depth > kShortLook) return false;
    const Node& node = out_.node(item);
    switch (node.kind) {
      case Kind::kConstant:
        return ToTruth(*out_.constant(item)) != Truth::kError;
      case Kind::kAnd:
      case Kind::kOr:
        return AllLinks(item, [&](Item it) { return NeverError(it, depth + 1); });
      case Kind::kUnary:
        return node.unary == UnaryOp::kNot && AllLinks(item, [&](Item it) { return NeverError(it, depth + 1); });
      case Kind::kChain: {
        const Op last = out_.links(item).back().op;
        return last == Op::kIs || last == Op::kIsnt;
      }
      case Kind::kCall:
        return IsTypeTest(out_.function(item));
      default:
        return false;
    }
  }

  bool NeverUndefined(Item item, int depth) const {
    if (!out_.ok() || depth > kShortLook) return false;
    const Node& node = out_.node(item);
    switch (node.kind) {
      case Kind::kConstant:
        return !out_.constant(item)->is(Type::kUndefined);
      case Kind::kChain: {
        const Op last = out_.links(item).back().op;
        return last == Op::kIs || last == Op::kIsnt;
      }
      case Kind::kCoalesce:
        return NeverUndefined({out_.links(item)[1].node, 1}, depth + 1);
      case Kind::kCall:
        return IsTypeTest(out_.function(item));
      case Kind::kList:
      case Kind::kRecord:
        return true;
      default:
        return false;
    }
  }

  const Program& source_;
  const Side my_;
  const Ad* ads_[2];  // by side
  Arena arena_;       // for values that are neither in the source nor in an ad
  PatternCache patterns_;
  CallContext context_;
  ProgramBuilder out_;
  std::size_t text_left_ = bounds::kMaxExpressionBytes;  // for constants, about
  PatternChecker checker_;
};

}  // namespace

ExprPtr Flatten(const Expr& expr, const Sides& sides) {
  if (const auto program = Flattener(expr.program(), sides).Run(); program != nullptr) {
    // Residuals are texts like any other, within the same bounds.
    if (Parsed parsed = Expr::Parse(Print(*program, program->root())); parsed.expr != nullptr) return parsed.expr;
  }
  ProgramBuilder copy;
  const auto root = copy.Copy(expr.program(), expr.program().root());
  return std::make_shared<const Expr>(copy.Finish(root), expr.source());
}

}  // namespace allot::expr
