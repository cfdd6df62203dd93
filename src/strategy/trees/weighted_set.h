// SPDX-License-Identifier: Apache-2.0
// Items with weights, drawn with a chance proportional to them, in constant time.
//
// Weights are rounded up to powers of two, and items of one power stand in one bucket: a draw takes a bucket by its
// sum, an item of it, and keeps that with the chance true/rounded. Changes are rare: only a new power moves an item.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "base/rng.h"

namespace allot {

template <typename Item>
class WeightedSet {
 public:
  // Where an item stands; kept by its owner, told by `move(item, place)` whenever it changes.
  struct Place {
    std::uint32_t bucket = 0;
    std::uint32_t at = 0;
  };

  static std::uint32_t BucketOf(std::uint64_t weight) {
    CHECK(weight > 0);
    return weight == 1 ? 0 : static_cast<std::uint32_t>(64 - std::countl_zero(weight - 1));
  }
  static std::uint64_t Rounded(std::uint32_t bucket) { return std::uint64_t{1} << bucket; }

  Place Add(Item item, std::uint64_t weight) {
    const std::uint32_t bucket = BucketOf(weight);
    if (buckets_.size() <= bucket) buckets_.resize(bucket + 1);
    buckets_[bucket].push_back(item);
    total_ += Rounded(bucket);
    return Place{bucket, static_cast<std::uint32_t>(buckets_[bucket].size() - 1)};
  }
  template <typename Move>
  void Remove(const Place& place, Move move) {
    auto& bucket = buckets_[place.bucket];
    total_ -= Rounded(place.bucket);
    if (place.at + 1 != bucket.size()) {
      bucket[place.at] = bucket.back();
      move(bucket[place.at], place);
    }
    bucket.pop_back();
    // The next to move, most likely; by then it is at hand.
    if constexpr (std::is_pointer_v<Item>) {
      if (!bucket.empty()) __builtin_prefetch(bucket.back());
    }
  }

  Item Get(const Place& place) const { return buckets_[place.bucket][place.at]; }

  // The sum of all rounded weights.
  std::uint64_t total() const { return total_; }
  bool empty() const { return total_ == 0; }
  // The item at that point of [0, total()); `rounded` is its rounded weight.
  Item At(std::uint64_t point, std::uint64_t& rounded) const {
    for (std::uint32_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      const std::uint64_t sum = buckets_[bucket].size() * Rounded(bucket);
      if (point < sum) {
        rounded = Rounded(bucket);
        return buckets_[bucket][point >> bucket];
      }
      point -= sum;
    }
    CHECK(false);
    return Item{};
  }
  template <typename F>
  void ForEach(F f) const {
    for (const auto& bucket : buckets_) {
      for (const Item& item : bucket) f(item);
    }
  }
  std::size_t MemoryBytes() const {
    std::size_t bytes = buckets_.capacity() * sizeof(buckets_[0]);
    for (const auto& bucket : buckets_) bytes += bucket.capacity() * sizeof(Item);
    return bytes;
  }

 private:
  std::vector<std::vector<Item>> buckets_;
  std::uint64_t total_ = 0;
};

}  // namespace allot
