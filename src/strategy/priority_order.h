// The order `priority`: priority descending, none last, then scheduled_for, then id; for every kind of worker its first
// job. Workers that rank jobs get those of their highest rank first.
//
// Jobs are ordered per class, and the heads of all classes in one tree that knows which kinds may run them: a pick is a
// walk down that tree, and a change costs the class, plus one path when its head changes. Kinds that rank have an order
// of heads of their own.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include <boost/intrusive/set.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "match/class_table.h"
#include "strategy/mask_tree.h"

namespace allot {

struct OrderKey {
  bool no_priority = true;
  std::int64_t priority = 0;
  WallTime scheduled_for{};
  JobId id;
  friend bool operator<(const OrderKey& a, const OrderKey& b) {
    if (a.no_priority != b.no_priority) return b.no_priority;
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.scheduled_for != b.scheduled_for) return a.scheduled_for < b.scheduled_for;
    return a.id < b.id;
  }
};

// A job's place in the order. Key and class may change only while it is not linked.
struct OrderEntry : boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
  OrderKey key;
  ClassId cls = kNoClass;
  bool linked() const { return is_linked(); }
  friend bool operator<(const OrderEntry& a, const OrderEntry& b) { return a.key < b.key; }
};

class PriorityOrder {
 public:
  explicit PriorityOrder(const ClassTable& verdicts) : verdicts_(verdicts) {}
  ~PriorityOrder();

  // REQUIRES: not linked.
  void Insert(OrderEntry& entry);
  // REQUIRES: linked.
  void Erase(OrderEntry& entry);
  // The first job that workers of this kind may run; null if there is none.
  OrderEntry* First(KindId kind) const;
  bool Empty(ClassId cls) const { return cls >= classes_.size() || classes_[cls].empty(); }

  // What ClassTable tells its listener.
  void OnWidth();
  void OnClass(ClassId cls);
  void OnKind(KindId kind);

  // Heap bytes beside the entries themselves.
  std::size_t MemoryBytes() const;

 private:
  using Jobs = boost::intrusive::set<OrderEntry, boost::intrusive::constant_time_size<false>>;
  struct RankedHead {
    double rank;
    OrderKey key;
    ClassId cls;
    friend bool operator<(const RankedHead& a, const RankedHead& b) {
      return a.rank != b.rank ? a.rank > b.rank : a.key < b.key;
    }
  };
  // The heads as one kind of ranking workers sees them.
  struct RankedKind {
    KindId kind;
    std::set<RankedHead> heads;
    std::unordered_map<ClassId, std::set<RankedHead>::iterator> by_class;
  };
  Jobs& JobsOf(ClassId cls);
  void PutHead(ClassId cls);
  void DropHead(ClassId cls);
  void PutRanked(RankedKind& ranked, ClassId cls);
  static void DropRanked(RankedKind& ranked, ClassId cls);
  RankedKind* Ranked(KindId kind) const;

  const ClassTable& verdicts_;
  std::vector<Jobs> classes_;
  MaskTree<OrderKey, ClassId> heads_;
  std::vector<std::unique_ptr<RankedKind>> ranked_;
};

}  // namespace allot
