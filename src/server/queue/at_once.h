// How many of something may be under way at a time: of all, and of one asker, which leaves room for others.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "server/queue/fair_queue.h"

namespace allot {

class AtOnce {
 public:
  enum class Entry { kIn, kOwn, kOthers };  // it may begin; too many of its own are under way; or of all

  // At most `most` of one asker, and half as many again of all. Leave() follows kIn.
  Entry Enter(AskerId asker, std::uint32_t most) {
    std::lock_guard lock(mutex_);
    const auto own = of_.find(asker);
    if (own != of_.end() && own->second >= most) return Entry::kOwn;
    if (all_ >= most + std::max<std::uint32_t>(1, most / 2)) return Entry::kOthers;
    ++all_;
    ++of_[asker];
    return Entry::kIn;
  }
  void Leave(AskerId asker) {
    std::lock_guard lock(mutex_);
    --all_;
    if (const auto own = of_.find(asker); --own->second == 0) of_.erase(own);
  }

 private:
  std::mutex mutex_;
  std::uint32_t all_ = 0;                          // guarded by mutex_
  std::unordered_map<AskerId, std::uint32_t> of_;  // guarded by mutex_
};

}  // namespace allot
