// SPDX-License-Identifier: Apache-2.0
#include "strategy/trace.h"

#include "base/check.h"
#include "strategy/blocks/block.h"
#include "strategy/blocks/tracing.h"

namespace allot {

char* WriteTrace(const TracedPick& pick, char* out, const char* end) {
  if (end - out < tracing::kBlocksRoom) return nullptr;
  const order::Plan* plan = pick.rules.plan;
  while (plan != nullptr && out != nullptr) {
    const order::Plan* inside = nullptr;
    out = plan->block->WriteTrace(pick, *plan, inside, out, end);
    plan = inside;
  }
  return out;
}

std::vector<PreviewStep> ReadTrace(const StrategyPair& strategies, std::string_view trace, WallTime now) {
  TraceReader in(trace);
  std::vector<PreviewStep> steps;
  bool own = false;
  const Strategy* next = nullptr;
  for (const Strategy* node = strategies.policy.get(); node != nullptr; node = next) {
    const Block& block = BlockOf(*node);
    PreviewStep step;
    step.block = node->kind;
    step.own = own;
    if (node->keyed()) step.key = node->key;
    block.ReadTrace(*node, in, step);
    next = node->inner.empty() ? nullptr : node->inner.at(step.branch == 0 ? 0 : step.branch - 1).get();
    if (node->shape() == Strategy::Shape::kWorker) {
      own = true;
      next = strategies.worker.get();
      // That there is neither policy nor rank need not be told.
      if (node == strategies.policy.get() && !step.rank) continue;
    }
    step.text = block.DescribeStep(*node, step, now);
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace allot
