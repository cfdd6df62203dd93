// SPDX-License-Identifier: Apache-2.0
// What jobs are grouped by, queue-wide: for every key that some strategy names its values, how many tasks of each are
// running, and when each was served last. One table for all indices of a queue.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/sharded_set.h"
#include "strategy/pick_job.h"
#include "strategy/trees/slot_array.h"
#include "strategy/trees/small_order.h"

namespace allot {

using KeyId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = 0;  // jobs without the key

class ValueTable {
 public:
  explicit ValueTable(const JobKeys& keys) : job_keys_(keys) {}

  // The key, with one more user. `tag` not empty: whether the job has that tag, instead of a value. `fair`: it must be
  // known when its values count as served last.
  KeyId Use(const StrategyKey& key, const std::string& tag = {}, bool fair = false);
  void Unuse(KeyId key);
  // Must the jobs that are there still be told to it? Until Complete() only those that were (Know) count.
  bool Fresh(KeyId key) const { return keys_[key].fresh; }
  void Complete(KeyId key) { keys_[key].fresh = false; }
  template <typename F>
  void ForEachKey(F f) const {
    for (const KeyId key : used_) f(key);
  }
  std::size_t used_keys() const { return used_.size(); }
  // What keys without users leave behind goes in steps, which are taken from the budget; true if all is gone.
  bool Clean(std::size_t& budget);

  // The value of such a text, kept until it is unpinned, or the key has no users.
  ValueId Pin(KeyId key, const std::string& text);
  void Unpin(KeyId key, ValueId value) { Release(keys_[key], value); }
  // The value that the job has. REQUIRES: the job is known.
  ValueId Of(KeyId key, const PickJob& job) const { return keys_[key].of_slot[job.slot]; }

  // A job is there (ended ones included), or gone; its values count its leases and its last pick.
  void Know(KeyId key, const PickJob& job);
  void Forget(KeyId key, const PickJob& job);
  // A job that is not known to it is gone: when it was picked may be what its value goes by. The value, if so.
  std::optional<ValueId> Remember(KeyId key, const PickJob& job);
  // One task more, or less, is running. Returns the value.
  ValueId Started(KeyId key, const PickJob& job, const Stamp& at);
  ValueId Returned(KeyId key, const PickJob& job, std::uint32_t count);
  // The job waits, or does no more. True if that changed when its value counts as served last.
  bool Open(KeyId key, const PickJob& job);
  bool Close(KeyId key, const PickJob& job);

  // Ids of waiting jobs and when they were submitted: while a value was never served.
  using Waiting = SmallOrder<std::uint64_t, std::int64_t>;
  struct Value {
    std::string text;           // as GroupText; empty for kNoValue
    std::uint32_t members = 0;  // jobs, and pins
    std::uint32_t running = 0;
    std::uint32_t weight = 1;
    Stamp served;                                  // stays, also when the job that it comes from is gone
    std::pair<std::uint64_t, std::int64_t> first;  // the first that waits; 0: none
    std::unique_ptr<Waiting> others;               // behind it

    Stamp Served() const { return served.serial != 0 || first.first == 0 ? served : Stamp{first.second, 0}; }
  };
  const Value& Get(KeyId key, ValueId value) const { return keys_[key].values[value]; }
  // What it is that the job has. REQUIRES: the job is known.
  const Value& GetOf(KeyId key, const PickJob& job) const {
    const Key& found = keys_[key];
    return found.values[found.of_slot[job.slot]];
  }

  // Weights of `fair`, by key and value as people write them. Gives the values whose weight changed.
  std::vector<std::pair<KeyId, ValueId>> SetWeights(std::unordered_map<std::string, std::uint32_t> weights);
  const std::unordered_map<std::string, std::uint32_t>& weights() const { return weights_; }
  // When such a value was served last, which may be longer ago than any job can tell; never, if nobody uses the key.
  // Where the key is there twice, as `fair` knows it.
  Stamp LastServed(const StrategyKey& key, const GroupText& text) const;
  std::size_t MemoryBytes() const;

 private:
  struct Key {
    StrategyKey key;
    std::string tag;
    bool fair = false;
    std::uint32_t users = 0;  // 0: free
    bool fresh = false;
    ShardedSet<ValueId> ids;
    SlotArray<Value> values;  // their texts stay where they are
    ValueId end = 0;
    std::vector<ValueId> free;
    SlotArray<ValueId> of_slot;  // what jobs have, by their slot
  };
  static std::uint64_t HashOf(const std::string& text) { return Mixed(std::hash<std::string>()(text)); }
  GroupText TextFor(const Key& key, const PickJob& job) const;
  ValueId Intern(Key& key, const std::string& text);
  void Release(Key& key, ValueId value);
  std::uint32_t WeightOf(const Key& key, const std::string& text) const;

  const JobKeys& job_keys_;
  std::vector<Key> keys_;  // orders refer to texts in them, which stay where they are
  std::vector<KeyId> used_;
  std::deque<Key> left_;                                    // of keys without users
  std::unordered_map<std::string, std::uint32_t> weights_;  // `user.acme`
};

}  // namespace allot
