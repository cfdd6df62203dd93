// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/checkpointer.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>

namespace allot::sqlite {

Checkpointer::~Checkpointer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::Request(std::uint64_t generation) {
  {
    const std::lock_guard lock(mutex_);
    if (request_) return;
    request_ = generation;
    answer_.reset();
    Start();
  }
  changed_.notify_all();
}

void Checkpointer::RequestSync(std::uint64_t applied) {
  {
    const std::lock_guard lock(mutex_);
    if (sync_request_ || synced_ >= applied) return;
    sync_request_ = applied;
    Start();
  }
  changed_.notify_all();
}

Result<std::uint64_t> Checkpointer::synced() {
  const std::lock_guard lock(mutex_);
  if (sync_error_) return *sync_error_;
  return synced_;
}

void Checkpointer::Start() {
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "allot-log");
}

bool Checkpointer::busy() {
  const std::lock_guard lock(mutex_);
  return request_.has_value();
}

void Checkpointer::Wait(std::chrono::milliseconds at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, at_most, [this] { return !request_; });
}

std::optional<Checkpointer::Answer> Checkpointer::TakeAnswer() {
  const std::lock_guard lock(mutex_);
  return std::exchange(answer_, std::nullopt);
}

void Checkpointer::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || request_ || sync_request_; });
    if (stopping_) return;
    // Somebody may wait for room in the journal.
    if (sync_request_) {
      const std::uint64_t applied = *sync_request_;
      lock.unlock();
      const Result<void> done = SyncLog();
      lock.lock();
      if (done) {
        synced_ = std::max(synced_, applied);
      } else if (done.error().code != Code::kDiskFull) {
        sync_error_ = done.error();  // without space nothing was tried yet: it is asked for again
      }
      sync_request_.reset();
      continue;
    }
    const std::uint64_t generation = *request_;
    lock.unlock();
    Answer answer = Move(generation);
    lock.lock();
    answer_ = std::move(answer);
    request_.reset();
    changed_.notify_all();
  }
}

Result<void> Checkpointer::Connect() {
  if (db_.get() != nullptr) return {};
  Result<Database> db = Database::Open(file_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs_);
  if (!db) return db.error();
  // Closing the store moves the rest; synchronous decides whether the file is synced before the log begins anew.
  if (Result<void> set = db->Exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"); !set) return set;
  db_ = std::move(*db);
  return {};
}

Result<void> Checkpointer::SyncLog() {
  if (Result<void> done = Connect(); !done) return done;
  if (Result<void> done = SyncLogOf(db_); !done) return done;
  // An old mark is weaker, not wrong.
  static_cast<void>(sync_mark_());
  return {};
}

Checkpointer::Answer Checkpointer::Move(std::uint64_t generation) {
  Answer answer;
  answer.generation = generation;
  if (Result<void> done = Connect(); !done) {
    answer.error = done.error();
    return answer;
  }
  int log = 0;
  int moved = 0;
  const int code = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &log, &moved);
  // Busy: the store thread is at it.
  if (code == SQLITE_OK || code == SQLITE_BUSY) {
    answer.moved_pages = moved > 0 ? moved : 0;
    // An old mark is weaker, not wrong.
    static_cast<void>(sync_mark_());
  } else {
    answer.error = db_.ErrorOf(code, "move the log into the file");
  }
  return answer;
}

Result<void> SyncLogOf(Database& db) {
  // What is not in the log any more is in the file, durably: a log begins anew only then. Reading opens the log.
  if (Result<std::int64_t> read = db.QueryInt("SELECT applied FROM state"); !read) return read.error();
  sqlite3_file* log = nullptr;
  const int found = sqlite3_file_control(db.get(), "main", SQLITE_FCNTL_JOURNAL_POINTER, &log);
  if (found != SQLITE_OK) return db.ErrorOf(found, "find its log");
  if (log == nullptr || log->pMethods == nullptr) return Error{Code::kStoreFailed, "there is no log to be synced", ""};
  const int code = log->pMethods->xSync(log, SQLITE_SYNC_NORMAL);
  if (code != SQLITE_OK)
    return Error{Code::kStoreFailed, "cannot sync the log: " + std::string(sqlite3_errstr(code)), ""};
  return {};
}

}  // namespace allot::sqlite
