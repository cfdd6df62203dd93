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
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"

namespace allot {

// Key: copyable, with operator<; no two are equal. Item: what belongs to a key, small.
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
  // REQUIRES: empty.
  void SetWidth(std::size_t width) {
    CHECK(size_ == 0);
    width_ = width;
    root_ = NewNode(true);
  }

  // REQUIRES: the key is not there; `mask` has width() words.
  void Insert(const Key& key, const Item& item, Mask mask) {
    std::unique_ptr<Node> right = InsertBelow(*root_, key, item, mask);
    ++size_;
    if (right) {
      auto root = NewNode(false);
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
      auto child = std::move(root_->children[0]);
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
      while (at < node->count && (node->masks[at * width_ + word] & flag) == 0) ++at;
      if (at == node->count) {
        CHECK(node == root_.get());
        return nullptr;
      }
      if (node->leaf) return &node->items[at];
      node = node->children[at].get();
    }
  }

  std::size_t MemoryBytes() const { return BytesBelow(*root_); }

 private:
  static constexpr std::size_t kFanout = 32;

  struct Node {
    bool leaf = true;
    std::size_t count = 0;
    std::vector<Key> keys;  // of a child: the smallest below it
    std::vector<Item> items;
    std::vector<std::unique_ptr<Node>> children;
    std::vector<std::uint64_t> masks;  // `width_` words each
  };

  std::unique_ptr<Node> NewNode(bool leaf) const {
    auto node = std::make_unique<Node>();
    node->leaf = leaf;
    node->keys.reserve(kFanout);
    node->masks.reserve(kFanout * width_);
    if (leaf) {
      node->items.reserve(kFanout);
    } else {
      node->children.reserve(kFanout);
    }
    return node;
  }

  // The last entry whose key is not above `key`; the first, if all are.
  static std::size_t Place(const Node& node, const Key& key) {
    const auto above = std::upper_bound(node.keys.begin(), node.keys.end(), key);
    return above == node.keys.begin() ? 0 : static_cast<std::size_t>(above - node.keys.begin()) - 1;
  }

  static std::ptrdiff_t At(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

  // The OR of all masks of `child` becomes the one that its parent has for it.
  void Gather(Node& parent, std::size_t at) {
    const Node& child = *parent.children[at];
    std::uint64_t* out = &parent.masks[at * width_];
    std::fill_n(out, width_, 0);
    for (std::size_t i = 0; i < child.count; ++i) {
      for (std::size_t w = 0; w < width_; ++w) out[w] |= child.masks[i * width_ + w];
    }
    parent.keys[at] = child.keys.front();
  }

  void Adopt(Node& parent, std::size_t at, std::unique_ptr<Node> child) {
    parent.keys.insert(parent.keys.begin() + At(at), child->keys.front());
    parent.masks.insert(parent.masks.begin() + At(at * width_), width_, 0);
    parent.children.insert(parent.children.begin() + At(at), std::move(child));
    ++parent.count;
    Gather(parent, at);
  }

  // Moves entries [from, count) of `node` to the end of `to`.
  void MoveTail(Node& node, std::size_t from, Node& to) {
    to.keys.insert(to.keys.end(), node.keys.begin() + At(from), node.keys.end());
    node.keys.erase(node.keys.begin() + At(from), node.keys.end());
    to.masks.insert(to.masks.end(), node.masks.begin() + At(from * width_), node.masks.end());
    node.masks.erase(node.masks.begin() + At(from * width_), node.masks.end());
    if (node.leaf) {
      to.items.insert(to.items.end(), node.items.begin() + At(from), node.items.end());
      node.items.erase(node.items.begin() + At(from), node.items.end());
    } else {
      std::move(node.children.begin() + At(from), node.children.end(), std::back_inserter(to.children));
      node.children.erase(node.children.begin() + At(from), node.children.end());
    }
    to.count += node.count - from;
    node.count = from;
  }

  // Makes room: the upper half as a node of its own.
  std::unique_ptr<Node> SplitFull(Node& node) {
    if (node.count < kFanout) return nullptr;
    auto right = NewNode(node.leaf);
    MoveTail(node, kFanout / 2, *right);
    return right;
  }

  // Returns what was split off to the right of `node`.
  std::unique_ptr<Node> InsertBelow(Node& node, const Key& key, const Item& item, Mask mask) {
    auto right = SplitFull(node);
    Node& target = right && !(key < right->keys.front()) ? *right : node;
    if (target.leaf) {
      const auto place = std::lower_bound(target.keys.begin(), target.keys.end(), key);
      const auto at = static_cast<std::size_t>(place - target.keys.begin());
      CHECK(place == target.keys.end() || key < *place);
      target.keys.insert(place, key);
      target.items.insert(target.items.begin() + At(at), item);
      target.masks.insert(target.masks.begin() + At(at * width_), mask.begin(), mask.end());
      ++target.count;
      return right;
    }
    const std::size_t at = Place(target, key);
    auto below = InsertBelow(*target.children[at], key, item, mask);
    Gather(target, at);
    if (below) Adopt(target, at + 1, std::move(below));
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
    EraseBelow(*node.children[at], key);
    const std::size_t left = node.children[at]->count;
    if (left == 0) {
      Remove(node, at);
      return;
    }
    Gather(node, at);
    if (left >= kFanout / 4 || node.count == 1) return;
    // Neighbours that fit into one node, with some room, become one.
    const std::size_t first = at + 1 < node.count ? at : at - 1;
    if (node.children[first]->count + node.children[first + 1]->count > kFanout / 2) return;
    MoveTail(*node.children[first + 1], 0, *node.children[first]);
    Remove(node, first + 1);
    Gather(node, first);
  }

  void Remove(Node& node, std::size_t at) {
    node.keys.erase(node.keys.begin() + At(at));
    node.masks.erase(node.masks.begin() + At(at * width_), node.masks.begin() + At((at + 1) * width_));
    if (node.leaf) {
      node.items.erase(node.items.begin() + At(at));
    } else {
      node.children.erase(node.children.begin() + At(at));
    }
    --node.count;
  }

  void SetMaskBelow(Node& node, const Key& key, Mask mask) {
    const std::size_t at = Place(node, key);
    CHECK(at < node.count);
    if (node.leaf) {
      CHECK(!(node.keys[at] < key) && !(key < node.keys[at]));
      std::copy(mask.begin(), mask.end(), node.masks.begin() + At(at * width_));
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
      std::uint64_t& word = node.masks[i * width_ + bit / 64];
      word = on ? word | flag : word & ~flag;
      any = any || on;
    }
    return any;
  }

  std::size_t BytesBelow(const Node& node) const {
    std::size_t bytes = sizeof(Node) + node.keys.capacity() * sizeof(Key) + node.items.capacity() * sizeof(Item) +
                        node.children.capacity() * sizeof(void*) + node.masks.capacity() * sizeof(std::uint64_t);
    for (const auto& child : node.children) bytes += BytesBelow(*child);
    return bytes;
  }

  std::size_t width_;
  std::unique_ptr<Node> root_;
  std::size_t size_ = 0;
};

}  // namespace allot
