// Which workers may run which jobs. Jobs alike for matching share a class, workers alike a kind; a verdict is computed
// once for each pair of them and kept.
//
// Today a class is a set of tags, and a worker may run it if it has all of them.
//
// Threading:  confined to the queue's engine thread.
// Invariants: classes without jobs and kinds without workers disappear; ids are reused after that.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace allot {

using ClassId = std::uint32_t;
using KindId = std::uint32_t;
using TagList = std::vector<std::string>;  // sorted, without duplicates

class ClassTable {
 public:
  // Who wants to know of pairs that begin or cease to match.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnMatch(KindId kind, ClassId cls) = 0;
    virtual void OnUnmatch(KindId kind, ClassId cls) = 0;
  };
  explicit ClassTable(Listener& listener) : listener_(listener) {}

  // The class of such jobs, with one more member. New classes are matched against all kinds.
  ClassId AddJob(const TagList& tags);
  void DropJob(ClassId cls);
  bool Knows(const TagList& tags) const { return class_ids_.contains(tags); }
  const TagList& TagsOf(ClassId cls) const { return classes_[cls].tags; }
  // The kinds that may run it.
  std::span<const KindId> KindsOf(ClassId cls) const { return classes_[cls].matches; }
  // How many workers may run it.
  std::uint32_t WorkersFor(ClassId cls) const;
  std::size_t classes() const { return class_ids_.size(); }

  KindId AddWorker(const TagList& tags);
  void DropWorker(KindId kind);
  std::span<const ClassId> ClassesOf(KindId kind) const { return kinds_[kind].matches; }
  std::size_t kinds() const { return kind_ids_.size(); }
  // Upper bound of all ids, for arrays beside this table.
  std::size_t kind_slots() const { return kinds_.size(); }

 private:
  struct Group {
    TagList tags;
    std::uint32_t members = 0;
    std::vector<std::uint32_t> matches;  // ids of the other side
  };
  // One side of the table: classes, or kinds.
  static std::uint32_t Intern(const TagList& tags, std::map<TagList, std::uint32_t>& ids, std::vector<Group>& groups,
                              std::vector<std::uint32_t>& free, bool& fresh);
  static bool Matches(const Group& cls, const Group& kind);

  Listener& listener_;
  std::map<TagList, ClassId> class_ids_;
  std::vector<Group> classes_;
  std::vector<std::uint32_t> free_classes_;
  std::map<TagList, KindId> kind_ids_;
  std::vector<Group> kinds_;
  std::vector<std::uint32_t> free_kinds_;
};

}  // namespace allot
