// SPDX-License-Identifier: Apache-2.0
#include "store/journal/young.h"

#include <algorithm>

#include "base/bytes.h"

namespace allot::journal {
namespace {

bool HasEvents(const Group& group) {
  return std::any_of(group.view.batches.begin(), group.view.batches.end(),
                     [](const BatchView& batch) { return !batch.events.empty(); });
}

// Drops the references into `group` of one key, which are its oldest.
template <typename Map>
void Drop(Map& map, std::uint64_t key, const Group& group) {
  const auto it = map.find(key);
  if (it == map.end()) return;
  std::erase_if(it->second, [&](const auto& ref) { return ref.group == &group; });
  if (it->second.empty()) map.erase(it);
}

}  // namespace

void Young::Add(std::shared_ptr<const Group> group) {
  const Group& added = *group;
  const std::lock_guard lock(mutex_);
  for (const BatchView& batch : added.view.batches) {
    for (const SegmentView& segment : batch.payloads) payloads_[segment.set.value].push_back({&added, segment});
    for (const OutcomeView& outcome : batch.outcomes) outcomes_[outcome.job.value].push_back({&added, outcome});
  }
  bytes_ += Cost(added);
  event_rows_ += HasEvents(added) ? 1 : 0;
  removals_ += CountRemovals(added);
  groups_.push_back(std::move(group));
}

void Young::Forget(const Group& group) {
  bytes_ -= Cost(group);
  event_rows_ -= HasEvents(group) ? 1 : 0;
  removals_ -= CountRemovals(group);
}

void Young::Remove(std::uint64_t sequence) {
  const std::lock_guard lock(mutex_);
  const bool all = groups_.empty() || groups_.back()->sequence <= sequence;
  if (all) {
    payloads_.clear();
    outcomes_.clear();
  }
  while (!groups_.empty() && groups_.front()->sequence <= sequence) {
    const Group& group = *groups_.front();
    for (const BatchView& batch : group.view.batches) {
      if (all) break;
      for (const SegmentView& segment : batch.payloads) Drop(payloads_, segment.set.value, group);
      for (const OutcomeView& outcome : batch.outcomes) Drop(outcomes_, outcome.job.value, group);
    }
    Forget(group);
    groups_.pop_front();
  }
}

std::optional<Young::Payload> Young::FindPayload(JobId set, std::int64_t index) const {
  if (empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto it = payloads_.find(set.value);
  if (it == payloads_.end()) return std::nullopt;
  for (auto ref = it->second.rbegin(); ref != it->second.rend(); ++ref) {
    const SegmentView& segment = ref->segment;
    if (index < segment.first) continue;
    const auto nth = static_cast<std::uint64_t>(index - segment.first);
    ByteReader reader(segment.packed);
    const std::uint64_t count = reader.Varint();
    if (nth >= count) continue;
    if (count == 1) return Payload{PinnedText(reader.Text(), ref->group->shared_from_this()), segment.first, nullptr};
    auto unpacked = sqlite::UnpackedPayloads::From(std::string(segment.packed));
    const std::string_view text = unpacked ? unpacked->At(nth) : std::string_view();
    return Payload{PinnedText(text, unpacked), segment.first, unpacked};
  }
  return std::nullopt;
}

Young::FoundOutcomes Young::FindOutcomes(const Store::OutcomeQuery& query) const {
  FoundOutcomes found;
  if (empty()) return found;
  const std::lock_guard lock(mutex_);
  const auto it = outcomes_.find(query.job.value);
  if (it == outcomes_.end()) return found;
  for (const OutcomeRef& ref : it->second) {
    if (ref.outcome.index < query.from || ref.outcome.index >= query.end) continue;
    found.outcomes.push_back({ref.group->sequence, ref.outcome});
  }
  if (found.outcomes.empty()) return found;
  const std::uint64_t first = found.outcomes.front().sequence;
  for (const auto& group : groups_) {
    if (group->sequence >= first) found.groups.push_back(group);
  }
  return found;
}

std::optional<std::string> Young::FindSetting(std::string_view name) const {
  if (empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    for (const auto& [key, value] : (*group)->view.settings) {
      if (key == name) return std::string(value);
    }
  }
  return std::nullopt;
}

std::vector<std::shared_ptr<const Group>> Young::All() const {
  const std::lock_guard lock(mutex_);
  return {groups_.begin(), groups_.end()};
}

}  // namespace allot::journal
