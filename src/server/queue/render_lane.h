// A thread for what takes long and is bounded in nothing but its size: putting large answers into words, parsing large
// bodies. Neither an engine thread nor the sockets of a network thread wait for it. Askers take turns by the time that
// theirs takes.
//
// Threading: Enter() and Post() from any thread; Finish() from one, none of its own.
#pragma once

#include <time.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/ops/exception_log.h"
#include "server/queue/closure.h"
#include "server/queue/fair_queue.h"
#include "server/queue/mailbox.h"

namespace allot {

class RenderLane {
 public:
  // That may wait: what waits holds memory.
  static constexpr std::size_t kMostOfOne = 256;
  static constexpr std::size_t kMostOfAll = 2048;

  // What a piece of work throws is logged there; the next one goes on.
  explicit RenderLane(ExceptionLog& exceptions) : exceptions_(exceptions) {
    thread_ = std::thread([this] { Loop(); });
  }
  ~RenderLane() { Finish(); }

  // A place for one piece of work, which is kept until it is done. False: as many wait as may, of this asker or of all.
  [[nodiscard]] bool Enter(AskerId asker) {
    std::lock_guard lock(mutex_);
    if (entered_ >= kMostOfAll) return false;
    std::size_t& of_one = by_asker_[asker];
    if (of_one >= kMostOfOne) return false;
    ++of_one;
    ++entered_;
    return true;
  }
  // Those of one asker in order. Dropped once it is finished.
  // With kEntered it has the place that Enter() gave; with kUnbounded something else bounds how many there are.
  enum class Place { kEntered, kUnbounded };
  void Post(AskerId asker, Closure closure, Place place) { mailbox_.Push({asker, std::move(closure), place}); }
  // Does what has been posted, and ends.
  void Finish() {
    mailbox_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Item {
    AskerId asker;
    Closure closure;
    Place place;
  };

  void Loop() {
    FairQueue<Item> waiting;
    std::vector<Item> items;
    for (;;) {
      Mailbox<Item>::Deadline now;
      if (!waiting.empty()) now = std::chrono::steady_clock::time_point();
      const bool open = mailbox_.Take(items, now);
      for (Item& item : items) {
        const AskerId asker = item.asker;
        waiting.Push(asker, std::move(item));
      }
      items.clear();
      if (waiting.empty()) {
        if (!open) return;
        continue;
      }
      auto [asker, item] = waiting.Pop();
      const std::int64_t began = ReadCpu();
      exceptions_.Survives("an answer", [&closure = item.closure] { closure(); });
      item.closure = {};
      if (item.place == Place::kEntered) Leave(asker);
      waiting.Charge(asker, ReadCpu() - began);
    }
  }
  void Leave(AskerId asker) {
    std::lock_guard lock(mutex_);
    --entered_;
    const auto of_one = by_asker_.find(asker);
    if (--of_one->second == 0) by_asker_.erase(of_one);
  }
  static std::int64_t ReadCpu() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  ExceptionLog& exceptions_;
  std::mutex mutex_;
  std::size_t entered_ = 0;                            // guarded by mutex_
  std::unordered_map<AskerId, std::size_t> by_asker_;  // guarded by mutex_
  Mailbox<Item> mailbox_;
  std::thread thread_;
};

}  // namespace allot
