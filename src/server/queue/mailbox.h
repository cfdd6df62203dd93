// SPDX-License-Identifier: Apache-2.0
// From many threads to one: whatever waits is taken as a whole.
//
// Threading: Push() and Close() from any thread; Take() from the one that owns it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace allot {

template <typename T>
class Mailbox {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // Moves all of `items` in and leaves it empty. False, leaving them where they are, once it is closed.
  bool Push(std::vector<T>& items) {
    if (items.empty()) return true;
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      if (items_.empty()) {
        items_.swap(items);
      } else {
        items_.insert(items_.end(), std::make_move_iterator(items.begin()), std::make_move_iterator(items.end()));
      }
      wake = sleeping_;
    }
    items.clear();
    if (wake) wakeup_.notify_one();
    return true;
  }

  // False, dropping `item`, once it is closed.
  bool Push(T item) {
    bool wake = false;
    {
      std::lock_guard lock(mutex_);
      if (closed_) return false;
      items_.push_back(std::move(item));
      wake = sleeping_;
    }
    if (wake) wakeup_.notify_one();
    return true;
  }

  // Waits until there is something, it is closed, or the deadline has come; then `out` has what was there.
  // False once it is closed and empty.
  // REQUIRES: `out` is empty.
  bool Take(std::vector<T>& out, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return !items_.empty() || closed_; };
    if (!ready()) {
      sleeping_ = true;
      if (deadline) {
        wakeup_.wait_until(lock, *deadline, ready);
      } else {
        wakeup_.wait(lock, ready);
      }
      sleeping_ = false;
    }
    out.swap(items_);
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
  std::mutex mutex_;
  std::condition_variable wakeup_;
  std::vector<T> items_;
  bool sleeping_ = false;
  bool closed_ = false;
};

}  // namespace allot
