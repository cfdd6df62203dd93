#include "store/sqlite/checkpointer.h"

#include <pthread.h>

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
    if (!thread_.joinable()) {
      thread_ = std::thread([this] { Run(); });
      pthread_setname_np(thread_.native_handle(), "allot-log");
    }
  }
  changed_.notify_all();
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
    changed_.wait(lock, [this] { return stopping_ || request_; });
    if (stopping_) return;
    const std::uint64_t generation = *request_;
    lock.unlock();
    Answer answer = Move(generation);
    lock.lock();
    answer_ = std::move(answer);
    request_.reset();
    changed_.notify_all();
  }
}

Checkpointer::Answer Checkpointer::Move(std::uint64_t generation) {
  Answer answer;
  answer.generation = generation;
  if (db_.get() == nullptr) {
    Result<Database> db = Database::Open(file_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs_);
    if (db) {
      db_ = std::move(*db);
      // Closing the store moves the rest; synchronous decides whether the file is synced before the log begins anew.
      const Result<void> set = db_.Exec("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
      if (!set) answer.error = set.error();
    } else {
      answer.error = db.error();
    }
    if (answer.error) return answer;
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

}  // namespace allot::sqlite
