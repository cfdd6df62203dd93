// Memory of what is coming in and is not complete yet: bodies of requests and messages of WebSockets. Each of them is
// bounded, but there may be many.
//
// Bounds:    kMaxBytes for all, kMaxBytesOfOne for one token, so that no token takes it all. The first kFreeBytes of
// each
//            are not counted: connections are bounded too.
// Threading: InflightBudget from any thread, a Share confined to one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace allot {

class InflightBudget {
 public:
  static constexpr std::uint64_t kMaxBytes = 256 * 1024 * 1024;
  static constexpr std::uint64_t kMaxBytesOfOne = kMaxBytes / 2;
  static constexpr std::size_t kFreeBytes = 64 * 1024;

  // What one body or message has taken. Gives it back at the end.
  class Share {
   public:
    explicit Share(InflightBudget& budget) : budget_(budget) {}
    ~Share() { Clear(); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // It now has `bytes`, on behalf of the token with the id `who` (empty: none is needed). False, changing nothing, if
    // there is no room.
    bool Grow(const std::string& who, std::size_t bytes);
    void Clear();

   private:
    InflightBudget& budget_;
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

  mutable std::mutex mutex_;
  std::uint64_t bytes_ = 0;                                  // guarded by mutex_
  std::unordered_map<std::string, std::uint64_t> by_token_;  // guarded by mutex_
};

}  // namespace allot
