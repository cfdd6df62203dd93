// SPDX-License-Identifier: Apache-2.0
// What is to happen if a command, or an answer, is dropped on its way: because its queue is gone, or because of an
// exception.
#pragma once

#include <utility>

#include "server/queue/closure.h"
#include "server/queue/outbox.h"

namespace allot {

// Threading: passed from thread to thread; `dropped` runs on `executor`, which outlives it.
class OnDrop {
 public:
  OnDrop(Executor& executor, Closure dropped) : executor_(&executor), dropped_(std::move(dropped)) {}
  OnDrop(OnDrop&&) noexcept = default;
  OnDrop& operator=(OnDrop&&) = delete;
  ~OnDrop() {
    if (dropped_) executor_->Post(std::move(dropped_));
  }
  // It has arrived.
  void Release() { dropped_ = {}; }

 private:
  Executor* executor_;
  Closure dropped_;
};

}  // namespace allot
