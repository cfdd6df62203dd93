// SPDX-License-Identifier: Apache-2.0
// A block of a policy or strategy as an index has it: with numbers for all that it refers to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "strategy/blocks/block.h"
#include "strategy/index/value_table.h"

namespace allot::order {

// A job's place in any of the orders: less comes first.
struct Key {
  std::uint64_t a = 0, b = 0, c = 0;
  friend bool operator==(const Key&, const Key&) = default;
  friend bool operator<(const Key& x, const Key& y) {
    if (x.a != y.a) return x.a < y.a;
    return x.b != y.b ? x.b < y.b : x.c < y.c;
  }
};
// Order-preserving.
inline std::uint64_t Unsigned(std::int64_t value) {
  return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63);
}

// How a block at the innermost place orders jobs; there is one object for each such block.
struct JobOrder {
  Key (*key)(const PickJob& job);  // of no two jobs the same, and the same as long as the job is open
  bool rotates = false;            // but for a pick from it, which moves it backwards
};
using Order = const JobOrder*;
inline Key KeyOf(Order order, const PickJob& job) { return order->key(job); }

struct Plan {
  const Block* block = nullptr;
  // Of its traits what is looked at in every comparison.
  Passes passes = Passes::kAll;
  Compares compares = Compares::kInside;
  bool rotates = false;       // a leaf: a pick from a job moves it backwards
  bool percent = false;       // max is a percentage
  std::size_t key = 0;        // which of the index's keys
  ValueId wanted = kNoValue;  // the value of one that has it
  std::uint64_t max = 1;
  Order order = nullptr;       // a leaf; null: it draws
  std::size_t list = 0;        // which of a cell's orders; leaves that have one
  std::size_t leaf = 0;        // number among the leaves; of a block, that of its first
  std::size_t bin = 0;         // number among the blocks with bins
  std::size_t link = 0;        // theirs: which of a cell's links
  std::size_t fair = 0;        // number among the blocks `fair`
  std::size_t leaves_end = 0;  // number behind the last leaf that it has or is; its first one is `leaf`
  std::vector<std::unique_ptr<Plan>> inner;

  // Is that leaf in it?
  bool Has(const Plan& other) const { return leaf <= other.leaf && other.leaf < leaves_end; }
  // A leaf that draws among the queued tasks of all jobs.
  bool draws() const { return compares == Compares::kChance; }
  // May it keep a job from being given that it has a value for?
  bool may_block() const { return passes != Passes::kAll && passes != Passes::kBranches; }
};

}  // namespace allot::order
