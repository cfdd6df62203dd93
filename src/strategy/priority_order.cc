#include "strategy/priority_order.h"

#include <algorithm>

#include "base/check.h"

namespace allot {

PriorityOrder::~PriorityOrder() {
  for (Jobs& jobs : classes_) jobs.clear();
}

PriorityOrder::Jobs& PriorityOrder::JobsOf(ClassId cls) {
  if (cls >= classes_.size()) classes_.resize(cls + 1);
  return classes_[cls];
}

void PriorityOrder::PutHead(ClassId cls) {
  if (classes_[cls].empty()) return;
  heads_.Insert(classes_[cls].begin()->key, cls, verdicts_.Mask(cls));
  for (const auto& ranked : ranked_) PutRanked(*ranked, cls);
}

void PriorityOrder::DropHead(ClassId cls) {
  if (classes_[cls].empty()) return;
  heads_.Erase(classes_[cls].begin()->key);
  for (const auto& ranked : ranked_) DropRanked(*ranked, cls);
}

void PriorityOrder::Insert(OrderEntry& entry) {
  Jobs& jobs = JobsOf(entry.cls);
  const bool first = jobs.empty() || entry < *jobs.begin();
  if (first) DropHead(entry.cls);
  // Most jobs are the newest of their priority: the end is the best guess, and costs nothing when it is right.
  jobs.insert(jobs.end(), entry);
  if (first) PutHead(entry.cls);
}

void PriorityOrder::Erase(OrderEntry& entry) {
  Jobs& jobs = JobsOf(entry.cls);
  const bool first = &*jobs.begin() == &entry;
  if (first) DropHead(entry.cls);
  jobs.erase(jobs.iterator_to(entry));
  if (first) PutHead(entry.cls);
}

PriorityOrder::RankedKind* PriorityOrder::Ranked(KindId kind) const {
  for (const auto& ranked : ranked_) {
    if (ranked->kind == kind) return ranked.get();
  }
  return nullptr;
}

OrderEntry* PriorityOrder::First(KindId kind) const {
  ClassId cls = kNoClass;
  if (const RankedKind* ranked = ranked_.empty() ? nullptr : Ranked(kind)) {
    if (ranked->heads.empty()) return nullptr;
    cls = ranked->heads.begin()->cls;
  } else {
    const ClassId* found = heads_.First(kind);
    if (found == nullptr) return nullptr;
    cls = *found;
  }
  // Entries belong to whoever put them in; this order only says which comes first.
  return const_cast<OrderEntry*>(&*classes_[cls].begin());
}

void PriorityOrder::PutRanked(RankedKind& ranked, ClassId cls) {
  if (classes_[cls].empty() || !verdicts_.Matches(ranked.kind, cls)) return;
  const RankedHead head{verdicts_.WorkerRank(ranked.kind, cls), classes_[cls].begin()->key, cls};
  ranked.by_class[cls] = ranked.heads.insert(head).first;
}

void PriorityOrder::DropRanked(RankedKind& ranked, ClassId cls) {
  const auto found = ranked.by_class.find(cls);
  if (found == ranked.by_class.end()) return;
  ranked.heads.erase(found->second);
  ranked.by_class.erase(found);
}

void PriorityOrder::OnWidth() {
  heads_.Clear();
  heads_.SetWidth(verdicts_.mask_words());
  for (ClassId cls = 0; cls < classes_.size(); ++cls) {
    if (!classes_[cls].empty()) heads_.Insert(classes_[cls].begin()->key, cls, verdicts_.Mask(cls));
  }
}

void PriorityOrder::OnClass(ClassId cls) {
  if (Empty(cls)) return;
  heads_.SetMask(classes_[cls].begin()->key, verdicts_.Mask(cls));
  for (const auto& ranked : ranked_) {
    DropRanked(*ranked, cls);
    PutRanked(*ranked, cls);
  }
}

void PriorityOrder::OnKind(KindId kind) {
  heads_.SetBit(kind, [&](ClassId cls) { return verdicts_.Matches(kind, cls); });
  std::erase_if(ranked_, [kind](const auto& ranked) { return ranked->kind == kind; });
  if (!verdicts_.Live(kind) || !verdicts_.HasWorkerRanks(kind)) return;
  ranked_.push_back(std::make_unique<RankedKind>(RankedKind{kind, {}, {}}));
  for (ClassId cls = 0; cls < classes_.size(); ++cls) PutRanked(*ranked_.back(), cls);
}

std::size_t PriorityOrder::MemoryBytes() const {
  constexpr std::size_t kNodes = 80 + 48;  // of a set and of a map
  std::size_t bytes = classes_.capacity() * sizeof(Jobs) + heads_.MemoryBytes();
  for (const auto& ranked : ranked_) bytes += ranked->heads.size() * kNodes;
  return bytes;
}

}  // namespace allot
