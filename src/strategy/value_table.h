// What jobs are grouped by, queue-wide: for every key that some strategy names its values, how many tasks of each are
// leased, and when each was served last. One table for all indices of a queue.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "strategy/pick_job.h"

namespace allot {

using KeyId = std::uint32_t;
using ValueId = std::uint32_t;
inline constexpr ValueId kNoValue = 0;  // jobs without the key

class ValueTable {
 public:
  explicit ValueTable(const JobKeys& keys) : job_keys_(keys) {}

  // The key, with one more user. `tag` not empty: whether the job has that tag, instead of a value.
  KeyId Use(const StrategyKey& key, const std::string& tag = {});
  void Unuse(KeyId key);
  // Must the jobs that are there still be told to it? Until Complete() only those that were (Know) count.
  bool Fresh(KeyId key) const { return keys_[key].fresh; }
  void Complete(KeyId key) { keys_[key].fresh = false; }
  template <typename F>
  void ForEachKey(F f) const {
    for (KeyId key = 0; key < keys_.size(); ++key) {
      if (keys_[key].users > 0) f(key);
    }
  }

  // The value of such a text, kept as long as the key is used.
  ValueId Pin(KeyId key, const std::string& text);
  // The value that the job has. REQUIRES: the job is known.
  ValueId Of(KeyId key, const PickJob& job) const;

  // A job is there (ended ones included), or gone; its values count its leases and its last pick.
  void Know(KeyId key, const PickJob& job);
  void Forget(KeyId key, const PickJob& job);
  // One task more, or less, is leased. Returns the value.
  ValueId Leased(KeyId key, const PickJob& job, const Stamp& at);
  ValueId Returned(KeyId key, const PickJob& job);
  // The job waits, or does no more. True if that changed when its value counts as served last.
  bool Open(KeyId key, const PickJob& job);
  bool Close(KeyId key, const PickJob& job);

  struct Value {
    std::string text;           // as GroupText; empty for kNoValue
    std::uint32_t members = 0;  // jobs, and pins
    std::uint32_t leased = 0;
    std::uint32_t weight = 1;
    Stamp served;  // stays, also when the job that it comes from is gone
    // Ids of waiting jobs, smallest first, and when they were submitted: while it was never served. What does not wait
    // any more is dropped when it comes to the top.
    std::vector<std::pair<std::uint64_t, std::int64_t>> first;
    std::unordered_set<std::uint64_t> waits;  // those that do

    Stamp Served() const {
      if (served.serial != 0 || first.empty()) return served;
      return Stamp{first.front().second, 0};
    }
  };
  const Value& Get(KeyId key, ValueId value) const { return keys_[key].values[value]; }

  // Weights of `fair`, by key and value as people write them. Tells which values changed.
  void SetWeights(std::unordered_map<std::string, std::uint32_t> weights);
  std::size_t MemoryBytes() const;

 private:
  struct Key {
    StrategyKey key;
    std::string tag;
    std::uint32_t users = 0;  // 0: free
    bool fresh = false;
    std::unordered_map<std::string, ValueId> ids;
    std::deque<Value> values;  // their texts stay where they are
    std::vector<ValueId> free;
  };
  GroupText TextFor(const Key& key, const PickJob& job) const;
  ValueId Intern(Key& key, const std::string& text);
  void Release(Key& key, ValueId value);
  std::uint32_t WeightOf(const Key& key, const std::string& text) const;
  static void Settle(Value& value);

  const JobKeys& job_keys_;
  std::deque<Key> keys_;                                    // orders refer to texts in them
  std::unordered_map<std::string, std::uint32_t> weights_;  // `user.acme`
};

}  // namespace allot
