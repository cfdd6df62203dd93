// SPDX-License-Identifier: Apache-2.0
// At most so many at once: of all, and of one asker, which leaves room for others.
//
// Threading: all methods may be called from any thread. It outlives its entries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "server/queue/fair_queue.h"

namespace allot {

class Admission {
 public:
  struct Bounds {
    std::uint32_t of_one;
    std::uint32_t of_all;
    // So many of one asker, and half as many again of all.
    static constexpr Bounds OfOne(std::uint32_t most) { return {most, most + std::max<std::uint32_t>(1, most / 2)}; }
  };
  enum class Full { kNo, kOwn, kAll };  // there is room; the asker has as many as it may; all together have

  explicit Admission(Bounds bounds) : bounds_(bounds) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // A place, which is left when this goes.
  class [[nodiscard]] Entry {
   public:
    // None, of nobody.
    Entry() = default;
    Entry(Entry&& other) noexcept : of_(std::exchange(other.of_, nullptr)), asker_(other.asker_), full_(other.full_) {}
    Entry& operator=(Entry&& other) noexcept {
      std::swap(of_, other.of_);
      std::swap(asker_, other.asker_);
      std::swap(full_, other.full_);
      return *this;
    }
    ~Entry() {
      if (of_ != nullptr) of_->Leave(asker_);
    }
    explicit operator bool() const { return of_ != nullptr; }
    // Why there is none.
    Full full() const { return full_; }

   private:
    friend class Admission;
    Entry(Admission* of, AskerId asker, Full full) : of_(of), asker_(asker), full_(full) {}
    Admission* of_ = nullptr;
    AskerId asker_ = 0;
    Full full_ = Full::kNo;
  };

  Entry Enter(AskerId asker) {
    std::lock_guard lock(mutex_);
    std::uint32_t& own = by_asker_[asker];
    if (own < bounds_.of_one && all_ < bounds_.of_all) {
      ++own;
      ++all_;
      return Entry(this, asker, Full::kNo);
    }
    const Full full = own >= bounds_.of_one ? Full::kOwn : Full::kAll;
    if (own == 0) by_asker_.erase(asker);
    return Entry(nullptr, asker, full);
  }

 private:
  void Leave(AskerId asker) {
    std::lock_guard lock(mutex_);
    --all_;
    if (const auto own = by_asker_.find(asker); --own->second == 0) by_asker_.erase(own);
  }

  const Bounds bounds_;
  std::mutex mutex_;
  std::uint32_t all_ = 0;                                // guarded by mutex_
  std::unordered_map<AskerId, std::uint32_t> by_asker_;  // guarded by mutex_
};

}  // namespace allot
