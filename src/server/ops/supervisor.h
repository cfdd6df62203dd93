// SPDX-License-Identifier: Apache-2.0
// What the service manager (systemd) is told of the server: that it loads, is ready, how it stands, that it stops, and,
// if it wants to know ($WATCHDOG_USEC), again and again that it is alive. Without a service manager ($NOTIFY_SOCKET)
// all of this does nothing.
//
// Alive means that every thread that must answer did so since the last time it was said. One that is stuck is not
// spoken for: the service manager then kills the server and starts it again.
//
// Threading: all methods from any thread, one at a time; the functions of its options run on a thread of its own.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/time.h"

namespace allot {

class Supervisor {
 public:
  // Held by those who were asked for a sign of life; whoever gives it lets go.
  using Answer = std::shared_ptr<void>;
  struct Options {
    std::function<void(const Answer& answer)> ask;              // hands a copy to everyone who must answer
    std::function<std::string()> status;                        // one line for people; told when it changes
    std::function<void(const std::string& lines)> notify = {};  // empty: sd_notify
    std::optional<Duration> watchdog = {};  // how long it may say nothing; none: what the environment says
  };
  explicit Supervisor(Options options);
  // As Stopping().
  ~Supervisor();

  // While it is not ready: what it does.
  void Loading(const std::string& status);
  // It serves. From now on it is asked for signs of life.
  void Ready();
  // It ends, and nobody is asked any more. Returns when nobody is. A second time it does nothing.
  void Stopping();

 private:
  // Outlives it where somebody answers late.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool stopping = false;  // guarded by mutex, as is the next
    bool answered = false;  // by all who were asked last
  };
  void Watch();
  void NotifyStatus();

  const Options options_;
  const Duration every_;  // between signs of life
  const std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  std::string status_;  // the last one told
  std::thread thread_;
};

}  // namespace allot
