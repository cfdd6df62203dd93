// SPDX-License-Identifier: Apache-2.0
// A hash set of many small tables, so that none of them takes long when it grows.
//
// Use: the caller brings the hash of what it looks for, spread over all bits, and knows it when it sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace allot {

template <typename Item>
class ShardedSet {
 public:
  std::size_t size() const { return size_; }

  // The item of that hash for which `same(item)`; null if there is none.
  template <typename Same>
  const Item* Find(std::uint64_t hash, Same same) const {
    if (size_ == 0) return nullptr;
    const Shard& shard = ShardOf(hash);
    if (shard.slots.empty()) return nullptr;
    const std::size_t mask = shard.slots.size() - 1;
    const auto mark = static_cast<std::uint32_t>(hash) | 1;
    for (std::size_t at = Home(mark, mask);; at = (at + 1) & mask) {
      const Slot& slot = shard.slots[at];
      if (slot.mark == 0) return nullptr;
      if (slot.mark == mark && same(slot.item)) return &slot.item;
    }
  }

  // REQUIRES: it is not there.
  void Insert(std::uint64_t hash, Item item) {
    if (shards_.empty()) shards_.resize(1);
    // More tables as soon as one is not enough: once, while they are small.
    if (shards_.size() == 1 && shards_[0].count == kMost) {
      std::vector<Slot> before = std::move(shards_[0].slots);
      shards_.clear();
      shards_.resize(kShards);
      for (Slot& slot : before) {
        if (slot.mark == 0) continue;
        Shard& shard = ShardOf(slot.high);
        Put(shard, std::move(slot));
      }
    }
    Put(ShardOf(hash), Slot{static_cast<std::uint32_t>(hash) | 1, static_cast<std::uint32_t>(hash >> 32), item});
    ++size_;
  }

  // REQUIRES: it is there.
  template <typename Same>
  void Erase(std::uint64_t hash, Same same) {
    Shard& shard = ShardOf(hash);
    const std::size_t mask = shard.slots.size() - 1;
    const auto mark = static_cast<std::uint32_t>(hash) | 1;
    std::size_t at = Home(mark, mask);
    while (shard.slots[at].mark != mark || !same(shard.slots[at].item)) {
      CHECK(shard.slots[at].mark != 0);
      at = (at + 1) & mask;
    }
    // Those behind it move up, as far as they may.
    for (std::size_t next = (at + 1) & mask; shard.slots[next].mark != 0; next = (next + 1) & mask) {
      const std::size_t home = Home(shard.slots[next].mark, mask);
      if (((next - home) & mask) < ((next - at) & mask)) continue;
      shard.slots[at] = shard.slots[next];
      at = next;
    }
    shard.slots[at] = Slot{};
    --shard.count;
    --size_;
    if (shard.count == 0) shard.slots = {};
  }

  template <typename F>
  void ForEach(F f) const {
    for (const Shard& shard : shards_) {
      for (const Slot& slot : shard.slots) {
        if (slot.mark != 0) f(slot.item);
      }
    }
  }

  // Nobody needs it any more: throws one of the tables away, with what is in it, and gives its bytes; 0: there is none
  // left. Nothing else may be called then but this, and what goes over all items.
  std::size_t DropTable() {
    while (!shards_.empty()) {
      const std::size_t bytes = shards_.back().slots.capacity() * sizeof(Slot);
      size_ -= shards_.back().count;
      shards_.pop_back();
      if (bytes > 0) return bytes;
    }
    return 0;
  }

  std::size_t MemoryBytes() const {
    std::size_t bytes = shards_.capacity() * sizeof(Shard);
    for (const Shard& shard : shards_) bytes += shard.slots.capacity() * sizeof(Slot);
    return bytes;
  }

 private:
  static constexpr std::size_t kShards = 256;
  static constexpr std::size_t kMost = 2048;  // in one table, before there are more

  struct Slot {
    std::uint32_t mark = 0;  // of the hash; 0: free
    std::uint32_t high = 0;  // of the hash
    Item item{};
  };
  struct Shard {
    std::vector<Slot> slots;
    std::size_t count = 0;
  };

  static std::size_t Home(std::uint32_t mark, std::size_t mask) { return (mark >> 1) & mask; }
  Shard& ShardOf(std::uint64_t hash) { return ShardOf(static_cast<std::uint32_t>(hash >> 32)); }
  const Shard& ShardOf(std::uint64_t hash) const {
    return shards_[shards_.size() == 1 ? 0 : static_cast<std::uint32_t>(hash >> 32) % kShards];
  }
  Shard& ShardOf(std::uint32_t high) { return shards_[shards_.size() == 1 ? 0 : high % kShards]; }

  static void Put(Shard& shard, Slot slot) {
    if ((shard.count + 1) * 4 > shard.slots.size() * 3) {
      std::vector<Slot> before(shard.slots.empty() ? 8 : shard.slots.size() * 2);
      std::swap(before, shard.slots);
      shard.count = 0;
      for (Slot& moved : before) {
        if (moved.mark != 0) Put(shard, std::move(moved));
      }
    }
    const std::size_t mask = shard.slots.size() - 1;
    std::size_t at = Home(slot.mark, mask);
    while (shard.slots[at].mark != 0) at = (at + 1) & mask;
    shard.slots[at] = std::move(slot);
    ++shard.count;
  }

  std::vector<Shard> shards_;
  std::size_t size_ = 0;
};

// Spreads over all bits.
inline std::uint64_t Mixed(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0x9E3779B97F4A7C15ull;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ull;
  return x ^ x >> 32;
}

}  // namespace allot
