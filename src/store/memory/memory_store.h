// SPDX-License-Identifier: Apache-2.0
// A store in memory, for tests. What is committed lives on a MemoryDisk, which outlives the store: a test that destroys
// the store and opens another on the same disk has seen a crash.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace allot {

// Threading: all methods may be called from any thread.
class MemoryDisk {
 public:
  MemoryDisk() = default;
  MemoryDisk(const MemoryDisk&) = delete;
  MemoryDisk& operator=(const MemoryDisk&) = delete;

  // The next Commit() fails with it, writing nothing.
  void FailNextCommit(Error error);
  // While true, every Commit() fails with kDiskFull.
  void SetFull(bool full);
  // A copy that Backup() made, none if there is no such.
  std::shared_ptr<MemoryDisk> FindBackup(const std::string& file);

 private:
  friend class MemoryStore;

  struct Content {
    std::map<Position, std::string> journal;
    std::map<JobId, std::string> jobs;
    std::map<std::pair<JobId, std::uint32_t>, std::string> pages;
    std::map<std::pair<JobId, std::int64_t>, std::vector<std::string>> payloads;
    std::set<JobId> loose;  // sets that Load() asks about
    std::map<std::pair<JobId, TaskIndex>, Outcome> outcomes;
    std::deque<Removal> garbage;
    std::map<std::string, std::string, std::less<>> settings;
    Position floor = 0;
    Position last_position = 0;
  };

  std::mutex mutex_;
  // All below: guarded by mutex_.
  Content content_;
  std::optional<Error> next_error_;
  bool full_ = false;
  bool in_use_ = false;
  std::map<std::string, std::shared_ptr<MemoryDisk>> backups_;
};

class MemoryStore final : public Store {
 public:
  // Fails with kStoreLocked while another store is on this disk.
  static Result<std::unique_ptr<Store>> Open(std::shared_ptr<MemoryDisk> disk);
  ~MemoryStore() override;

  Result<void> Load(const Loader& loader, const std::function<bool(JobId set)>& live_set) override;
  Position LastPosition() const override;
  Result<void> Commit(std::span<const Batch> batches) override;
  Result<bool> Tidy() override;
  Result<void> PutSetting(std::string_view name, std::string_view value) override;
  Result<std::optional<std::string>> GetSetting(std::string_view name) override;
  Result<std::optional<std::string>> ReadPayload(JobId set, std::int64_t index) override;
  Result<std::vector<Outcome>> ReadOutcomes(const OutcomeQuery& query) override;
  // To be found by MemoryDisk::FindBackup(); makes no real file.
  Result<void> Backup(const std::string& file) override;
  // file_bytes is the number of bytes handed in.
  Result<Usage> ReadUsage() override;

 private:
  explicit MemoryStore(std::shared_ptr<MemoryDisk> disk) : disk_(std::move(disk)) {}

  const std::shared_ptr<MemoryDisk> disk_;
};

}  // namespace allot
