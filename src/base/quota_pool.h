// SPDX-License-Identifier: Apache-2.0
// A bound that several owners have together, each with a quota: nobody may use it up alone.
//
// The rule: who wants more may then have at most three times what is still free, and at least one while anything is. So
// one owner alone gets three quarters of the bound, a second one three quarters of the rest, and whoever comes later
// always finds some.
//
// Threading: confined to one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/check.h"

namespace allot {

class QuotaPool {
 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Owners = std::unordered_map<std::string, std::size_t, Hash, std::equal_to<>>;

 public:
  // An owner that has some; valid until it has none.
  using Owner = Owners::value_type;

  explicit QuotaPool(std::size_t bound) : bound_(bound) {}

  std::size_t bound() const { return bound_; }
  std::size_t used() const { return used_; }
  std::size_t Of(std::string_view owner) const {
    const auto found = owners_.find(owner);
    return found == owners_.end() ? 0 : found->second;
  }
  // May it have so many more? `fewer` of its own are about to go.
  bool Admits(std::string_view owner, std::size_t more = 1, std::size_t fewer = 0) const {
    const std::size_t used = used_ - fewer + more;
    return used <= bound_ && Of(owner) - fewer + more <= std::max<std::size_t>(1, 3 * (bound_ - used));
  }

  // Whether it may or not: what was stored, say, is there.
  Owner& Take(std::string_view owner, std::size_t more = 1) {
    auto found = owners_.find(owner);
    if (found == owners_.end()) found = owners_.emplace(std::string(owner), 0).first;
    found->second += more;
    used_ += more;
    return *found;
  }
  void Give(Owner& owner, std::size_t fewer = 1) {
    CHECK(owner.second >= fewer && used_ >= fewer);
    used_ -= fewer;
    owner.second -= fewer;
    if (owner.second == 0) owners_.erase(owner.first);
  }

 private:
  const std::size_t bound_;
  std::size_t used_ = 0;
  Owners owners_;
};

}  // namespace allot
