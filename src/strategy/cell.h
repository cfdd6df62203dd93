// The jobs that are alike for one strategy: of one class, with the same values under all keys that it names.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include "strategy/mask_tree.h"
#include "strategy/pick_job.h"
#include "strategy/value_table.h"
#include "strategy/weighted_set.h"

namespace allot::order {

enum class Order : std::uint8_t { kOldest, kNewest, kPriority, kLeastRecent };

// A job's place in any of the orders: less comes first.
struct Key {
  std::uint64_t a = 0, b = 0, c = 0;
  friend auto operator<=>(const Key&, const Key&) = default;
};
Key KeyOf(Order order, const PickJob& job);

// Jobs in one order: in a plain vector while they are few.
class JobList {
 public:
  void Insert(const Key& key, PickJob* job);
  void Erase(const Key& key);
  // REQUIRES: not empty.
  PickJob* Front() const { return many_ ? *many_->Front() : few_.front().second; }
  bool empty() const { return many_ ? many_->size() == 0 : few_.empty(); }
  std::size_t MemoryBytes() const;

 private:
  static constexpr std::size_t kFew = 24;
  std::vector<std::pair<Key, PickJob*>> few_;
  std::unique_ptr<MaskTree<Key, PickJob*>> many_;
};

// Jobs by the number of their ready tasks.
class JobLottery {
 public:
  void Add(PickJob& job);
  void Remove(PickJob& job);
  PickJob* Draw(Rng& rng) const;
  PickJob* Any() const;
  std::uint64_t tasks() const { return tasks_; }
  std::size_t MemoryBytes() const;

 private:
  struct Ticket {
    WeightedSet<PickJob*>::Place place;
    std::uint32_t weight = 0;
  };
  WeightedSet<PickJob*> jobs_;
  boost::unordered_flat_map<std::uint64_t, Ticket> tickets_;
  std::uint64_t tasks_ = 0;
};

// Where a cell stands in a leaf of the strategy.
struct LeafPlace {
  Key key;                // in an order
  void* group = nullptr;  // in `random`
  WeightedSet<struct Cell*>::Place place;
};

struct Cell {
  ClassId cls = kNoClass;
  std::uint32_t jobs = 0;
  bool placed = false;
  boost::container::small_vector<ValueId, 2> values;      // one for each key of the index
  boost::container::small_vector<std::uint32_t, 2> bins;  // one for each block with levels or a gate
  boost::container::small_vector<LeafPlace, 1> leaves;
  boost::container::small_vector<JobList, 1> orders;
  std::unique_ptr<JobLottery> lottery;                      // where the strategy has `random`
  boost::container::small_vector<std::uint32_t, 2> listed;  // its place in the lists of its values
  std::uint32_t listed_in_class = 0;
  const std::string* name = nullptr;  // in the index
};

}  // namespace allot::order
