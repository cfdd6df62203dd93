// SPDX-License-Identifier: Apache-2.0
#include "expr/printer.h"

#include <cmath>

#include "expr/parser.h"

namespace allot::expr {
namespace {

// What may stand in a place without brackets, loosest first. Between kConditional and kUnary are the levels of the
// binary operators.
constexpr int kAnything = 0;
constexpr int kFirstBinary = 1;
constexpr int kUnary = kFirstBinary + kBindingLevels;
constexpr int kRightOfCoalesce = kUnary + 1;  // unary, but `?:` not even inside it
constexpr int kLeftOfCoalesce = kUnary + 2;
constexpr int kBase = kUnary + 3;      // of `[index]`
constexpr int kSelected = kUnary + 4;  // of `.name`: a number would take the dot for its point

class Printer {
 public:
  Printer(const Program& program, std::string& out) : program_(program), out_(out) {}

  void Run(NodeId id, int place) {
    const Node& node = program_.node(id);
    const bool brackets = NeedsBrackets(node, place);
    if (brackets) {
      out_.push_back('(');
      place = kAnything;
    }
    const auto links = program_.links(node);
    switch (node.kind) {
      case Kind::kConstant:
        Print(program_.constant(node), out_);
        break;
      case Kind::kReference:
        AppendReference(node.scope, program_.name(node).text, out_);
        break;
      case Kind::kUnary:
        out_.append(OpText(node.unary));
        Run(links[0].node, place == kRightOfCoalesce ? kRightOfCoalesce : kUnary);
        break;
      case Kind::kChain:
      case Kind::kAnd:
      case Kind::kOr:
        Chain(node);
        break;
      case Kind::kConditional:
        Run(links[0].node, kFirstBinary);
        out_.append(" ? ");
        Run(links[1].node, kAnything);
        out_.append(" : ");
        Run(links[2].node, kAnything);
        break;
      case Kind::kCoalesce:
        Run(links[0].node, kLeftOfCoalesce);
        out_.append(" ?: ");
        Run(links[1].node, kRightOfCoalesce);
        break;
      case Kind::kSelect:
        Run(links[0].node, kSelected);
        out_.push_back('.');
        out_.append(program_.name(node).text);
        break;
      case Kind::kIndex:
        Run(links[0].node, kBase);
        out_.push_back('[');
        Run(links[1].node, kAnything);
        out_.push_back(']');
        break;
      case Kind::kCall:
        out_.append(program_.function(node).name);
        Sequence(links, '(', ')');
        break;
      case Kind::kList:
        Sequence(links, '{', '}');
        break;
      case Kind::kRecord:
        out_.push_back('[');
        for (std::size_t i = 0; i < links.size(); ++i) {
          if (i != 0) out_.append("; ");
          out_.append(program_.name(node, i).text);
          out_.append(" = ");
          Run(links[i].node, kAnything);
        }
        out_.push_back(']');
        break;
    }
    if (brackets) out_.push_back(')');
  }

 private:
  bool NeedsBrackets(const Node& node, int place) const {
    switch (node.kind) {
      case Kind::kConstant: {
        // A negative number is a minus and a number.
        const Value& value = program_.constant(node);
        const bool minus =
            (value.is(Type::kInteger) && value.integer() < 0) || (value.is(Type::kReal) && std::signbit(value.real()));
        return (minus && place > kRightOfCoalesce) || (value.IsNumber() && place == kSelected);
      }
      case Kind::kUnary:
        return place > kRightOfCoalesce;
      case Kind::kCoalesce:
        return place == kRightOfCoalesce || place >= kBase;
      case Kind::kChain:
      case Kind::kAnd:
      case Kind::kOr:
        return place > LevelOf(node);
      case Kind::kConditional:
        return place > kAnything;
      default:
        return false;
    }
  }

  int LevelOf(const Node& node) const {
    if (node.kind == Kind::kAnd) return kFirstBinary + BindingLevel(Op::kAnd);
    if (node.kind == Kind::kOr) return kFirstBinary + BindingLevel(Op::kOr);
    return kFirstBinary + BindingLevel(program_.links(node)[1].op);
  }

  void Chain(const Node& node) {
    const auto links = program_.links(node);
    const int level = LevelOf(node);
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (i != 0) {
        const Op op = node.kind == Kind::kAnd ? Op::kAnd : node.kind == Kind::kOr ? Op::kOr : links[i].op;
        out_.push_back(' ');
        out_.append(OpText(op));
        out_.push_back(' ');
      }
      Run(links[i].node, i == 0 ? level : level + 1);
    }
  }

  void Sequence(std::span<const Link> links, char open, char close) {
    out_.push_back(open);
    bool first = true;
    for (const Link& link : links) {
      if (!first) out_.append(", ");
      first = false;
      Run(link.node, kAnything);
    }
    out_.push_back(close);
  }

  const Program& program_;
  std::string& out_;
};

}  // namespace

std::string Print(const Program& program, NodeId from) {
  std::string out;
  Printer(program, out).Run(from, kAnything);
  return out;
}

}  // namespace allot::expr
