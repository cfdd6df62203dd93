// SPDX-License-Identifier: Apache-2.0
// What one side (a job, a worker) shows to expressions: values by name, names without regard to case.
//
// An ad owns its values. Looking up costs one hash comparison per step of a binary search; names are hashed when the
// ad and the expression are made, not when they meet.
//
// Threading: made by one thread, then immutable and free to be shared.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "expr/value.h"

namespace allot::expr {

// A name as expressions and ads compare it: without regard to case.
using NameHash = std::uint64_t;
NameHash HashName(std::string_view name);
bool SameName(std::string_view a, std::string_view b);

class Arena;

class Ad {
 public:
  Ad();
  ~Ad();
  Ad(Ad&&) noexcept;
  Ad& operator=(Ad&&) noexcept;

  // Copies name and value, all that it points to included; replaces an earlier value of that name. UNDEFINED removes
  // it: a name without a value and a name that is not there are the same. REQUIRES: no ERROR in it.
  void Set(std::string_view name, const Value& value);
  // Null if there is none. Whoever looks often keeps the hash.
  const Value* Find(std::string_view name, NameHash hash) const {
    // Branch-free: which half is a coin toss, and a wrong guess costs more than the whole search.
    const NameHash* base = hashes_.data();
    std::size_t length = hashes_.size();
    if (length == 0) return nullptr;
    while (length > 1) {
      const std::size_t half = length / 2;
      base += base[half - 1] < hash ? half : 0;
      length -= half;
    }
    for (std::size_t at = static_cast<std::size_t>(base - hashes_.data()); at < hashes_.size() && hashes_[at] == hash;
         ++at) {
      const Entry& entry = entries_[at];
      if (entry.name == name || SameName(entry.name, name)) return &entry.value;
    }
    return nullptr;
  }
  const Value* Find(std::string_view name) const { return Find(name, HashName(name)); }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  std::size_t MemoryBytes() const;
  // In the order of their hashes.
  template <typename F>
  void ForEach(F f) const {
    for (const Entry& entry : entries_) f(entry.name, entry.value);
  }

 private:
  struct Entry {
    std::string_view name;
    Value value;
  };
  std::vector<NameHash> hashes_;  // sorted
  std::vector<Entry> entries_;    // of the hash in the same place
  std::unique_ptr<Arena> arena_;
};

}  // namespace allot::expr
