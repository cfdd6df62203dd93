// SPDX-License-Identifier: Apache-2.0
// One thread for what may take long and must not hold up a network thread: opening and deleting files, backups. They
// wait for one another.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <thread>
#include <utility>
#include <vector>

#include "server/ops/exception_log.h"
#include "server/queue/closure.h"
#include "server/queue/mailbox.h"

namespace allot {

class SlowLane {
 public:
  explicit SlowLane(ExceptionLog& exceptions) {
    thread_ = std::thread([this, &exceptions] {
      std::vector<Closure> closures;
      while (mailbox_.Take(closures, {})) {
        // What a closure holds, such as the duty to answer, goes with it.
        for (Closure& closure : closures) exceptions.Survives("slow work", [&closure] { closure(); });
        closures.clear();
      }
    });
  }
  ~SlowLane() { Finish(); }

  // In order. Dropped once it is finished.
  void Post(Closure closure) { mailbox_.Push(std::move(closure)); }
  // Does what has been posted, and ends. From one thread, none of its own.
  void Finish() {
    mailbox_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  Mailbox<Closure> mailbox_;
  std::thread thread_;
};

}  // namespace allot
