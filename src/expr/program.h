// SPDX-License-Identifier: Apache-2.0
// The compact form of an expression: nodes in one vector, children before their parents.
//
// Chains of operators of one level (`a && b && c`, `a + b - c`) are one node, however long, so that recursion over a
// program goes no deeper than what stands inside what.
//
// Threading: immutable once built.
// Invariants: at most bounds::kMaxExpressionNodes nodes, none higher than bounds::kMaxExpressionDepth; links point to
// nodes before; a list or record of constants alone, and a minus before a number, are constants.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "expr/ad.h"
#include "expr/arena.h"
#include "expr/expr.h"
#include "expr/functions.h"
#include "expr/operators.h"
#include "expr/value.h"

namespace allot::expr {

using NodeId = std::uint16_t;

enum class Kind : std::uint8_t {
  kConstant,     // data: in constants
  kReference,    // scope; data: in names
  kUnary,        // unary; 1 link
  kChain,        // 2 or more links, each but the first with its operator; all of one level. Never && or ||
  kAnd,          // 2 or more links
  kOr,           // 2 or more links
  kConditional,  // 3 links
  kCoalesce,     // `?:`; 2 links
  kSelect,       // data: in names; 1 link
  kIndex,        // 2 links
  kCall,         // data: in functions; any number of links
  kList,         // any number of links
  kRecord,       // data: the first of its names, which stand together; as many links
};

struct Node {
  Kind kind = Kind::kConstant;
  union {
    Scope scope = Scope::kNone;
    UnaryOp unary;
  };
  std::uint16_t count = 0;  // links
  std::uint32_t first = 0;  // of them
  std::uint32_t data = 0;
};
static_assert(sizeof(Node) == 12);

struct Link {
  NodeId node = 0;
  Op op = Op::kAnd;  // what joins it to what stands before, in a chain
};

struct Name {
  std::string_view text;  // as first written
  NameHash hash = 0;
};

class Program {
 public:
  Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  NodeId root() const { return static_cast<NodeId>(nodes_.size() - 1); }
  const Node& node(NodeId id) const { return nodes_[id]; }
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const Link> links(const Node& node) const { return {links_.data() + node.first, node.count}; }
  const Value& constant(const Node& node) const { return constants_[node.data]; }
  const Name& name(const Node& node, std::size_t i = 0) const { return names_[node.data + i]; }
  const Function& function(const Node& node) const { return *functions_[node.data]; }
  const std::vector<Reference>& references() const { return references_; }
  bool uses_time() const { return uses_time_; }
  // How many levels stand inside one another, constants' included.
  std::size_t height() const { return height_; }
  std::size_t MemoryBytes() const;

 private:
  friend class ProgramBuilder;
  std::vector<Node> nodes_;
  std::vector<Link> links_;
  std::vector<Value> constants_;
  std::vector<Name> names_;
  std::vector<const Function*> functions_;
  std::vector<Reference> references_;
  std::size_t height_ = 0;
  bool uses_time_ = false;
  Arena arena_;  // texts of names, and what constants point to
};

// time() has no arguments to hide it from folding.
bool IsTime(const Function& function);

// Builds a program from its leaves up. Once a bound is exceeded nothing is added any more, and Finish() gives nothing.
class ProgramBuilder {
 public:
  ProgramBuilder() : program_(std::make_unique<Program>()) {}

  // A node, and how many levels there are from it down.
  struct Item {
    NodeId node = 0;
    std::uint16_t height = 1;
  };

  Item Constant(const Value& value);  // copies what it points to
  Item Reference(Scope scope, std::string_view name);
  // Folds a minus before a number, unless it overflows.
  Item Unary(UnaryOp op, Item operand);
  struct Operand {
    Item item;
    Op op = Op::kAnd;  // of the first: without meaning
  };
  // Operators of one level, evaluated from left to right. A first operand that is such a chain itself is continued.
  // REQUIRES: at least two.
  Item Chain(std::span<const Operand> operands);
  Item Conditional(Item condition, Item then, Item otherwise);
  Item Coalesce(Item value, Item otherwise);
  Item Select(Item base, std::string_view name);
  Item Index(Item base, Item index);
  // REQUIRES: as many arguments as it takes.
  Item Call(const Function& function, std::span<const Item> arguments);
  Item List(std::span<const Item> items);
  // REQUIRES: names unique regardless of case.
  Item Record(std::span<const std::string_view> names, std::span<const Item> values);
  // The part of another program from `from` down, as it is.
  Item Copy(const Program& source, NodeId from);

  bool too_deep() const { return too_deep_; }
  bool too_many() const { return too_many_; }
  bool ok() const { return !too_deep_ && !too_many_; }
  const Node& node(Item item) const { return program_->nodes_[item.node]; }
  const Value* constant(Item item) const {
    const Node& it = node(item);
    return it.kind == Kind::kConstant ? &program_->constants_[it.data] : nullptr;
  }
  std::span<const Link> links(Item item) const { return program_->links(node(item)); }
  // REQUIRES: a call.
  const Function& function(Item item) const { return program_->function(node(item)); }

  // Null beyond a bound. Nodes that `root` does not reach are left out. REQUIRES: called once.
  std::unique_ptr<const Program> Finish(Item root);

 private:
  Item Add(Node node, std::span<const Item> items);
  bool AllConstant(std::span<const Item> items) const;
  // Takes back nodes that became part of a constant, if they are the last ones.
  void TakeBack(std::span<const Item> items);
  std::uint32_t Intern(std::string_view name);
  std::string_view Keep(std::string_view text);

  std::unique_ptr<Program> program_;
  std::unordered_map<NameHash, std::uint32_t> interned_;
  std::vector<Item> scratch_;
  std::size_t made_ = 0;  // nodes ever, those taken back included
  bool too_deep_ = false, too_many_ = false;
};

}  // namespace allot::expr
