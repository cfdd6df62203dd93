// SPDX-License-Identifier: Apache-2.0
#include "strategy/offer.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/json.h"
#include "base/text.h"
#include "strategy/text/words.h"

namespace allot {
namespace {

class Look {
 public:
  using ValueFor = std::function<ValueId(KeyId)>;
  Look(const order::Rules& rules, const Strategy& worker, const ValueFor& value_of)
      : context_(*rules.context), worker_(worker), value_of_(value_of) {}

  // Plans and blocks are trees of one shape, but for the worker's own strategy, which stands in the plan.
  const order::Plan* Gives(const order::Plan& plan, const Strategy& block, bool own, Offer& out) const {
    switch (plan.passes) {
      case Passes::kAll:
        break;
      case Passes::kWanted:
      case Passes::kOwn:
        if (plan.passes == Passes::kWanted ? ValueOf(plan) != plan.wanted
                                           : !plan.block->PassesValue(plan, context_, ValueOf(plan))) {
          out.unselected = true;
          return nullptr;
        }
        break;
      case Passes::kBelowMax: {
        const ValueId value = ValueOf(plan);
        const ValueTable::Value& now = context_.values.Get(context_.keys[plan.key], value);
        // What is below it may block it, too.
        const bool open = order::BinOf(plan, context_, value, now.running) == 0;
        if (!open) {
          out.ceilings.push_back({own, block.key, value == kNoValue ? GroupText() : GroupText(now.text), now.running,
                                  order::MaxOf(plan, context_.slots)});
        }
        const order::Plan* leaf = Gives(*plan.inner.front(), *block.inner.front(), own, out);
        return open ? leaf : nullptr;
      }
      case Passes::kBranches: {
        Offer tried;
        bool others = false;  // a branch that selects it, whatever blocks it there
        for (std::size_t i = 0; i < block.inner.size(); ++i) {
          Offer branch;
          if (const order::Plan* leaf = Gives(*plan.inner[i], *block.inner[i], own, branch)) return leaf;
          others = others || !branch.unselected;
          // A ceiling behind a selection that is for others is not in its way.
          if (branch.unselected) continue;
          tried.ceilings.insert(tried.ceilings.end(), branch.ceilings.begin(), branch.ceilings.end());
        }
        out.unselected = out.unselected || !others;
        out.ceilings.insert(out.ceilings.end(), tried.ceilings.begin(), tried.ceilings.end());
        return nullptr;
      }
    }
    if (plan.inner.empty()) return &plan;
    if (block.inner.empty()) return Gives(*plan.inner.front(), worker_, true, out);
    return Gives(*plan.inner.front(), *block.inner.front(), own, out);
  }

 private:
  ValueId ValueOf(const order::Plan& plan) const { return value_of_(context_.keys[plan.key]); }

  const order::ViewContext& context_;
  const Strategy& worker_;
  const ValueFor& value_of_;
};

}  // namespace

Offer OfferOf(const order::Rules& rules, const Strategy& policy, const Strategy& worker, const PickJob& job) {
  const ValueTable& values = rules.context->values;
  return OfferOf(rules, policy, worker, [&](KeyId key) { return values.Of(key, job); });
}

Offer OfferOf(const order::Rules& rules, const Strategy& policy, const Strategy& worker,
              const std::function<ValueId(KeyId)>& value_of) {
  Offer out;
  out.leaf = Look(rules, worker, value_of).Gives(*rules.plan, policy, false, out);
  if (out.given()) {
    out.unselected = false;
    out.ceilings.clear();
  }
  return out;
}

void AddBlockingKeys(const order::Rules& rules, std::vector<KeyId>& keys) {
  const auto add = [&](const auto& self, const order::Plan& plan) -> void {
    if (plan.may_block()) keys.push_back(rules.context->keys[plan.key]);
    for (const auto& inner : plan.inner) self(self, *inner);
  };
  add(add, *rules.plan);
}

std::string DescribeCeiling(const Ceiling& ceiling) {
  const std::string_view who = ceiling.own ? "every strategy" : "the policy";
  const std::string& text = *ceiling.value;
  const bool plain = text[0] != 's' || ceiling.key.kind == StrategyKey::Kind::kJob;
  return fmt::format("{} lets {} task{} of a {} run at once, and {} has {}", who, FormatCount(ceiling.max),
                     ceiling.max == 1 ? "" : "s", strategy_words::NounsOf(ceiling.key).one,
                     plain ? text.substr(1) : JsonString(text.substr(1)), FormatCount(ceiling.running));
}

}  // namespace allot
