// SPDX-License-Identifier: Apache-2.0
// One evaluation of a program, or of a part of it. For what is not in expr.h: flatten.
#pragma once

#include "expr/expr.h"
#include "expr/functions.h"
#include "expr/operators.h"
#include "expr/patterns.h"
#include "expr/program.h"

namespace allot::expr {

class Evaluation {
 public:
  Evaluation(const Program& program, const Sides& sides, CallContext& context);
  // The value of the part from `id` down. Without meaning once context.steps_left is below 0, or its arena exhausted.
  Value Run(NodeId id);

 private:
  Value Lookup(const Node& node) const;
  Value Operand(NodeId id);
  Value Join(std::span<const Link> links, Truth decides, Truth neutral);
  Value Call(const Node& node);

  const Program& program_;
  CallContext& context_;
  const Ad* ads_[5];  // by scope
};

// As ApplyBinary(), and pays for what is looked at.
Value ApplyWithin(Op op, const Value& a, const Value& b, std::int64_t& steps);
// `base.name`: of a list, the list of what is selected from each element. Without meaning once the context's steps are
// below 0, or its arena exhausted.
Value Select(const Value& base, std::string_view name, CallContext& context);

}  // namespace allot::expr
