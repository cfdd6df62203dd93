// SPDX-License-Identifier: Apache-2.0
// Remembers what was used last: up to kKept things and kKeptBytes, and what was there before those.
//
// It lies in many small tables, so that none takes long to grow. What is forgotten is freed a table at a time, with
// each thing that comes.
//
// Threading: confined to one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace allot {

template <typename Key, typename Kept, typename Hash = std::hash<Key>>
class RecentMemory {
 public:
  // Things that are remembered: at least so many, unless they are large, and at most twice that.
  static constexpr std::size_t kKept = 65'536;
  static constexpr std::size_t kKeptBytes = 16 * 1024 * 1024;

  // Valid until the next call.
  Kept* Find(const Key& key) {
    if (young_.empty()) return nullptr;
    const std::size_t at = PlaceOf(key);
    if (const auto found = young_[at].find(key); found != young_[at].end()) return &found->second.kept;
    if (old_.empty()) return nullptr;
    const auto found = old_[at].find(key);
    if (found == old_[at].end()) return nullptr;
    return &Put(key, std::move(found->second.kept), found->second.bytes);
  }
  // `bytes`: what key and value have on the heap, about.
  Kept& Put(const Key& key, Kept kept, std::size_t bytes) {
    if (size_ >= kKept || bytes_ > kKeptBytes) {
      Bury(old_);
      old_ = std::exchange(young_, {});
      size_ = bytes_ = 0;
    }
    Sweep();
    if (young_.empty()) young_.resize(kTables);
    ++size_;
    bytes_ += bytes;
    return (young_[PlaceOf(key)][key] = {std::move(kept), bytes}).kept;
  }
  // Frees some of what was forgotten; Put() does so too.
  void Sweep() {
    if (!buried_.empty()) buried_.pop_back();
  }
  void Clear() {
    Bury(young_);
    Bury(old_);
    size_ = bytes_ = 0;
  }

 private:
  static constexpr std::size_t kTables = 256;
  struct Entry {
    Kept kept;
    std::size_t bytes;
  };
  using Table = std::unordered_map<Key, Entry, Hash>;

  static std::size_t PlaceOf(const Key& key) { return (Hash()(key) >> 40) % kTables; }
  void Bury(std::vector<Table>& tables) {
    for (Table& table : tables) {
      if (!table.empty()) buried_.push_back(std::move(table));
    }
    tables.clear();
  }

  std::vector<Table> young_, old_;  // empty, or so many tables
  std::vector<Table> buried_;
  std::size_t size_ = 0, bytes_ = 0;  // of the young ones
};

}  // namespace allot
