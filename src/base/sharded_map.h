// SPDX-License-Identifier: Apache-2.0
// A hash map of many small tables, so that none of them takes long when it grows.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot {

// `Hash` spreads over all bits.
template <typename Key, typename Value, typename Hash = std::hash<Key>>
class ShardedMap {
 public:
  std::size_t size() const { return size_; }

  // What is there under the key, or `value`, which is there from now on; and whether it is new. Valid until it is
  // erased.
  std::pair<Value*, bool> Insert(const Key& key, Value value) {
    if (size_ == kMost && shards_.size() == 1) Spread();
    const auto [at, fresh] = shards_[PlaceOf(key)].try_emplace(key, std::move(value));
    size_ += fresh ? 1 : 0;
    return {&at->second, fresh};
  }
  // Null: nothing is there.
  Value* Find(const Key& key) {
    Shard& shard = shards_[PlaceOf(key)];
    const auto found = shard.find(key);
    return found == shard.end() ? nullptr : &found->second;
  }
  const Value* Find(const Key& key) const { return const_cast<ShardedMap*>(this)->Find(key); }
  void Erase(const Key& key) { size_ -= shards_[PlaceOf(key)].erase(key); }

 private:
  static constexpr std::size_t kShards = 256;
  static constexpr std::size_t kMost = 2048;  // in one table, before there are more
  using Shard = std::unordered_map<Key, Value, Hash>;

  std::size_t PlaceOf(const Key& key) const { return shards_.size() == 1 ? 0 : (Hash()(key) >> 40) % kShards; }
  // Values stay where they are.
  void Spread() {
    Shard before = std::move(shards_[0]);
    shards_ = std::vector<Shard>(kShards);
    while (!before.empty()) {
      auto node = before.extract(before.begin());
      shards_[PlaceOf(node.key())].insert(std::move(node));
    }
  }

  std::vector<Shard> shards_ = std::vector<Shard>(1);
  std::size_t size_ = 0;
};

}  // namespace allot
