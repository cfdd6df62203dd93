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
      : held_(std::make_unique<Holder<std::decay_t<F>>>(std::forward<F>(f))) {}
  UniqueFunction(UniqueFunction&&) noexcept = default;
  UniqueFunction& operator=(UniqueFunction&&) noexcept = default;

  explicit operator bool() const { return held_ != nullptr; }
  // REQUIRES: not empty.
  R operator()(Args... args) { return held_->Call(std::forward<Args>(args)...); }

 private:
  struct Base {
    virtual ~Base() = default;
    virtual R Call(Args... args) = 0;
  };
  template <typename F>
  struct Holder final : Base {
    explicit Holder(F&& g) : f(std::move(g)) {}
    explicit Holder(const F& g) : f(g) {}
    R Call(Args... args) override { return f(std::forward<Args>(args)...); }
    F f;
  };
  std::unique_ptr<Base> held_;
};

using Closure = UniqueFunction<void()>;

}  // namespace allot
