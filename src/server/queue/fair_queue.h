// SPDX-License-Identifier: Apache-2.0
// What waits for a thread's time, shared out fairly between those who asked.
//
// Items of one asker go in the order in which they came. Between askers, the one goes next that has used the least time
// among those who wait; one that begins to wait begins where the others are, and so saves nothing up.
//
// Threading: confined to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace allot {

// Who asked: a token, or an address where there are no tokens (asker.h). 0 is the server itself.
using AskerId = std::uint64_t;

template <typename T>
class FairQueue {
 public:
  bool empty() const { return line_.empty(); }
  std::size_t size() const { return size_; }
  std::size_t WaitingOf(AskerId asker) const {
    const auto found = askers_.find(asker);
    return found == askers_.end() ? 0 : found->second.items.size();
  }

  void Push(AskerId asker, T item) {
    Lane& lane = askers_[asker];
    if (lane.items.empty()) {
      lane.used = std::max(lane.used, reached_);
      Stand(asker, lane);
    }
    lane.items.push_back(std::move(item));
    ++size_;
  }

  // REQUIRES: !empty(). Charge() follows.
  std::pair<AskerId, T> Pop() {
    const AskerId asker = std::get<2>(*line_.begin());
    reached_ = std::max(reached_, std::get<0>(*line_.begin()));
    line_.erase(line_.begin());
    Lane& lane = askers_.find(asker)->second;
    std::pair<AskerId, T> next(asker, std::move(lane.items.front()));
    lane.items.pop_front();
    --size_;
    if (!lane.items.empty()) Stand(asker, lane);
    return next;
  }

  // What was popped last has taken so long.
  void Charge(AskerId asker, std::int64_t nanoseconds) {
    if (line_.empty()) {  // nobody is behind anybody
      askers_.clear();
      reached_ = 0;
      return;
    }
    const auto found = askers_.find(asker);
    if (found == askers_.end()) return;
    Lane& lane = found->second;
    if (!lane.items.empty()) line_.erase({lane.used, lane.round, asker});
    lane.used += std::max<std::int64_t>(nanoseconds, 1);
    if (!lane.items.empty()) Stand(asker, lane);
    // What all who wait have had of it: those who come later do not go before them without end.
    reached_ += std::max<std::int64_t>(nanoseconds, 1) / static_cast<std::int64_t>(line_.size()) + 1;
    if (askers_.size() >= forget_at_) Forget();
  }

 private:
  static constexpr std::size_t kKeep = 64;
  struct Lane {
    std::deque<T> items;
    std::int64_t used = 0;
    std::uint64_t round = 0;
  };
  void Stand(AskerId asker, Lane& lane) {
    lane.round = next_asker_++;
    line_.insert({lane.used, lane.round, asker});
  }
  // Those who do not wait and would begin where the others are anyway.
  void Forget() {
    std::erase_if(askers_,
                  [this](const auto& asker) { return asker.second.items.empty() && asker.second.used <= reached_; });
    forget_at_ = 2 * askers_.size() + kKeep;
  }

  std::unordered_map<AskerId, Lane> askers_;
  std::set<std::tuple<std::int64_t, std::uint64_t, AskerId>> line_;  // askers who wait: what they used, since when
  std::int64_t reached_ = 0;
  std::uint64_t next_asker_ = 0;
  std::size_t forget_at_ = kKeep;
  std::size_t size_ = 0;
};

}  // namespace allot
