#include "limits/group_users.h"

#include <algorithm>

#include "base/check.h"

namespace allot {

GroupUsers::Member* GroupUsers::Find(Group& group, UserId user) const {
  if (group.places.empty()) {
    const auto at = std::find_if(group.members.begin(), group.members.end(),
                                 [user](const Member& member) { return member.user == user; });
    return at == group.members.end() ? nullptr : &*at;
  }
  const auto place = group.places.find(user);
  return place == group.places.end() ? nullptr : &group.members[place->second];
}

void GroupUsers::Add(GroupId group, std::string_view user, Instant now) {
  if (group == kFreeGroup) return;
  const auto [at, fresh] = users_.try_emplace(std::string(user), User{0, 0});
  if (fresh) {
    if (free_.empty()) {
      free_.push_back(static_cast<UserId>(names_.size()));
      names_.push_back(nullptr);
    }
    at->second.id = free_.back();
    free_.pop_back();
    names_[at->second.id] = &at->first;
  }
  if (group >= groups_.size()) groups_.resize(group + 1);
  if (!groups_[group]) groups_[group] = std::make_unique<Group>();
  Group& in = *groups_[group];
  if (Member* member = Find(in, at->second.id)) {
    ++member->jobs;
    return;
  }
  ++at->second.groups;
  in.members.push_back({at->second.id, 1, now});
  if (!in.places.empty()) {
    in.places.emplace(at->second.id, static_cast<std::uint32_t>(in.members.size() - 1));
  } else if (in.members.size() > kFew) {
    for (std::uint32_t i = 0; i < in.members.size(); ++i) in.places.emplace(in.members[i].user, i);
  }
}

std::optional<Instant> GroupUsers::Remove(GroupId group, std::string_view user) {
  if (group == kFreeGroup) return std::nullopt;
  const auto at = users_.find(std::string(user));
  CHECK(at != users_.end() && group < groups_.size() && groups_[group]);
  Group& in = *groups_[group];
  Member* member = Find(in, at->second.id);
  CHECK(member != nullptr);
  if (--member->jobs > 0) return std::nullopt;
  const Instant since = member->since;
  const UserId id = member->user;
  if (!in.places.empty()) {
    in.places.erase(id);
    if (member != &in.members.back()) {
      in.places[in.members.back().user] = static_cast<std::uint32_t>(member - in.members.data());
    }
  }
  *member = in.members.back();
  in.members.pop_back();
  if (in.members.empty()) groups_[group].reset();
  if (--at->second.groups == 0) {
    names_[id] = nullptr;
    free_.push_back(id);
    users_.erase(at);
  }
  return since;
}

std::optional<Instant> GroupUsers::Since(GroupId group, std::string_view user) const {
  const auto at = users_.find(std::string(user));
  if (at == users_.end() || group >= groups_.size() || !groups_[group]) return std::nullopt;
  const Member* member = Find(*groups_[group], at->second.id);
  return member == nullptr ? std::nullopt : std::optional(member->since);
}

}  // namespace allot
