// SPDX-License-Identifier: Apache-2.0
// Something that never changes again, and that all who refer to it have in common: a copy costs a pointer. It may be
// read, and let go of, by any thread.
#pragma once

#include <memory>
#include <utility>

namespace allot {

template <typename T>
class Interned {
 public:
  // What a T is by default; costs nothing.
  Interned() = default;
  explicit Interned(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  // A part of something that is interned as a whole. Not null.
  template <typename Whole>
  Interned(const std::shared_ptr<Whole>& whole, const T& part) : value_(whole, &part) {}

  const T& operator*() const {
    static const T none{};
    return value_ == nullptr ? none : *value_;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT(google-explicit-constructor)

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace allot
