// SPDX-License-Identifier: Apache-2.0
// Memory of what is under way: bodies of requests until they are answered, messages of WebSockets, answers that are not
// read yet. Each of them is bounded, but there may be many.
//
// Bounds:    a budget for all; of it, one token has at most half of what the others leave. So one alone has half, two
//            have a third each, and there is always room for one more who comes. The first kFreeBytes of each share
//            are not counted: connections are bounded too.
// Threading: InflightBudget from any thread, a Share confined to one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

namespace allot {

class InflightBudget {
 public:
  static constexpr std::uint64_t kMaxBytes = 256 * 1024 * 1024;
  static constexpr std::uint64_t kMaxBytesOfOne = kMaxBytes / 2;
  // For those who need no token, apart from all others: what they leave unread. One address counts as one.
  static constexpr std::uint64_t kMaxBytesOfStrangers = 32 * 1024 * 1024;
  static constexpr std::size_t kFreeBytes = 64 * 1024;

  explicit InflightBudget(std::uint64_t max_bytes = kMaxBytes) : max_bytes_(max_bytes) {}

  // What one body, message or answer has taken. Gives it back at the end.
  class Share {
   public:
    // Of no budget: for one that is moved here.
    Share() = default;
    explicit Share(InflightBudget& budget) : budget_(&budget) {}
    ~Share() { Clear(); }
    // Whoever is moved from has nothing then, and may grow again.
    Share(Share&& other) noexcept
        : budget_(other.budget_), who_(std::move(other.who_)), counted_(std::exchange(other.counted_, 0)) {}
    Share& operator=(Share&& other) noexcept {
      if (this == &other) return *this;
      Clear();
      budget_ = other.budget_;
      who_ = std::move(other.who_);
      counted_ = std::exchange(other.counted_, 0);
      return *this;
    }

    // It now has `bytes`, on behalf of the token with the id `who` (empty: none is needed). False, changing nothing, if
    // there is no room. REQUIRES: a budget.
    bool Grow(const std::string& who, std::size_t bytes);
    // It has no more than `bytes`.
    void Shrink(std::size_t bytes);
    void Clear() { Shrink(0); }

   private:
    InflightBudget* budget_ = nullptr;
    std::string who_;
    std::uint64_t counted_ = 0;
  };

  std::uint64_t bytes() const {
    std::lock_guard lock(mutex_);
    return bytes_;
  }

 private:
  bool Take(const std::string& who, std::uint64_t bytes);
  void GiveBack(const std::string& who, std::uint64_t bytes);

  const std::uint64_t max_bytes_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_ = 0;                                  // guarded by mutex_
  std::unordered_map<std::string, std::uint64_t> by_token_;  // guarded by mutex_
};

}  // namespace allot
