// SPDX-License-Identifier: Apache-2.0
#include "limits/group_users.h"

#include <algorithm>

#include "base/check.h"

namespace allot {

GroupUsers::Member* GroupUsers::Find(Group& group, UserId user) {
  if (!group.places) {
    const auto at = std::find_if(group.members.begin(), group.members.end(),
                                 [user](const Member& member) { return member.user == user; });
    return at == group.members.end() ? nullptr : &*at;
  }
  const std::uint32_t* const place = group.places->Find(user);
  return place == nullptr ? nullptr : &group.members[*place];
}

void GroupUsers::Add(GroupId group, std::string_view name, Instant now) {
  if (group == kFreeGroup) return;
  const auto [user, fresh] = users_.Insert(std::string(name), User{0, 0});
  if (fresh) {
    if (free_.empty()) {
      free_.push_back(static_cast<UserId>(names_.size()));
      names_.emplace_back();
    }
    user->id = free_.back();
    free_.pop_back();
    names_[user->id] = name;
  }
  if (group >= groups_.size()) groups_.resize(group + 1);
  if (!groups_[group]) groups_[group] = std::make_unique<Group>();
  Group& in = *groups_[group];
  if (Member* member = Find(in, user->id)) {
    ++member->jobs;
    return;
  }
  ++user->groups;
  in.members.push_back({user->id, 1, now});
  if (in.places) {
    in.places->Insert(user->id, static_cast<std::uint32_t>(in.members.size() - 1));
  } else if (in.members.size() > kFew) {
    in.places = std::make_unique<ShardedMap<UserId, std::uint32_t, UserHash>>();
    for (std::uint32_t i = 0; i < in.members.size(); ++i) in.places->Insert(in.members[i].user, i);
  }
}

std::optional<Instant> GroupUsers::Remove(GroupId group, std::string_view name) {
  if (group == kFreeGroup) return std::nullopt;
  User* const user = users_.Find(std::string(name));
  CHECK(user != nullptr && group < groups_.size() && groups_[group]);
  Group& in = *groups_[group];
  Member* member = Find(in, user->id);
  CHECK(member != nullptr);
  if (--member->jobs > 0) return std::nullopt;
  const Instant since = member->since;
  if (in.places) {
    in.places->Erase(user->id);
    if (member != &in.members.back()) {
      *in.places->Find(in.members.back().user) = static_cast<std::uint32_t>(member - in.members.data());
    }
  }
  *member = in.members.back();
  in.members.pop_back();
  if (in.members.empty()) groups_[group].reset();
  if (--user->groups == 0) {
    names_[user->id].clear();
    free_.push_back(user->id);
    users_.Erase(std::string(name));
  }
  return since;
}

std::optional<Instant> GroupUsers::Since(GroupId group, std::string_view name) const {
  const User* const user = users_.Find(std::string(name));
  if (user == nullptr || group >= groups_.size() || !groups_[group]) return std::nullopt;
  const Member* const member = Find(*groups_[group], user->id);
  return member == nullptr ? std::nullopt : std::optional(member->since);
}

}  // namespace allot
