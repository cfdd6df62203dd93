// SPDX-License-Identifier: Apache-2.0
// A thread for what takes long and is bounded in nothing but its size: putting large answers into words, parsing large
// bodies. Neither an engine thread nor the sockets of a network thread wait for it. Askers take turns by the time that
// theirs takes.
//
// Threading: Enter() and Post() from any thread; Finish() from one, none of its own.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "server/ops/exception_log.h"
#include "server/queue/admission.h"
#include "server/queue/closure.h"
#include "server/queue/fair_queue.h"
#include "server/queue/mailbox.h"

namespace allot {

class RenderLane {
 public:
  // That may wait: what waits holds memory.
  static constexpr std::uint32_t kMostOfOne = 256;
  static constexpr std::uint32_t kMostOfAll = 2048;

  // What a piece of work throws is logged there; the next one goes on.
  explicit RenderLane(ExceptionLog& exceptions) : exceptions_(exceptions) {
    thread_ = std::thread([this] { Loop(); });
  }
  ~RenderLane() { Finish(); }

  // A place for one piece of work. None: as many wait as may, of this asker or of all.
  Admission::Entry Enter(AskerId asker) { return admission_.Enter(asker); }
  // Those of one asker in order. Dropped once it is finished. The place is left when the work is done; none is needed
  // where something else bounds how many there are.
  void Post(AskerId asker, Closure closure, Admission::Entry place = {}) {
    mailbox_.Push({asker, std::move(closure), std::move(place)});
  }
  // Does what has been posted, and ends.
  void Finish() {
    mailbox_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  struct Item {
    AskerId asker;
    Closure closure;
    Admission::Entry place;
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
      item.place = {};
      waiting.Charge(asker, ReadCpu() - began);
    }
  }
  static std::int64_t ReadCpu() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  ExceptionLog& exceptions_;
  Admission admission_{{kMostOfOne, kMostOfAll}};
  Mailbox<Item> mailbox_;
  std::thread thread_;
};

}  // namespace allot
