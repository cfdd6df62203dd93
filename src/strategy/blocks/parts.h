// SPDX-License-Identifier: Apache-2.0
// What several blocks have in common.
#pragma once

#include <memory>

#include "strategy/blocks/block.h"
#include "strategy/blocks/tracing.h"
#include "strategy/index/views.h"
#include "strategy/pick_job.h"
#include "strategy/preview.h"

namespace allot {

// One that stands innermost and orders jobs.
class OrderBlock : public Block {
 public:
  using Block::Block;
  std::unique_ptr<order::View> MakeView(const order::Plan& plan, order::ViewContext& context) const final {
    return order::MakeOrderView(plan, context);
  }
};

// One whose trace is that of the value under its key.
class ValueBlock : public Block {
 public:
  using Block::Block;
  char* WriteTrace(const TracedPick& pick, const order::Plan& plan, const order::Plan*& inside, char* out,
                   const char* end) const final {
    inside = plan.inner.front().get();
    return tracing::PutValue(plan, pick, out, end);
  }
};

}  // namespace allot
