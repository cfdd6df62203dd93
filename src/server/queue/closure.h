// A function that is called once, may own things that cannot be copied, and costs one allocation.
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
  UniqueFunction() = default;
  // Constrained, so that it hides neither copy nor move: what clang-tidy 14 does not see.
  template <typename F, typename = std::enable_if_t<!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
                                                    std::is_invocable_r_v<R, std::decay_t<F>&, Args...>>>
  UniqueFunction(F&& f)  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
      : callable_(std::make_unique<Callable<std::decay_t<F>>>(std::forward<F>(f))) {}
  UniqueFunction(UniqueFunction&&) noexcept = default;
  UniqueFunction& operator=(UniqueFunction&&) noexcept = default;

  explicit operator bool() const { return callable_ != nullptr; }
  // REQUIRES: not empty.
  R operator()(Args... args) { return callable_->Call(std::forward<Args>(args)...); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual R Call(Args... args) = 0;
  };
  template <typename F>
  struct Callable final : Base {
    explicit Callable(F&& g) : f(std::move(g)) {}
    explicit Callable(const F& g) : f(g) {}
    R Call(Args... args) override { return f(std::forward<Args>(args)...); }
    F f;
  };
  std::unique_ptr<Base> callable_;
};

using Closure = UniqueFunction<void()>;

}  // namespace allot
