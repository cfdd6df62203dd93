// SPDX-License-Identifier: Apache-2.0
#include "expr/program.h"

#include <algorithm>

#include "base/bounds.h"
#include "base/check.h"

namespace allot::expr {
namespace {

std::size_t HeightOf(const Value& value) {
  std::size_t inside = 0;
  if (value.is(Type::kList)) {
    for (const Value& item : value.list()) inside = std::max(inside, HeightOf(item));
  } else if (value.is(Type::kRecord)) {
    for (const Field& field : value.record()) inside = std::max(inside, HeightOf(field.value));
  }
  return inside + 1;
}

template <typename T>
std::size_t BytesOf(const std::vector<T>& vector) {
  return vector.capacity() * sizeof(T);
}

}  // namespace

bool IsTime(const Function& function) { return function.name == "time"; }

std::size_t Program::MemoryBytes() const {
  std::size_t sum = sizeof(Program) + BytesOf(nodes_) + BytesOf(links_) + BytesOf(constants_) + BytesOf(names_) +
                    BytesOf(functions_) + BytesOf(references_) + arena_.MemoryBytes();
  for (const Reference& reference : references_) {
    if (reference.name.capacity() >= sizeof(std::string)) sum += reference.name.capacity();
  }
  return sum;
}

ProgramBuilder::Item ProgramBuilder::Add(Node node, std::span<const Item> items) {
  std::size_t height = 0;
  for (const Item& item : items) height = std::max<std::size_t>(height, item.height);
  ++height;
  if (++made_ > bounds::kMaxExpressionNodes || program_->links_.size() + items.size() > UINT16_MAX) too_many_ = true;
  if (height > bounds::kMaxExpressionDepth) too_deep_ = true;
  if (!ok()) return {};
  node.count = static_cast<std::uint16_t>(items.size());
  node.first = static_cast<std::uint32_t>(program_->links_.size());
  for (const Item& item : items) program_->links_.push_back({item.node, Op::kAnd});
  program_->nodes_.push_back(node);
  return {static_cast<NodeId>(program_->nodes_.size() - 1), static_cast<std::uint16_t>(height)};
}

bool ProgramBuilder::AllConstant(std::span<const Item> items) const {
  return std::all_of(items.begin(), items.end(), [&](Item item) { return constant(item) != nullptr; });
}

void ProgramBuilder::TakeBack(std::span<const Item> items) {
  Program& program = *program_;
  const std::size_t rest = program.nodes_.size() - std::min(items.size(), program.nodes_.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].node != rest + i) return;
  }
  program.nodes_.resize(rest);
  // Constants of the last nodes are the last constants.
  program.constants_.resize(program.constants_.size() - items.size());
}

std::string_view ProgramBuilder::Keep(std::string_view text) {
  bool ok = true;
  return program_->arena_.Copy(text, ok);
}

std::uint32_t ProgramBuilder::Intern(std::string_view name) {
  const NameHash hash = HashName(name);
  const auto next = static_cast<std::uint32_t>(program_->names_.size());
  const auto [it, fresh] = interned_.try_emplace(hash, next);
  if (!fresh && SameName(program_->names_[it->second].text, name)) return it->second;
  program_->names_.push_back({Keep(name), hash});  // two names of one hash are kept apart, if not together
  return next;
}

ProgramBuilder::Item ProgramBuilder::Constant(const Value& value) {
  if (!ok()) return {};
  const std::size_t height = HeightOf(value);
  if (height > bounds::kMaxExpressionDepth) too_deep_ = true;
  Node node;
  node.kind = Kind::kConstant;
  node.data = static_cast<std::uint32_t>(program_->constants_.size());
  Item item = Add(node, {});
  if (!ok()) return {};
  program_->constants_.push_back(program_->arena_.Copy(value));
  item.height = static_cast<std::uint16_t>(height);
  return item;
}

ProgramBuilder::Item ProgramBuilder::Reference(Scope scope, std::string_view name) {
  if (!ok()) return {};
  Node node;
  node.kind = Kind::kReference;
  node.scope = scope;
  node.data = Intern(name);
  return Add(node, {});
}

ProgramBuilder::Item ProgramBuilder::Unary(UnaryOp op, Item operand) {
  if (!ok()) return {};
  if (const Value* value = constant(operand); op == UnaryOp::kNegate && value != nullptr && value->IsNumber()) {
    const Value negative = ApplyUnary(op, *value);
    if (!negative.is(Type::kError)) {
      program_->constants_[program_->nodes_[operand.node].data] = negative;
      return {operand.node, 1};
    }
  }
  Node node;
  node.kind = Kind::kUnary;
  node.unary = op;
  return Add(node, {&operand, 1});
}

ProgramBuilder::Item ProgramBuilder::Chain(std::span<const Operand> operands) {
  CHECK(operands.size() >= 2);
  if (!ok()) return {};
  Node node;
  const Op op = operands[1].op;
  node.kind = op == Op::kAnd ? Kind::kAnd : op == Op::kOr ? Kind::kOr : Kind::kChain;
  scratch_.clear();
  std::vector<Op> ops;
  const Item first = operands[0].item;
  const Node& before = this->node(first);
  const bool continues = before.kind == node.kind &&
                         (node.kind != Kind::kChain || BindingLevel(program_->links(before)[1].op) == BindingLevel(op));
  if (continues) {
    for (const Link& link : program_->links(before)) {
      scratch_.push_back({link.node, static_cast<std::uint16_t>(first.height - 1)});
      ops.push_back(link.op);
    }
  } else {
    scratch_.push_back(first);
    ops.push_back(Op::kAnd);
  }
  for (const Operand& operand : operands.subspan(1)) {
    scratch_.push_back(operand.item);
    ops.push_back(operand.op);
  }
  const Item item = Add(node, scratch_);
  if (!ok()) return {};
  if (node.kind == Kind::kChain) {
    Link* links = program_->links_.data() + program_->nodes_[item.node].first;
    for (std::size_t i = 0; i < ops.size(); ++i) links[i].op = ops[i];
  }
  return item;
}

ProgramBuilder::Item ProgramBuilder::Conditional(Item condition, Item then, Item otherwise) {
  if (!ok()) return {};
  Node node;
  node.kind = Kind::kConditional;
  const Item items[] = {condition, then, otherwise};
  return Add(node, items);
}

ProgramBuilder::Item ProgramBuilder::Coalesce(Item value, Item otherwise) {
  if (!ok()) return {};
  Node node;
  node.kind = Kind::kCoalesce;
  const Item items[] = {value, otherwise};
  return Add(node, items);
}

ProgramBuilder::Item ProgramBuilder::Select(Item base, std::string_view name) {
  if (!ok()) return {};
  Node node;
  node.kind = Kind::kSelect;
  node.data = Intern(name);
  return Add(node, {&base, 1});
}

ProgramBuilder::Item ProgramBuilder::Index(Item base, Item index) {
  if (!ok()) return {};
  Node node;
  node.kind = Kind::kIndex;
  const Item items[] = {base, index};
  return Add(node, items);
}

ProgramBuilder::Item ProgramBuilder::Call(const Function& function, std::span<const Item> arguments) {
  if (!ok()) return {};
  Node node;
  node.kind = Kind::kCall;
  auto& functions = program_->functions_;
  auto at = std::find(functions.begin(), functions.end(), &function);
  if (at == functions.end()) at = functions.insert(functions.end(), &function);
  node.data = static_cast<std::uint32_t>(at - functions.begin());
  if (IsTime(function)) program_->uses_time_ = true;
  return Add(node, arguments);
}

ProgramBuilder::Item ProgramBuilder::List(std::span<const Item> items) {
  if (!ok()) return {};
  Node node;
  if (!AllConstant(items)) {
    node.kind = Kind::kList;
    return Add(node, items);
  }
  std::size_t height = 0;
  const auto values = program_->arena_.Values(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    new (&values[i]) Value(*constant(items[i]));
    height = std::max<std::size_t>(height, items[i].height);
  }
  if (height + 1 > bounds::kMaxExpressionDepth) too_deep_ = true;
  TakeBack(items);
  node.kind = Kind::kConstant;
  node.data = static_cast<std::uint32_t>(program_->constants_.size());
  Item item = Add(node, {});
  if (!ok()) return {};
  program_->constants_.push_back(Value::List(values));
  item.height = static_cast<std::uint16_t>(height + 1);
  return item;
}

ProgramBuilder::Item ProgramBuilder::Record(std::span<const std::string_view> names, std::span<const Item> values) {
  CHECK(names.size() == values.size());
  if (!ok()) return {};
  Node node;
  if (!AllConstant(values)) {
    node.kind = Kind::kRecord;
    node.data = static_cast<std::uint32_t>(program_->names_.size());
    for (const std::string_view name : names) program_->names_.push_back({Keep(name), HashName(name)});
    return Add(node, values);
  }
  std::size_t height = 0;
  const auto fields = program_->arena_.Fields(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    new (&fields[i]) Field{Keep(names[i]), *constant(values[i])};
    height = std::max<std::size_t>(height, values[i].height);
  }
  if (height + 1 > bounds::kMaxExpressionDepth) too_deep_ = true;
  TakeBack(values);
  node.kind = Kind::kConstant;
  node.data = static_cast<std::uint32_t>(program_->constants_.size());
  Item item = Add(node, {});
  if (!ok()) return {};
  program_->constants_.push_back(Value::Record(fields));
  item.height = static_cast<std::uint16_t>(height + 1);
  return item;
}

ProgramBuilder::Item ProgramBuilder::Copy(const Program& source, NodeId from) {
  if (!ok()) return {};
  const Node& node = source.node(from);
  const auto links = source.links(node);
  std::vector<Item> items;
  items.reserve(links.size());
  for (const Link& link : links) items.push_back(Copy(source, link.node));
  if (!ok()) return {};
  switch (node.kind) {
    case Kind::kConstant:
      return Constant(source.constant(node));
    case Kind::kReference:
      return Reference(node.scope, source.name(node).text);
    case Kind::kUnary:
      return Unary(node.unary, items[0]);
    case Kind::kChain:
    case Kind::kAnd:
    case Kind::kOr: {
      std::vector<Operand> operands;
      operands.reserve(links.size());
      const Op op = node.kind == Kind::kOr ? Op::kOr : Op::kAnd;
      for (std::size_t i = 0; i < links.size(); ++i)
        operands.push_back({items[i], node.kind == Kind::kChain ? links[i].op : op});
      return Chain(operands);
    }
    case Kind::kConditional:
      return Conditional(items[0], items[1], items[2]);
    case Kind::kCoalesce:
      return Coalesce(items[0], items[1]);
    case Kind::kSelect:
      return Select(items[0], source.name(node).text);
    case Kind::kIndex:
      return Index(items[0], items[1]);
    case Kind::kCall:
      return Call(source.function(node), items);
    case Kind::kList:
      return List(items);
    case Kind::kRecord: {
      std::vector<std::string_view> names;
      for (std::size_t i = 0; i < links.size(); ++i) names.push_back(source.name(node, i).text);
      return Record(names, items);
    }
  }
  return {};
}

std::unique_ptr<const Program> ProgramBuilder::Finish(Item root) {
  if (!ok()) return nullptr;
  // The root is the last node, and all others are below it: else a fresh copy is.
  std::size_t linked = 0;
  std::vector<bool> reached(program_->nodes_.size());
  for (std::size_t i = program_->nodes_.size(); i-- > 0;) {
    if (i == root.node) reached[i] = true;
    if (!reached[i]) continue;
    ++linked;
    for (const Link& link : program_->links(program_->nodes_[i])) reached[link.node] = true;
  }
  if (linked != program_->nodes_.size()) {
    ProgramBuilder fresh;
    const Item copy = fresh.Copy(*program_, root.node);
    return fresh.Finish(copy);
  }
  Program& program = *program_;
  program.height_ = root.height;
  std::vector<std::uint8_t> seen(program.names_.size());
  for (const Node& node : program.nodes_) {
    if (node.kind != Kind::kReference) continue;
    const auto bit = static_cast<std::uint8_t>(1u << static_cast<unsigned>(node.scope));
    if ((seen[node.data] & bit) != 0) continue;
    seen[node.data] |= bit;
    program.references_.push_back({node.scope, std::string(program.names_[node.data].text)});
  }
  program.nodes_.shrink_to_fit();
  program.links_.shrink_to_fit();
  program.constants_.shrink_to_fit();
  program.names_.shrink_to_fit();
  program.functions_.shrink_to_fit();
  program.references_.shrink_to_fit();
  return std::move(program_);
}

}  // namespace allot::expr
