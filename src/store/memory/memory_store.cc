// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <algorithm>

#include "base/check.h"

namespace allot {
namespace {

constexpr int kSweptPerTidy = 16;

// Erases the entries of a map by (job, ...) that belong to `job`.
template <typename Map>
void EraseOf(Map& map, JobId job) {
  auto it = map.lower_bound({job, std::numeric_limits<typename Map::key_type::second_type>::min()});
  while (it != map.end() && it->first.first == job) it = map.erase(it);
}

}  // namespace

void MemoryDisk::FailNextCommit(Error error) {
  const std::lock_guard lock(mutex_);
  next_error_ = std::move(error);
}

void MemoryDisk::SetFull(bool full) {
  const std::lock_guard lock(mutex_);
  full_ = full;
}

std::shared_ptr<MemoryDisk> MemoryDisk::FindBackup(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const auto it = backups_.find(file);
  return it == backups_.end() ? nullptr : it->second;
}

Result<std::unique_ptr<Store>> MemoryStore::Open(std::shared_ptr<MemoryDisk> disk) {
  const std::lock_guard lock(disk->mutex_);
  if (disk->in_use_) return Error{Code::kStoreLocked, "the memory disk is in use by another store", ""};
  disk->in_use_ = true;
  return std::unique_ptr<Store>(new MemoryStore(disk));
}

MemoryStore::~MemoryStore() {
  const std::lock_guard lock(disk_->mutex_);
  disk_->in_use_ = false;
}

Result<void> MemoryStore::Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) {
  // A copy, so that the callbacks run without the lock.
  std::unique_lock lock(disk_->mutex_);
  const MemoryDisk::Content content = disk_->content_;
  lock.unlock();
  std::set<JobId> removed;
  std::set<JobId> removed_sets;
  for (const Removal& removal : content.garbage) {
    if (removal.job) removed.insert(removal.job);  // none: a payload set that goes alone
    removed_sets.insert(removal.payload_set);
  }
  for (const auto& [job, blob] : content.jobs) {
    if (removed.contains(job)) continue;
    if (Result<void> done = loader.on_record({job, kJobPage, blob}); !done) return done;
  }
  for (const auto& [key, blob] : content.pages) {
    if (removed.contains(key.first)) continue;
    if (Result<void> done = loader.on_record({key.first, key.second, blob}); !done) return done;
  }
  for (const auto& [position, events] : content.journal) {
    if (position <= content.floor) continue;
    if (Result<void> done = loader.on_events(position, events); !done) return done;
  }
  std::vector<JobId> dead;
  for (const JobId set : content.loose) {
    if (!removed_sets.contains(set) && !live_set(set)) dead.push_back(set);
  }
  lock.lock();
  for (const JobId set : dead) disk_->content_.garbage.push_back({JobId{}, set});
  disk_->content_.loose.clear();
  return {};
}

Position MemoryStore::LastPosition() const {
  const std::lock_guard lock(disk_->mutex_);
  return disk_->content_.last_position;
}

Result<void> MemoryStore::Commit(std::span<const Batch> batches) {
  const std::lock_guard lock(disk_->mutex_);
  if (disk_->next_error_) {
    const Error error = *disk_->next_error_;
    disk_->next_error_.reset();
    return error;
  }
  if (disk_->full_) return Error{Code::kDiskFull, "the memory disk is full", ""};
  MemoryDisk::Content& content = disk_->content_;
  for (const Batch& batch : batches) {
    if (!batch.events.empty()) {
      if (batch.position <= content.last_position && content.last_position <= content.floor) {
        // Everything was folded, and numbering began anew.
        content.journal.clear();
        content.floor = content.last_position = 0;
      }
      CHECK(batch.position > content.last_position);
      content.journal[batch.position] = batch.events;
      content.last_position = batch.position;
    }
    for (const PayloadSegment& segment : batch.payloads) {
      if (segment.payloads.empty()) continue;
      content.payloads[{segment.set, segment.first}] = segment.payloads;
      if (!batch.payloads_spoken_for) content.loose.insert(segment.set);
    }
    for (const Outcome& outcome : batch.outcomes) content.outcomes[{outcome.job, outcome.index}] = outcome;
    for (const Record& record : batch.records) {
      if (record.page == kJobPage) {
        content.jobs[record.job] = record.blob;
        if (record.blob.empty()) content.jobs.erase(record.job);
      } else {
        content.pages[{record.job, record.page}] = record.blob;
        if (record.blob.empty()) content.pages.erase({record.job, record.page});
      }
    }
    for (const Removal& removal : batch.removals) content.garbage.push_back(removal);
    content.floor = std::max(content.floor, batch.floor);
  }
  content.last_position = std::max(content.last_position, content.floor);
  return {};
}

Result<bool> MemoryStore::Tidy() {
  const std::lock_guard lock(disk_->mutex_);
  MemoryDisk::Content& content = disk_->content_;
  content.journal.erase(content.journal.begin(), content.journal.upper_bound(content.floor));
  for (int i = 0; i < kSweptPerTidy && !content.garbage.empty(); ++i) {
    const Removal removal = content.garbage.front();
    content.garbage.pop_front();
    if (removal.job) {
      content.jobs.erase(removal.job);
      EraseOf(content.pages, removal.job);
      EraseOf(content.outcomes, removal.job);
    }
    if (removal.payload_set) {
      EraseOf(content.payloads, removal.payload_set);
      content.loose.erase(removal.payload_set);
    }
  }
  return !content.garbage.empty();
}

Result<void> MemoryStore::PutSetting(std::string_view name, std::string_view value) {
  const std::lock_guard lock(disk_->mutex_);
  disk_->content_.settings[std::string(name)] = value;
  return {};
}

Result<std::optional<std::string>> MemoryStore::GetSetting(std::string_view name) {
  const std::lock_guard lock(disk_->mutex_);
  const auto it = disk_->content_.settings.find(name);
  if (it == disk_->content_.settings.end()) return std::optional<std::string>();
  return std::optional<std::string>(it->second);
}

Result<std::optional<std::string>> MemoryStore::ReadPayload(JobId set, std::int64_t index) {
  const std::lock_guard lock(disk_->mutex_);
  const auto& payloads = disk_->content_.payloads;
  auto it = payloads.upper_bound({set, index});
  if (it == payloads.begin()) return std::optional<std::string>();
  --it;
  const auto& [key, segment] = *it;
  if (key.first != set || (key.second == kCommonPayload && index != kCommonPayload)) {
    return std::optional<std::string>();
  }
  const auto nth = static_cast<std::size_t>(index - key.second);
  if (nth >= segment.size()) return std::optional<std::string>();
  return std::optional<std::string>(segment[nth]);
}

Result<std::vector<Outcome>> MemoryStore::ReadOutcomes(const OutcomeQuery& query) {
  const std::lock_guard lock(disk_->mutex_);
  std::vector<Outcome> out;
  std::size_t bytes = 0;
  const auto& outcomes = disk_->content_.outcomes;
  for (auto it = outcomes.lower_bound({query.job, query.from}); it != outcomes.end(); ++it) {
    const Outcome& outcome = it->second;
    if (outcome.job != query.job || outcome.index >= query.end || out.size() >= query.max) break;
    bytes += outcome.text.size();
    if (!out.empty() && bytes > query.max_bytes) break;
    out.push_back(outcome);
  }
  return out;
}

Result<void> MemoryStore::Backup(const std::string& file) {
  const std::lock_guard lock(disk_->mutex_);
  auto copy = std::make_shared<MemoryDisk>();
  copy->content_ = disk_->content_;
  if (!disk_->backups_.emplace(file, std::move(copy)).second) {
    return Error{Code::kStoreFailed, file + " exists", "choose the name of a new file"};
  }
  return {};
}

Result<Store::Usage> MemoryStore::ReadUsage() {
  const std::lock_guard lock(disk_->mutex_);
  const MemoryDisk::Content& content = disk_->content_;
  Usage usage;
  for (const auto& [position, events] : content.journal) usage.file_bytes += events.size();
  for (const auto& [job, blob] : content.jobs) usage.file_bytes += blob.size();
  for (const auto& [key, blob] : content.pages) usage.file_bytes += blob.size();
  for (const auto& [key, outcome] : content.outcomes) usage.file_bytes += outcome.text.size();
  for (const auto& [key, segment] : content.payloads) {
    for (const std::string& payload : segment) usage.file_bytes += payload.size();
  }
  usage.journal_rows = content.journal.size();
  usage.garbage_jobs = content.garbage.size();
  return usage;
}

}  // namespace allot
