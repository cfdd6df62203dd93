// SPDX-License-Identifier: Apache-2.0
// A part of a flow with a name of its own: a coroutine that another one awaits, and that goes from place to place as
// that one does. It begins when it is awaited, where that one is; where it ends, that one goes on.
//
//   Step<Result<Thing>> FindThing(Call& call, RoundHere round);
//   …
//   CO_TRY(const Thing thing, co_await FindThing(call, round));
//
// Threading: as the flow's.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "base/check.h"
#include "server/flow/flow.h"

namespace allot {

template <typename T>
class [[nodiscard]] Step {
 public:
  class promise_type {  // NOLINT(readability-identifier-naming)
   public:
    Step get_return_object() { return Step(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() noexcept {
      flow_->innermost_ = awaiting_;
      return {};
    }
    void return_value(T value) { value_.emplace(std::move(value)); }
    void unhandled_exception() noexcept { thrown_ = std::current_exception(); }
    FlowState& flow() { return *flow_; }

   private:
    friend class Step;
    FlowState* flow_ = nullptr;
    std::coroutine_handle<> awaiting_;
    std::optional<T> value_;
    std::exception_ptr thrown_;
  };

  Step(Step&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  Step& operator=(Step&&) = delete;
  ~Step() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
    promise_type& own = frame_.promise();
    own.flow_ = &awaiting.promise().flow();
    own.awaiting_ = awaiting;
    own.flow_->innermost_ = frame_;
  }
  T await_resume() {
    promise_type& own = frame_.promise();
    if (own.thrown_) std::rethrow_exception(own.thrown_);
    CHECK(own.value_.has_value());
    return std::move(*own.value_);
  }

 private:
  explicit Step(std::coroutine_handle<promise_type> frame) : frame_(frame) {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace allot
