// A thread that puts large answers into words, so that neither an engine thread nor the sockets of a network thread
// wait for it. Askers take turns by the time that their answers take.
//
// Threading: Post() from any thread; Finish() from one, none of its own.
#pragma once

#include <time.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "server/closure.h"
#include "server/exception_log.h"
#include "server/fair_queue.h"
#include "server/mailbox.h"

namespace allot {

class RenderLane {
 public:
  // What a piece of work throws is logged there; the next one goes on.
  explicit RenderLane(ExceptionLog& exceptions) : exceptions_(exceptions) {
    thread_ = std::thread([this] { Loop(); });
  }
  ~RenderLane() { Finish(); }

  // Those of one asker in order. Dropped once it is finished.
  void Post(AskerId asker, Closure closure) { mailbox_.Push({asker, std::move(closure)}); }
  // Does what has been posted, and ends.
  void Finish() {
    mailbox_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  using Item = std::pair<AskerId, Closure>;

  void Loop() {
    FairQueue<Closure> waiting;
    std::vector<Item> items;
    for (;;) {
      Mailbox<Item>::Deadline now;
      if (!waiting.empty()) now = std::chrono::steady_clock::time_point();
      const bool open = mailbox_.Take(items, now);
      for (auto& [asker, closure] : items) waiting.Push(asker, std::move(closure));
      items.clear();
      if (waiting.empty()) {
        if (!open) return;
        continue;
      }
      auto [asker, closure] = waiting.Pop();
      const std::int64_t began = ReadCpu();
      exceptions_.Survives("an answer", [&c = closure] { c(); });
      closure = {};
      waiting.Charge(asker, ReadCpu() - began);
    }
  }
  static std::int64_t ReadCpu() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  }

  ExceptionLog& exceptions_;
  Mailbox<Item> mailbox_;
  std::thread thread_;
};

}  // namespace allot
