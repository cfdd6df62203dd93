#include "match/class_table.h"

#include <algorithm>

#include "base/check.h"

namespace allot {
namespace {

void EraseOne(std::vector<std::uint32_t>& from, std::uint32_t value) {
  const auto found = std::find(from.begin(), from.end(), value);
  CHECK(found != from.end());
  *found = from.back();
  from.pop_back();
}

}  // namespace

std::uint32_t ClassTable::Intern(const TagList& tags, std::map<TagList, std::uint32_t>& ids, std::vector<Group>& groups,
                                 std::vector<std::uint32_t>& free, bool& fresh) {
  const auto [it, inserted] = ids.try_emplace(tags, 0);
  fresh = inserted;
  if (inserted) {
    if (free.empty()) {
      free.push_back(static_cast<std::uint32_t>(groups.size()));
      groups.emplace_back();
    }
    it->second = free.back();
    free.pop_back();
    groups[it->second] = Group{tags, 0, {}};
  }
  ++groups[it->second].members;
  return it->second;
}

bool ClassTable::Matches(const Group& cls, const Group& kind) {
  return std::includes(kind.tags.begin(), kind.tags.end(), cls.tags.begin(), cls.tags.end());
}

ClassId ClassTable::AddJob(const TagList& tags) {
  bool fresh = false;
  const ClassId cls = Intern(tags, class_ids_, classes_, free_classes_, fresh);
  if (fresh) {
    for (const auto& [unused, kind] : kind_ids_) {
      if (!Matches(classes_[cls], kinds_[kind])) continue;
      classes_[cls].matches.push_back(kind);
      kinds_[kind].matches.push_back(cls);
      listener_.OnMatch(kind, cls);
    }
  }
  return cls;
}

void ClassTable::DropJob(ClassId cls) {
  Group& group = classes_[cls];
  CHECK(group.members > 0);
  if (--group.members > 0) return;
  for (const KindId kind : group.matches) {
    listener_.OnUnmatch(kind, cls);
    EraseOne(kinds_[kind].matches, cls);
  }
  class_ids_.erase(group.tags);
  group = Group{};
  free_classes_.push_back(cls);
}

KindId ClassTable::AddWorker(const TagList& tags) {
  bool fresh = false;
  const KindId kind = Intern(tags, kind_ids_, kinds_, free_kinds_, fresh);
  if (fresh) {
    for (const auto& [unused, cls] : class_ids_) {
      if (!Matches(classes_[cls], kinds_[kind])) continue;
      kinds_[kind].matches.push_back(cls);
      classes_[cls].matches.push_back(kind);
      listener_.OnMatch(kind, cls);
    }
  }
  return kind;
}

void ClassTable::DropWorker(KindId kind) {
  Group& group = kinds_[kind];
  CHECK(group.members > 0);
  if (--group.members > 0) return;
  for (const ClassId cls : group.matches) {
    listener_.OnUnmatch(kind, cls);
    EraseOne(classes_[cls].matches, kind);
  }
  kind_ids_.erase(group.tags);
  group = Group{};
  free_kinds_.push_back(kind);
}

std::uint32_t ClassTable::WorkersFor(ClassId cls) const {
  std::uint32_t workers = 0;
  for (const KindId kind : classes_[cls].matches) workers += kinds_[kind].members;
  return workers;
}

}  // namespace allot
