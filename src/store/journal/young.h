// SPDX-License-Identifier: Apache-2.0
// The groups that the journal has and SQLite does not, for those who read: payloads, outcomes and settings are found
// here first.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/journal/group.h"
#include "store/packed/packing.h"
#include "store/store.h"

namespace allot::journal {

class Young {
 public:
  // Of one that was found here; `unpacked` is there if the segment holds more than one, and is worth to be kept.
  struct Payload {
    PinnedText text;
    std::int64_t first = 0;
    std::shared_ptr<const sqlite::UnpackedPayloads> unpacked;
  };
  struct FoundOutcomes {
    struct One {
      std::uint64_t sequence = 0;
      OutcomeView outcome;  // of one of `groups`
    };
    std::vector<One> outcomes;  // in the order they were written
    std::vector<std::shared_ptr<const Group>> groups;
  };

  void Add(std::shared_ptr<const Group> group);
  // SQLite has those up to `sequence`, and whoever asks it sees them.
  void Remove(std::uint64_t sequence);

  // None: not here, SQLite knows.
  std::optional<Payload> FindPayload(JobId set, std::int64_t index) const;
  FoundOutcomes FindOutcomes(const Store::OutcomeQuery& query) const;
  std::optional<std::string> FindSetting(std::string_view name) const;

  // In order.
  std::vector<std::shared_ptr<const Group>> All() const;

  bool empty() const { return bytes_.load(std::memory_order_relaxed) == 0; }
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  std::uint64_t event_rows() const { return event_rows_.load(std::memory_order_relaxed); }
  std::uint64_t removals() const { return removals_.load(std::memory_order_relaxed); }

 private:
  struct PayloadRef {
    const Group* group;
    SegmentView segment;
  };
  struct OutcomeRef {
    const Group* group;
    OutcomeView outcome;
  };

  static std::size_t Cost(const Group& group) { return kHeaderBytes + group.body.size(); }
  void Forget(const Group& group);

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  std::deque<std::shared_ptr<const Group>> groups_;
  std::unordered_map<std::uint64_t, std::vector<PayloadRef>> payloads_;  // by set
  std::unordered_map<std::uint64_t, std::vector<OutcomeRef>> outcomes_;  // by job
  // Written with the lock, read without.
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> event_rows_{0};
  std::atomic<std::uint64_t> removals_{0};
};

}  // namespace allot::journal
