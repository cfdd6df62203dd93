// SPDX-License-Identifier: Apache-2.0
// Does a strategy give out a job now, and if not, what blocks it? Reads the rules of an index; takes the time of
// its blocks, whatever the number of jobs.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "strategy/index/views.h"
#include "strategy/pick_job.h"
#include "strategy/strategy.h"

namespace allot {

// A maximum whose value has as many running tasks as it may have.
struct Ceiling {
  bool own = false;  // of the worker's own strategy; else of the policy
  StrategyKey key;
  GroupText value;
  std::uint64_t running = 0, max = 0;  // tasks
  friend bool operator==(const Ceiling&, const Ceiling&) = default;
};

struct Offer {
  const order::Plan* leaf = nullptr;  // through which it is given; null: it is not
  bool given() const { return leaf != nullptr; }
  bool unselected = false;        // then: a block selects others, and there is no other way
  std::vector<Ceiling> ceilings;  // then: those in its way, from the outside in
};

// `policy` and `worker` are what the index was made of. REQUIRES: the job is known to the orders.
Offer OfferOf(const order::Rules& rules, const Strategy& policy, const Strategy& worker, const PickJob& job);

// The same of all jobs that have these values.
Offer OfferOf(const order::Rules& rules, const Strategy& policy, const Strategy& worker,
              const std::function<ValueId(KeyId)>& value_of);

// Adds the keys of blocks that may keep a job from being given out.
void AddBlockingKeys(const order::Rules& rules, std::vector<KeyId>& keys);

// `the policy lets 4 tasks of a user run at once, and "ann" has 4`.
std::string DescribeCeiling(const Ceiling& ceiling);

}  // namespace allot
