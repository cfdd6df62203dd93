// SPDX-License-Identifier: Apache-2.0
// An ordered set of keys, each with a mask of bits: the first key that has a given bit, in logarithmic time.
//
// A B+-tree whose inner nodes hold, for every child, the smallest key and the OR of all masks below it. A search goes
// down where the bit is set and never turns back; a change is one path.
//
// Use:        masks are `width` words; SetWidth() makes room for more bits.
// Threading:  confined to one thread.
// Invariants: every node but the root has at least one entry; all leaves are at the same depth.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "base/check.h"

namespace allot {

// Key: plain data with operator<; no two are equal. Item: what belongs to a key, small.
template <typename Key, typename Item>
class MaskTree {
 public:
  using Mask = std::span<const std::uint64_t>;

  explicit MaskTree(std::size_t width = 1) : width_(width), root_(NewNode(true)) {}

  std::size_t size() const { return size_; }
  std::size_t width() const { return width_; }

  // Throws all entries away.
  void Clear() {
    root_ = NewNode(true);
    size_ = 0;
  }
  // Throws entries away from the end, about that many; true if none are left. What is left is in order.
  bool Shrink(std::size_t entries) {
    for (std::size_t gone = 0; size_ > 0 && gone < entries;) {
      const std::size_t dropped = DropLast(*root_);
      gone += dropped;
      size_ -= dropped;
    }
    return size_ == 0;
  }
  // REQUIRES: empty.
  void SetWidth(std::size_t width) {
    CHECK(size_ == 0);
    width_ = width;
    root_ = NewNode(true);
  }

  // REQUIRES: the key is not there; `mask` has width() words.
  void Insert(const Key& key, const Item& item, Mask mask) {
    Owned right = InsertBelow(*root_, key, item, mask);
    ++size_;
    if (right) {
      auto root = NewNode(false);
      root->level = static_cast<std::uint8_t>(root_->level + 1);
      Adopt(*root, 0, std::move(root_));
      Adopt(*root, 1, std::move(right));
      root_ = std::move(root);
    }
  }

  // REQUIRES: the key is there.
  void Erase(const Key& key) {
    EraseBelow(*root_, key);
    --size_;
    while (!root_->leaf && root_->count == 1) {
      Owned child(root_->children[0]);
      root_->count = 0;
      root_ = std::move(child);
    }
  }

  // REQUIRES: the key is there.
  void SetMask(const Key& key, Mask mask) { SetMaskBelow(*root_, key, mask); }

  // Sets or clears one bit of every entry, as `has(item)` says.
  template <typename F>
  void SetBit(std::uint32_t bit, F has) {
    SetBitBelow(*root_, bit, has);
  }

  // The item of the first key that has the bit; null if there is none.
  const Item* First(std::uint32_t bit) const {
    const std::size_t word = bit / 64;
    const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
    if (word >= width_) return nullptr;
    const Node* node = root_.get();
    for (;;) {
      std::size_t at = 0;
      while (at < node->count && (node->masks()[at * width_ + word] & flag) == 0) ++at;
      if (at == node->count) {
        CHECK(node == root_.get());
        return nullptr;
      }
      if (node->leaf) return &node->items[at];
      node = node->children[at];
    }
  }

  // The first key of all, with its item. REQUIRES: there is one.
  std::pair<Key, Item> Front() const {
    const Node* node = root_.get();
    while (!node->leaf) node = node->children[0];
    return {node->keys[0], node->items[0]};
  }

  // The last item of all. REQUIRES: there is one.
  const Item& Back() const {
    const Node* node = root_.get();
    while (!node->leaf) node = node->children[node->count - 1];
    return node->items[node->count - 1];
  }
  // Throws it away, without a look at keys or masks: nothing may follow but more of this.
  void PopBack() {
    PopLast(*root_);
    --size_;
  }

  // Adds the OR of all masks to `out`, which has width() words.
  void AddMask(std::uint64_t* out) const {
    for (std::size_t i = 0; i < root_->count; ++i) {
      for (std::size_t w = 0; w < width_; ++w) out[w] |= root_->masks()[i * width_ + w];
    }
  }

  // Calls f(item) for all, in order.
  template <typename F>
  void ForEach(F f) const {
    EachBelow(*root_, f);
  }

  std::size_t MemoryBytes() const { return BytesBelow(*root_); }

 private:
  static constexpr std::size_t kFanout = 31;  // a leaf of plain keys is 1,000 bytes, which a pool has pieces for
  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Item>);

  struct Node;
  struct Free {
    void operator()(Node* node) const {
      if (!node->leaf) {
        for (std::size_t i = 0; i < node->count; ++i) Free()(node->children[i]);
      }
      node->~Node();
      ::operator delete(node);
    }
  };
  using Owned = std::unique_ptr<Node, Free>;

  // One piece of memory: the masks, `width_` words each, follow.
  struct Node {
    bool leaf = true;
    std::uint8_t level = 0;  // above the leaves, where it is not one
    std::uint32_t count = 0;
    Key keys[kFanout];  // of a child: the smallest below it
    union {
      Item items[kFanout];
      Node* children[kFanout];  // owned
    };
    std::uint64_t* masks() { return reinterpret_cast<std::uint64_t*>(this + 1); }
    const std::uint64_t* masks() const { return reinterpret_cast<const std::uint64_t*>(this + 1); }
  };
  static_assert(alignof(Node) >= alignof(std::uint64_t));

  std::size_t NodeBytes() const { return sizeof(Node) + kFanout * width_ * sizeof(std::uint64_t); }

  Owned NewNode(bool leaf) const {
    Node* node = new (::operator new(NodeBytes())) Node;
    node->leaf = leaf;
    return Owned(node);
  }

  // The last entry whose key is not above `key`; the first, if all are.
  static std::size_t Place(const Node& node, const Key& key) {
    // Most come and go at either end.
    if (node.count < 2 || key < node.keys[1]) return 0;
    if (!(key < node.keys[node.count - 1])) return node.count - 1;
    const Key* above = std::upper_bound(node.keys, node.keys + node.count, key);
    return above == node.keys ? 0 : static_cast<std::size_t>(above - node.keys) - 1;
  }

  // The child, which is to be changed. Of many leaves each is likely to be far away: all of its keys come at once.
  static Node& Child(const Node& node, std::size_t at) {
    Node* child = node.children[at];
    if (node.level == 1) {
      const auto* line = reinterpret_cast<const std::byte*>(child);
      for (std::size_t i = 0; i < offsetof(Node, items); i += 64) __builtin_prefetch(line + i);
    }
    return *child;
  }

  // Makes room for an entry, which is to be filled in.
  void Open(Node& node, std::size_t at) {
    const std::size_t after = node.count - at;
    std::memmove(node.keys + at + 1, node.keys + at, after * sizeof(Key));
    if (node.leaf) {
      std::memmove(node.items + at + 1, node.items + at, after * sizeof(Item));
    } else {
      std::memmove(node.children + at + 1, node.children + at, after * sizeof(Node*));
    }
    std::uint64_t* masks = node.masks();
    std::memmove(masks + (at + 1) * width_, masks + at * width_, after * width_ * sizeof(std::uint64_t));
    ++node.count;
  }

  void Remove(Node& node, std::size_t at) {
    const std::size_t after = node.count - at - 1;
    std::memmove(node.keys + at, node.keys + at + 1, after * sizeof(Key));
    if (node.leaf) {
      std::memmove(node.items + at, node.items + at + 1, after * sizeof(Item));
    } else {
      std::memmove(node.children + at, node.children + at + 1, after * sizeof(Node*));
    }
    std::uint64_t* masks = node.masks();
    std::memmove(masks + at * width_, masks + (at + 1) * width_, after * width_ * sizeof(std::uint64_t));
    --node.count;
  }

  // Moves entries [from, count) of `node` to the end of `to`.
  void MoveTail(Node& node, std::size_t from, Node& to) {
    const std::size_t moved = node.count - from;
    std::memcpy(to.keys + to.count, node.keys + from, moved * sizeof(Key));
    if (node.leaf) {
      std::memcpy(to.items + to.count, node.items + from, moved * sizeof(Item));
    } else {
      std::memcpy(to.children + to.count, node.children + from, moved * sizeof(Node*));
    }
    std::memcpy(to.masks() + to.count * width_, node.masks() + from * width_, moved * width_ * sizeof(std::uint64_t));
    to.count += static_cast<std::uint32_t>(moved);
    node.count = static_cast<std::uint32_t>(from);
  }

  // The OR of all masks of a child becomes the one that its parent has for it; its smallest key too.
  void Gather(Node& parent, std::size_t at) {
    const Node& child = *parent.children[at];
    std::uint64_t* out = parent.masks() + at * width_;
    const std::uint64_t* masks = child.masks();
    if (width_ == 1) {  // nearly always
      std::uint64_t all = 0;
      for (std::size_t i = 0; i < child.count; ++i) all |= masks[i];
      *out = all;
    } else {
      std::fill_n(out, width_, 0);
      for (std::size_t i = 0; i < child.count; ++i) {
        for (std::size_t w = 0; w < width_; ++w) out[w] |= masks[i * width_ + w];
      }
    }
    parent.keys[at] = child.keys[0];
  }

  void Adopt(Node& parent, std::size_t at, Owned child) {
    Open(parent, at);
    parent.children[at] = child.release();
    Gather(parent, at);
  }

  // Makes room: the upper half as a node of its own. Keys often come in order, and then what is behind them stays full.
  Owned SplitFull(Node& node, const Key& key) {
    if (node.count < kFanout) return nullptr;
    Owned right = NewNode(node.leaf);
    right->level = node.level;
    const std::size_t last = node.leaf ? kFanout : kFanout - 1;  // a leaf may begin with the new key
    MoveTail(node, node.keys[kFanout - 1] < key ? last : key < node.keys[0] ? 1 : kFanout / 2, *right);
    return right;
  }

  // Returns what was split off to the right of `node`.
  Owned InsertBelow(Node& node, const Key& key, const Item& item, Mask mask) {
    Owned right = SplitFull(node, key);
    Node& target = right && (right->count == 0 || !(key < right->keys[0])) ? *right : node;
    if (target.leaf) {
      Key* end = target.keys + target.count;
      const Key* place = target.count == 0 || end[-1] < key ? end : std::lower_bound(target.keys, end, key);
      const auto at = static_cast<std::size_t>(place - target.keys);
      CHECK(place == end || key < *place);
      Open(target, at);
      target.keys[at] = key;
      target.items[at] = item;
      std::copy(mask.begin(), mask.end(), target.masks() + at * width_);
      return right;
    }
    const std::size_t at = Place(target, key);
    Owned below = InsertBelow(Child(target, at), key, item, mask);
    if (below) {
      Gather(target, at);
      Adopt(target, at + 1, std::move(below));
    } else {
      // Nothing went away: no need to look at the others.
      for (std::size_t w = 0; w < width_; ++w) target.masks()[at * width_ + w] |= mask[w];
      target.keys[at] = target.children[at]->keys[0];
    }
    return right;
  }

  void EraseBelow(Node& node, const Key& key) {
    const std::size_t at = Place(node, key);
    CHECK(at < node.count);
    if (node.leaf) {
      CHECK(!(node.keys[at] < key) && !(key < node.keys[at]));
      Remove(node, at);
      return;
    }
    EraseBelow(Child(node, at), key);
    const std::size_t left = node.children[at]->count;
    if (left == 0) {
      Free()(node.children[at]);
      Remove(node, at);
      return;
    }
    Gather(node, at);
    if (left >= kFanout / 4 || node.count == 1) return;
    // Neighbours that fit into one node, with some room, become one.
    const std::size_t first = at + 1 < node.count ? at : at - 1;
    Node& kept = *node.children[first];
    Node& emptied = *node.children[first + 1];
    if (kept.count + emptied.count > kFanout / 2) return;
    MoveTail(emptied, 0, kept);
    Free()(&emptied);
    Remove(node, first + 1);
    Gather(node, first);
  }

  // The last leaf below, with all that it has; returns how much that was.
  std::size_t DropLast(Node& node) {
    if (node.leaf) return std::exchange(node.count, 0);
    Node& last = *node.children[node.count - 1];
    const std::size_t dropped = DropLast(last);
    if (last.count > 0) {
      Gather(node, node.count - 1);
      return dropped;
    }
    Free()(&last);
    if (--node.count == 0) node.leaf = true;
    return dropped;
  }

  void PopLast(Node& node) {
    if (!node.leaf) {
      Node& last = *node.children[node.count - 1];
      PopLast(last);
      if (last.count > 0) return;
      Free()(&last);
    }
    if (--node.count == 0) node.leaf = true;
  }

  void SetMaskBelow(Node& node, const Key& key, Mask mask) {
    const std::size_t at = Place(node, key);
    CHECK(at < node.count);
    if (node.leaf) {
      CHECK(!(node.keys[at] < key) && !(key < node.keys[at]));
      std::copy(mask.begin(), mask.end(), node.masks() + at * width_);
      return;
    }
    SetMaskBelow(*node.children[at], key, mask);
    Gather(node, at);
  }

  template <typename F>
  bool SetBitBelow(Node& node, std::uint32_t bit, F& has) {
    const std::uint64_t flag = std::uint64_t{1} << (bit % 64);
    bool any = false;
    for (std::size_t i = 0; i < node.count; ++i) {
      const bool on = node.leaf ? has(node.items[i]) : SetBitBelow(*node.children[i], bit, has);
      std::uint64_t& word = node.masks()[i * width_ + bit / 64];
      word = on ? word | flag : word & ~flag;
      any = any || on;
    }
    return any;
  }

  template <typename F>
  static void EachBelow(const Node& node, F& f) {
    for (std::size_t i = 0; i < node.count; ++i) {
      if (node.leaf) {
        f(node.items[i]);
      } else {
        EachBelow(*node.children[i], f);
      }
    }
  }

  std::size_t BytesBelow(const Node& node) const {
    std::size_t bytes = NodeBytes();
    for (std::size_t i = 0; !node.leaf && i < node.count; ++i) bytes += BytesBelow(*node.children[i]);
    return bytes;
  }

  std::size_t width_;
  Owned root_;
  std::size_t size_ = 0;
};

}  // namespace allot
