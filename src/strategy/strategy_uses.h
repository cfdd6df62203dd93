// SPDX-License-Identifier: Apache-2.0
// Which strategies workers use, each by a number, and how many use it. Two that print alike are one.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "strategy/strategy.h"

namespace allot {

class StrategyUses {
 public:
  using Id = std::uint32_t;

  struct Added {
    Id id = 0;
    bool fresh = false;  // nobody used it before
  };
  // One more user.
  Added Add(const StrategyPtr& strategy);
  // One less. True: nobody uses it any more, and its number may be given again.
  bool Remove(Id id);

  bool Knows(const StrategyPtr& strategy) const;
  std::uint32_t users(Id id) const { return uses_[id].users; }
  const StrategyPtr& strategy(Id id) const { return uses_[id].strategy; }
  // Numbers are below this.
  Id ids() const { return static_cast<Id>(uses_.size()); }
  // How many are in use.
  std::size_t size() const { return by_text_.size(); }
  // Words and blocks of all of them: each is a structure over all jobs.
  std::size_t blocks() const { return blocks_; }

 private:
  struct Use {
    StrategyPtr strategy;
    std::uint32_t users = 0;  // 0: free
  };
  std::vector<Use> uses_;
  std::unordered_map<std::string, Id> by_text_;
  std::size_t blocks_ = 0;
};

}  // namespace allot
