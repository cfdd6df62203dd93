// The order `priority`: priority descending, none last, then scheduled_for, then id; for every kind of worker its first
// job.
//
// Jobs are ordered per class; for every kind the heads of the classes that it may run are ordered once more. So a pick
// is a look at a kind's first head, and a change costs the class, plus the kinds that match it when its head changes.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <vector>

#include <boost/intrusive/set.hpp>

#include "base/ids.h"
#include "base/time.h"
#include "match/class_table.h"

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
  ClassId cls = 0;
  bool linked() const { return is_linked(); }
  friend bool operator<(const OrderEntry& a, const OrderEntry& b) { return a.key < b.key; }
};

class PriorityOrder {
 public:
  ~PriorityOrder();

  // REQUIRES: not linked.
  void Insert(OrderEntry& entry);
  // REQUIRES: linked.
  void Erase(OrderEntry& entry);
  // The first job that workers of this kind may run; null if there is none.
  OrderEntry* First(KindId kind) const;
  bool Empty(ClassId cls) const { return cls >= classes_.size() || classes_[cls].jobs.empty(); }

  void Link(KindId kind, ClassId cls);
  void Unlink(KindId kind, ClassId cls);

 private:
  struct Head {
    OrderKey key;
    OrderEntry* entry;
    friend bool operator<(const Head& a, const Head& b) { return a.key < b.key; }
  };
  struct Class {
    boost::intrusive::set<OrderEntry, boost::intrusive::constant_time_size<false>> jobs;
    std::vector<KindId> kinds;
  };
  Class& ClassOf(ClassId cls);
  void PutHead(Class& cls);
  void DropHead(Class& cls);

  std::vector<Class> classes_;
  std::vector<std::set<Head>> kinds_;
};

}  // namespace allot
