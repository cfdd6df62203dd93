// SPDX-License-Identifier: Apache-2.0
// Keeps jobs of all producers in the queue.
//
// Threading: a thread of its own; the constructor and the destructor on any other.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "allotter/client.h"

namespace allot::cli::demo {

class Feeder {
 public:
  // Begins at once.
  explicit Feeder(allotter::ConnectionOptions server);
  // Submits nothing more.
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

 private:
  void Loop();
  // False once it is to end.
  bool Sleep(std::chrono::milliseconds time);

  const allotter::ConnectionOptions server_;
  std::mutex mutex_;
  std::condition_variable wakeup_;
  bool ending_ = false;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace allot::cli::demo
