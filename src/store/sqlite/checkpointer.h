// SPDX-License-Identifier: Apache-2.0
// Waits for the disk where commits should not: moves the write-ahead log into the file, or only syncs the log, on a
// thread and a connection of its own.
//
// Threading: the methods are called from the store thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "store/sqlite/sql.h"

namespace allot::sqlite {

class Checkpointer {
 public:
  // `sync_mark` runs on the thread, each time that something was moved.
  Checkpointer(std::string file, std::string vfs, std::function<Result<void>()> sync_mark)
      : file_(std::move(file)), vfs_(std::move(vfs)), sync_mark_(std::move(sync_mark)) {}
  ~Checkpointer();
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  // Begins to move what is in the log now, unless it is busy already. The thread begins with the first request.
  // `generation` comes back with the answer: a log that began anew meanwhile makes it void.
  void Request(std::uint64_t generation);
  // Begins to make durable what is in the log now, which has the journal's groups up to `applied`, unless it is at that
  // already.
  void RequestSync(std::uint64_t applied);
  bool busy();
  // Waits while busy, at most so long.
  void Wait(std::chrono::milliseconds at_most);

  struct Answer {
    std::uint64_t generation = 0;
    int moved_pages = 0;
    std::optional<Error> error;
  };
  // Of the last request that came to its end; each is given once.
  std::optional<Answer> TakeAnswer();
  // Groups up to this one are durable in file or log, as far as was asked for; or why not.
  Result<std::uint64_t> synced();

 private:
  void Run();
  void Start();
  Answer Move(std::uint64_t generation);
  Result<void> SyncLog();
  Result<void> Connect();

  const std::string file_;
  const std::string vfs_;
  const std::function<Result<void>()> sync_mark_;
  Database db_;  // the thread's alone
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below: guarded by mutex_.
  bool stopping_ = false;
  std::optional<std::uint64_t> request_;
  std::optional<Answer> answer_;
  std::optional<std::uint64_t> sync_request_;
  std::uint64_t synced_ = 0;
  std::optional<Error> sync_error_;
  std::thread thread_;
};

// Makes what is in the log of `db` durable.
Result<void> SyncLogOf(Database& db);

}  // namespace allot::sqlite
