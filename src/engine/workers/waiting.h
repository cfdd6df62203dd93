// SPDX-License-Identifier: Apache-2.0
// Workers that wait for something to start, by what they may find: alike in order, in kind, and in what limits read of
// them. Of each such list one look tells for all, and the first has waited longest.
//
// Invariants: no list is empty.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "engine/jobs/job.h"

namespace allot {

class Waiting {
 public:
  using Lists = std::map<LimitProfileId, WaitingWorkers>;

  Waiting() = default;
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
  ~Waiting() {
    ForEachList([](Orders::Id, KindId, LimitProfileId, WaitingWorkers& list) { list.clear(); });
  }

  std::size_t size() const { return size_; }

  // REQUIRES: it does not wait, and has its sequence number.
  void Add(EngineWorker& worker, Orders::Id order, KindId kind, LimitProfileId profile) {
    if (order >= lists_.size()) lists_.resize(order + 1);
    auto& kinds = lists_[order];
    if (kind >= kinds.size()) kinds.resize(kind + 1);
    if (!kinds[kind]) kinds[kind] = std::make_unique<Lists>();
    worker.waiting_order = order;
    worker.waiting_kind = kind;
    worker.waiting_profile = profile;
    WaitingWorkers& list = (*kinds[kind])[profile];
    list.insert(list.end(), worker);
    ++size_;
  }
  // REQUIRES: it waits.
  void Remove(EngineWorker& worker) {
    auto& lists = lists_[worker.waiting_order][worker.waiting_kind];
    const auto found = lists->find(worker.waiting_profile);
    found->second.erase(found->second.iterator_to(worker));
    if (found->second.empty()) lists->erase(found);
    --size_;
  }

  Orders::Id orders() const { return static_cast<Orders::Id>(lists_.size()); }
  KindId kinds(Orders::Id order) const { return order < lists_.size() ? static_cast<KindId>(lists_[order].size()) : 0; }
  // Null: none wait.
  const Lists* Of(Orders::Id order, KindId kind) const {
    return kind < kinds(order) ? lists_[order][kind].get() : nullptr;
  }
  // The one that has waited longest; null if none does.
  EngineWorker* First(Orders::Id order, KindId kind, LimitProfileId profile) const {
    if (kind >= kinds(order) || !lists_[order][kind]) return nullptr;
    const auto found = lists_[order][kind]->find(profile);
    return found == lists_[order][kind]->end() ? nullptr : &*found->second.begin();
  }

  // Calls f(order, kind, profile, list) for all.
  template <typename F>
  void ForEachList(F f) {
    for (Orders::Id order = 0; order < orders(); ++order) {
      for (KindId kind = 0; kind < kinds(order); ++kind) {
        if (!lists_[order][kind]) continue;
        for (auto& [profile, list] : *lists_[order][kind]) f(order, kind, profile, list);
      }
    }
  }

 private:
  std::vector<std::vector<std::unique_ptr<Lists>>> lists_;  // by order and kind
  std::size_t size_ = 0;
};

}  // namespace allot
