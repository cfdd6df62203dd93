// SPDX-License-Identifier: Apache-2.0
// Items in the order of their keys, of which only the first is asked for: a plain vector while they are few, a tree
// when they are many.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "strategy/trees/mask_tree.h"

namespace allot {

template <typename Key, typename Item>
class SmallOrder {
 public:
  // REQUIRES: the key is not there.
  void Insert(const Key& key, const Item& item) {
    if (many_) return many_->Insert(key, item, {});
    if (few_.size() == kFew) {
      many_ = std::make_unique<MaskTree<Key, Item>>(0);
      for (const auto& entry : few_) many_->Insert(entry.first, entry.second, {});
      few_ = {};
      return many_->Insert(key, item, {});
    }
    few_.insert(Place(key), {key, item});
  }
  // REQUIRES: the key is there.
  void Erase(const Key& key) {
    if (many_) {
      many_->Erase(key);
      if (many_->size() == 0) many_.reset();
      return;
    }
    const auto place = Place(key);
    CHECK(place != few_.end() && place->first == key);
    few_.erase(place);
  }
  // REQUIRES: not empty.
  std::pair<Key, Item> Front() const { return many_ ? many_->Front() : few_.front(); }
  bool empty() const { return !many_ && few_.empty(); }
  // Throws about that many away; true if none are left.
  bool Shrink(std::size_t entries) {
    few_ = {};
    if (many_ && many_->Shrink(entries)) many_.reset();
    return !many_;
  }
  std::size_t MemoryBytes() const {
    return few_.capacity() * sizeof(few_[0]) + (many_ ? sizeof(*many_) + many_->MemoryBytes() : 0);
  }

 private:
  static constexpr std::size_t kFew = 24;
  auto Place(const Key& key) {
    return std::lower_bound(few_.begin(), few_.end(), key,
                            [](const auto& entry, const Key& k) { return entry.first < k; });
  }
  std::vector<std::pair<Key, Item>> few_;
  std::unique_ptr<MaskTree<Key, Item>> many_;
};

}  // namespace allot
