// SPDX-License-Identifier: Apache-2.0
#include "store/packed/payload_cache.h"

#include <algorithm>

namespace allot::sqlite {
namespace {

constexpr std::size_t kMinAhead = 4;
constexpr std::size_t kMaxAhead = 64;
constexpr std::size_t kEntryBytes = 192;  // of map node, string and shared pointer

}  // namespace

std::size_t PayloadCache::Cost(const Entry& entry) { return entry.segment->bytes() + kEntryBytes; }

void PayloadCache::Erase(Map::iterator it) {
  bytes_ -= Cost(it->second);
  recent_.erase(recent_.iterator_to(it->second));
  map_.erase(it);
}

std::optional<PayloadCache::Found> PayloadCache::FindSegment(JobId set, std::int64_t index) {
  const std::lock_guard lock(mutex_);
  auto it = map_.upper_bound(Key{set, index});
  if (it == map_.begin()) return std::nullopt;
  --it;
  if (it->first.set != set) return std::nullopt;
  Entry& entry = it->second;
  Found found{entry.segment, it->first.first};
  if (!found.Covers(index)) return std::nullopt;
  if (entry.ahead) {
    entry.ahead = false;
    ++ahead_used_;
  }
  recent_.splice(recent_.begin(), recent_, recent_.iterator_to(entry));
  return found;
}

std::optional<std::string> PayloadCache::Find(JobId set, std::int64_t index) {
  const std::optional<Found> found = FindSegment(set, index);
  if (!found) return std::nullopt;
  return std::string(found->At(index));
}

void PayloadCache::Put(JobId set, std::int64_t first, std::shared_ptr<const UnpackedPayloads> segment, bool ahead) {
  if (segment->bytes() + kEntryBytes > max_bytes_ / 4) return;
  const std::lock_guard lock(mutex_);
  const auto [it, added] = map_.try_emplace(Key{set, first});
  if (!added) return;
  Entry& entry = it->second;
  entry.segment = std::move(segment);
  entry.ahead = ahead;
  entry.key = &it->first;
  recent_.push_front(entry);
  bytes_ += Cost(entry);
  while (bytes_ > max_bytes_) Erase(map_.find(*recent_.back().key));
}

void PayloadCache::Remove(JobId set) {
  const std::lock_guard lock(mutex_);
  auto it = map_.lower_bound(Key{set, INT64_MIN});
  while (it != map_.end() && it->first.set == set) Erase(it++);
}

std::size_t PayloadCache::ReadAhead() {
  const std::lock_guard lock(mutex_);
  ahead_ = ahead_used_ * 2 >= ahead_ ? std::min(ahead_ * 2, kMaxAhead) : std::max(ahead_ / 2, kMinAhead);
  ahead_used_ = 0;
  return ahead_;
}

std::size_t PayloadCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace allot::sqlite
