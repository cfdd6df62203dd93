// SPDX-License-Identifier: Apache-2.0
// The commands that wait for a queue, and who runs them: one thread at a time, in the order in which they were brought.
//
// A network thread that brings commands runs them itself, with all that waits before them, if nobody is at it and all
// of it is light: so an idle queue answers without a hop from thread to thread. Otherwise they stay for whoever is at
// it, or for the engine thread, which has the timers and all that may take long, and goes before others when it is due.
//
// Threading:  Push(), Bring() and Close() from any thread; TakeMore() and Leave() from the one whose Bring() gave kRun;
//             Take() from the engine thread.
// Invariants: commands are taken under the lock that makes the taker the one who runs them, all of them at once: so
// none
//             overtakes another. While a thread runs them nobody else does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "server/queue/round.h"

namespace allot {

class CommandBox {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Deadline = std::optional<Time>;
  enum class Brought {
    kClosed,  // nothing was taken in
    kLeft,    // others run them
    kRun,     // it is on the caller to run what it got, and then to Leave()
  };

  // False, leaving them where they are, once it is closed. Empties `commands`.
  bool Push(std::vector<Command>& commands) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    Add(commands);
    WakeIfNobody();
    return true;
  }
  bool Push(Command command) {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    heavy_ += command.light() ? 0 : 1;
    commands_.push_back(std::move(command));
    WakeIfNobody();
    return true;
  }

  // Puts `commands` there, and leaves it empty, or with all that there is to run.
  Brought Bring(std::vector<Command>& commands) {
    std::lock_guard lock(mutex_);
    if (closed_) return Brought::kClosed;
    Add(commands);
    if (runner_ == Runner::kNobody && heavy_ == 0 && !due_) {
      runner_ = Runner::kBringer;
      commands.swap(commands_);
      return Brought::kRun;
    }
    WakeIfNobody();
    return Brought::kLeft;
  }
  // After a round: what has come meanwhile, if that may run here too. REQUIRES: `out` is empty.
  bool TakeMore(std::vector<Command>& out) {
    std::lock_guard lock(mutex_);
    if (commands_.empty() || heavy_ > 0 || due_ || closed_) return false;
    out.swap(commands_);
    return true;
  }
  // The turn is over. The engine thread is to come at `deadline`, if not before.
  void Leave(Deadline deadline) {
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      runner_ = Runner::kNobody;
      if (deadline && (!deadline_ || *deadline < *deadline_)) {
        deadline_ = deadline;
        wake = true;
        due_ = due_ || *deadline <= std::chrono::steady_clock::now();
      }
      wake = wake || due_ || closed_ || !commands_.empty();
    }
    if (wake) wakeup_.notify_one();
  }

  // For the engine thread: waits until there is something, it is closed, or the deadline has come, and nobody else runs
  // commands; then `out` has what was there, and nobody else runs any until the next call. False once it is closed and
  // empty. REQUIRES: `out` is empty.
  bool Take(std::vector<Command>& out, Deadline deadline) {
    std::unique_lock lock(mutex_);
    runner_ = Runner::kNobody;
    deadline_ = deadline;
    for (;;) {
      const bool reached = deadline_ && *deadline_ <= std::chrono::steady_clock::now();
      if (runner_ == Runner::kNobody && (reached || closed_ || !commands_.empty())) break;
      // What is light is run by whoever is at it; he leaves when this thread is due.
      due_ = runner_ != Runner::kNobody && (reached || closed_ || heavy_ > 0);
      if (deadline_ && !reached) {
        wakeup_.wait_until(lock, *deadline_);
      } else {
        wakeup_.wait(lock);
      }
    }
    runner_ = Runner::kEngine;
    due_ = false;
    heavy_ = 0;
    out.swap(commands_);
    return !out.empty() || !closed_;
  }

  // What is in it can still be taken.
  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    wakeup_.notify_one();
  }

 private:
  enum class Runner { kNobody, kBringer, kEngine };

  void Add(std::vector<Command>& commands) {
    for (const Command& command : commands) heavy_ += command.light() ? 0 : 1;
    if (commands_.empty()) {
      commands_.swap(commands);
    } else {
      commands_.insert(commands_.end(), std::make_move_iterator(commands.begin()),
                       std::make_move_iterator(commands.end()));
    }
    commands.clear();
  }
  void WakeIfNobody() {
    if (runner_ == Runner::kNobody) wakeup_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable wakeup_;  // of the engine thread
  std::vector<Command> commands_;
  std::size_t heavy_ = 0;            // of them, those that only the engine thread may run
  Runner runner_ = Runner::kEngine;  // until its first Take()
  Deadline deadline_;                // of the engine thread, while it waits
  bool due_ = false;                 // it wants to go next
  bool closed_ = false;
};

}  // namespace allot
