// SPDX-License-Identifier: Apache-2.0
// Whose open jobs are in which group: what tells the users that a blocked group stands for.
//
// A group of one user, or a few, takes a small array; one of many users an index beside it.
//
// Threading:  confined to the queue's engine thread.
// Invariants: a user is in a group exactly while it has a job there; group 0 has no users.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sharded_map.h"
#include "base/sharded_set.h"
#include "base/time.h"
#include "limits/limit_matcher.h"

namespace allot {

class GroupUsers {
 public:
  // A job of `user` comes into the group.
  void Add(GroupId group, std::string_view user, Instant now);
  // One leaves it. Gives since when the user had been there, if that was its last; REQUIRES that it had one.
  std::optional<Instant> Remove(GroupId group, std::string_view user);
  // Since when the user has been there without a break; none: it is not.
  std::optional<Instant> Since(GroupId group, std::string_view user) const;
  // `visit(user, since)` until it says false.
  template <typename Visit>
  void ForEach(GroupId group, Visit visit) const {
    if (group >= groups_.size() || !groups_[group]) return;
    for (const Member& member : groups_[group]->members) {
      if (!visit(std::string_view(names_[member.user]), member.since)) return;
    }
  }
  std::size_t CountOf(GroupId group) const {
    return group < groups_.size() && groups_[group] ? groups_[group]->members.size() : 0;
  }

 private:
  using UserId = std::uint32_t;
  // Beyond so many members their places are looked up.
  static constexpr std::size_t kFew = 16;
  struct UserHash {
    std::size_t operator()(UserId user) const { return Mixed(user); }
  };
  struct Member {
    UserId user;
    std::uint32_t jobs;
    Instant since;
  };
  struct Group {
    std::vector<Member> members;
    std::unique_ptr<ShardedMap<UserId, std::uint32_t, UserHash>> places;  // while there are more than a few
  };
  struct User {
    UserId id;
    std::uint32_t groups;
  };

  static Member* Find(Group& group, UserId user);

  ShardedMap<std::string, User> users_;
  std::deque<std::string> names_;  // by id
  std::vector<UserId> free_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace allot
