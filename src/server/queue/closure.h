// SPDX-License-Identifier: Apache-2.0
// A function that is called once, may own things that cannot be copied, and costs one allocation, or none.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace allot {

template <typename Signature>
class UniqueFunction;

template <typename R, typename... Args>
class UniqueFunction<R(Args...)> {
 public:
  // What is called. One that has its own place in memory, such as a coroutine, is given as it is.
  class Target {
   public:
    // `self` is the function that is called: a target that goes elsewhere by being called releases itself from it.
    virtual R Invoke(UniqueFunction& self, Args... args) = 0;
    // The function is gone, and did not release it.
    virtual void Drop() noexcept = 0;

   protected:
    Target() = default;
    Target(const Target&) = default;
    Target& operator=(const Target&) = default;
    ~Target() = default;
  };

  UniqueFunction() = default;
  explicit UniqueFunction(Target& target) : target_(&target) {}
  // Constrained, so that it hides neither copy nor move: what clang-tidy 14 does not see.
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
                                                    std::is_invocable_r_v<R, std::decay_t<F>&, Args...>>>
  UniqueFunction(F&& f)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : target_(new Callable<std::decay_t<F>>(std::forward<F>(f))) {}
  UniqueFunction(UniqueFunction&&) noexcept = default;
  UniqueFunction& operator=(UniqueFunction&&) noexcept = default;

  explicit operator bool() const { return target_ != nullptr; }
  // REQUIRES: not empty.
  R operator()(Args... args) { return target_->Invoke(*this, std::forward<Args>(args)...); }
  // For the target itself: the function is empty then.
  void Release() { static_cast<void>(target_.release()); }

 private:
  template <typename F>
  struct Callable final : Target {
    explicit Callable(F&& g) : f(std::move(g)) {}
    explicit Callable(const F& g) : f(g) {}
    R Invoke(UniqueFunction&, Args... args) override { return f(std::forward<Args>(args)...); }
    void Drop() noexcept override { delete this; }
    F f;
  };
  struct Dropper {
    void operator()(Target* target) const noexcept { target->Drop(); }
  };
  std::unique_ptr<Target, Dropper> target_;
};

using Closure = UniqueFunction<void()>;

}  // namespace allot
