// SPDX-License-Identifier: Apache-2.0
// Users of whom one limit denied a start: the last ones, each with when that was.
//
// Threading:  confined to the queue's engine thread.
// Invariants: at most bounds::kMaxIgnoredUsers; whoever was denied last is last.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/bounds.h"
#include "base/time.h"

namespace allot {

struct IgnoredUser {
  std::string user;
  std::uint32_t waiting = 0;  // groups with a start of this user that wait for the limit
  WallTime at{};              // of the last denial
  Instant until{};            // the end of the ban, while none waits
  bool Counts(Instant now) const { return waiting > 0 || now < until; }
};

class IgnoredUsers {
 public:
  // The user's entry, as the last; for a new one whoever was denied longest ago is forgotten.
  IgnoredUser& Place(std::string_view user) {
    const auto [place, fresh] = places_.try_emplace(std::string(user));
    if (fresh) {
      if (users_.size() >= bounds::kMaxIgnoredUsers) {
        places_.erase(users_.front().user);
        users_.pop_front();
      }
      place->second = users_.insert(users_.end(), {std::string(user), 0, {}, {}});
    } else {
      users_.splice(users_.end(), users_, place->second);
    }
    return *place->second;
  }
  // Nothing waits for the limit any more.
  void EndWaiting(Instant until) {
    for (IgnoredUser& user : users_) {
      if (std::exchange(user.waiting, 0) > 0) user.until = until;
    }
  }
  // Null: there is none, or it was forgotten.
  IgnoredUser* Find(std::string_view user) const {
    const auto place = places_.find(std::string(user));
    return place == places_.end() ? nullptr : &*place->second;
  }
  const std::list<IgnoredUser>& all() const { return users_; }

 private:
  std::list<IgnoredUser> users_;
  std::unordered_map<std::string, std::list<IgnoredUser>::iterator> places_;
};

}  // namespace allot
