// SPDX-License-Identifier: Apache-2.0
// Packed payload segments that were just written or read, the least recently used out first. A set's payloads never
// change, so nothing here can be stale.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "store/packed/packing.h"

namespace allot::sqlite {

class PayloadCache {
 public:
  explicit PayloadCache(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // A segment that has a task's payload, and maybe those of its neighbours.
  struct Found {
    std::shared_ptr<const UnpackedPayloads> segment;
    std::int64_t first = 0;

    bool Covers(std::int64_t index) const {
      return index >= first && static_cast<std::uint64_t>(index - first) < segment->count();
    }
    // REQUIRES: Covers().
    std::string_view At(std::int64_t index) const { return segment->At(static_cast<std::uint64_t>(index - first)); }
  };
  // None: not here, the file knows.
  std::optional<Found> FindSegment(JobId set, std::int64_t index);
  // The payload alone.
  std::optional<std::string> Find(JobId set, std::int64_t index);
  // A segment that is there already stays. `ahead`: read without being asked for.
  void Put(JobId set, std::int64_t first, std::shared_ptr<const UnpackedPayloads> segment, bool ahead);
  void Remove(JobId set);

  // How many segments to read at a miss: more as long as those read ahead were asked for soon after, few if not.
  std::size_t ReadAhead();

  std::size_t bytes() const;

 private:
  struct Key {
    JobId set;
    std::int64_t first;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry : boost::intrusive::list_base_hook<> {
    std::shared_ptr<const UnpackedPayloads> segment;
    bool ahead = false;
    const Key* key = nullptr;
  };
  using Map = std::map<Key, Entry>;

  static std::size_t Cost(const Entry& entry);
  void Erase(Map::iterator it);

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  Map map_;
  boost::intrusive::list<Entry> recent_;  // most recently used first
  std::size_t bytes_ = 0;
  std::size_t ahead_ = 8;
  std::size_t ahead_used_ = 0;  // of those put ahead since the last miss
};

}  // namespace allot::sqlite
