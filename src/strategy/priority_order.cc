#include "strategy/priority_order.h"

#include <algorithm>

#include "base/check.h"

namespace allot {

PriorityOrder::~PriorityOrder() {
  for (Class& cls : classes_) cls.jobs.clear();
}

PriorityOrder::Class& PriorityOrder::ClassOf(ClassId cls) {
  if (cls >= classes_.size()) classes_.resize(cls + 1);
  return classes_[cls];
}

void PriorityOrder::PutHead(Class& cls) {
  if (cls.jobs.empty()) return;
  OrderEntry& head = *cls.jobs.begin();
  for (const KindId kind : cls.kinds) kinds_[kind].insert(Head{head.key, &head});
}

void PriorityOrder::DropHead(Class& cls) {
  if (cls.jobs.empty()) return;
  OrderEntry& head = *cls.jobs.begin();
  for (const KindId kind : cls.kinds) kinds_[kind].erase(Head{head.key, &head});
}

void PriorityOrder::Insert(OrderEntry& entry) {
  Class& cls = ClassOf(entry.cls);
  const bool first = cls.jobs.empty() || entry < *cls.jobs.begin();
  if (first) DropHead(cls);
  // Most jobs are the newest of their priority: the end is the best guess, and costs nothing when it is right.
  cls.jobs.insert(cls.jobs.end(), entry);
  if (first) PutHead(cls);
}

void PriorityOrder::Erase(OrderEntry& entry) {
  Class& cls = ClassOf(entry.cls);
  const bool first = &*cls.jobs.begin() == &entry;
  if (first) DropHead(cls);
  cls.jobs.erase(cls.jobs.iterator_to(entry));
  if (first) PutHead(cls);
}

OrderEntry* PriorityOrder::First(KindId kind) const {
  if (kind >= kinds_.size() || kinds_[kind].empty()) return nullptr;
  return kinds_[kind].begin()->entry;
}

void PriorityOrder::Link(KindId kind, ClassId cls) {
  Class& c = ClassOf(cls);
  if (kind >= kinds_.size()) kinds_.resize(kind + 1);
  c.kinds.push_back(kind);
  if (!c.jobs.empty()) kinds_[kind].insert(Head{c.jobs.begin()->key, &*c.jobs.begin()});
}

void PriorityOrder::Unlink(KindId kind, ClassId cls) {
  Class& c = ClassOf(cls);
  const auto found = std::find(c.kinds.begin(), c.kinds.end(), kind);
  CHECK(found != c.kinds.end());
  if (!c.jobs.empty()) kinds_[kind].erase(Head{c.jobs.begin()->key, &*c.jobs.begin()});
  *found = c.kinds.back();
  c.kinds.pop_back();
}

}  // namespace allot
