// SPDX-License-Identifier: Apache-2.0
#include "expr/expr.h"

#include <utility>

#include "expr/parser.h"
#include "expr/printer.h"
#include "expr/program.h"
#include "expr/unreadable.h"

namespace allot::expr {
namespace {

ExprPtr Part(const Program& program, NodeId from) {
  ProgramBuilder builder;
  const auto root = builder.Copy(program, from);
  return std::make_shared<const Expr>(builder.Finish(root), Print(program, from));
}

void AddClauses(const Program& program, NodeId from, std::vector<ExprPtr>& out) {
  const Node& node = program.node(from);
  if (node.kind != Kind::kAnd) {
    out.push_back(Part(program, from));
    return;
  }
  for (const Link& link : program.links(node)) AddClauses(program, link.node, out);
}

}  // namespace

Parsed Expr::Parse(std::string_view text) {
  Parsed parsed;
  auto program = ParseProgram(text, parsed.error);
  if (program != nullptr) parsed.expr = std::make_shared<const Expr>(std::move(program), std::string(text));
  return parsed;
}

Expr::Expr(std::unique_ptr<const Program> program, std::string source)
    : program_(std::move(program)), source_(std::move(source)) {}
Expr::~Expr() = default;

std::string Expr::Print() const { return expr::Print(*program_, program_->root()); }

const std::vector<Reference>& Expr::References() const { return program_->references(); }

bool Expr::Reads(Side side, Side my) const {
  for (const Reference& reference : References()) {
    switch (reference.scope) {
      case Scope::kNone:
        return true;
      case Scope::kMy:
        if (side == my) return true;
        break;
      case Scope::kTarget:
        if (side != my) return true;
        break;
      case Scope::kJob:
        if (side == Side::kJob) return true;
        break;
      case Scope::kMachine:
        if (side == Side::kMachine) return true;
        break;
    }
  }
  return false;
}

bool Expr::UsesTime() const { return program_->uses_time(); }

std::optional<Value> Expr::Constant() const {
  const Node& root = program_->node(program_->root());
  if (root.kind != Kind::kConstant) return std::nullopt;
  return program_->constant(root);
}

ExprPtr Unreadable(std::string source) {
  ProgramBuilder builder;
  const auto root = builder.Constant(Value::Error());
  return std::make_shared<const Expr>(builder.Finish(root), std::move(source));
}

std::vector<ExprPtr> Expr::Clauses() const {
  // A constant has no parts, and may be Unreadable(): then its text says more than its value.
  if (const auto constant = Constant(); constant && constant->is(Type::kError)) return {Unreadable(source_)};
  std::vector<ExprPtr> clauses;
  AddClauses(*program_, program_->root(), clauses);
  return clauses;
}

std::optional<Expr::Comparison> Expr::AsComparison() const {
  const Node& root = program_->node(program_->root());
  if (root.kind != Kind::kChain || root.count != 2) return std::nullopt;
  const auto links = program_->links(root);
  Op op = links[1].op;
  if (!IsComparison(op)) return std::nullopt;
  const Node* attribute = &program_->node(links[0].node);
  const Node* constant = &program_->node(links[1].node);
  if (attribute->kind == Kind::kConstant) {
    std::swap(attribute, constant);
    op = Turned(op);
  }
  if (attribute->kind != Kind::kReference || constant->kind != Kind::kConstant) return std::nullopt;
  return Comparison{
      {attribute->scope, std::string(program_->name(*attribute).text)}, OpText(op), program_->constant(*constant)};
}

std::size_t Expr::MemoryBytes() const {
  std::size_t sum = sizeof(Expr) + program_->MemoryBytes();
  if (source_.capacity() >= sizeof(std::string)) sum += source_.capacity() + 1;
  return sum;
}

}  // namespace allot::expr
