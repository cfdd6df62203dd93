// SPDX-License-Identifier: Apache-2.0
// What Store::ReadOutcomes() answers, gathered from packed rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "store/packed/packing.h"
#include "store/store.h"

namespace allot::sqlite {

// The outcomes with the lowest indices, as many as an answer may hold; of several for a task the last one. They are
// added slice by slice, those of a slice in the order they were written.
//
// Threading: one thread at a time.
class LowestOutcomes {
 public:
  explicit LowestOutcomes(const Store::OutcomeQuery& query) : query_(query), end_(query.end) {}

  // Outcomes from here on cannot be part of the answer.
  std::uint64_t end() const { return end_; }
  bool full() const { return !found_.empty() && (found_.size() >= query_.max || bytes_ >= query_.max_bytes); }
  // Those from `index` on were not looked at: even if there is room again, because a shorter one takes the place of
  // another, none behind them may be part of the answer.
  void EndAt(std::uint64_t index) { end_ = std::min(end_, index); }

  void Add(JobId job, const PackedOutcome& packed) {
    if (packed.index < query_.from || packed.index >= end_) return;
    Outcome& outcome = found_[packed.index];
    bytes_ -= outcome.text.size();
    outcome = Outcome{job, packed.index, packed.kind, packed.attempt, std::string(packed.text)};
    bytes_ += outcome.text.size();
    // What lies behind a full answer goes, so that memory stays bounded by the answer.
    while (found_.size() > query_.max ||
           (found_.size() > 1 && bytes_ - found_.rbegin()->second.text.size() >= query_.max_bytes)) {
      const auto last = std::prev(found_.end());
      end_ = last->first;
      bytes_ -= last->second.text.size();
      found_.erase(last);
    }
  }

  std::vector<Outcome> Take() {
    std::vector<Outcome> out;
    out.reserve(found_.size());
    std::size_t bytes = 0;
    for (auto& [index, outcome] : found_) {
      bytes += outcome.text.size();
      if (!out.empty() && bytes > query_.max_bytes) break;
      out.push_back(std::move(outcome));
    }
    return out;
  }

 private:
  const Store::OutcomeQuery& query_;
  std::uint64_t end_;
  std::map<TaskIndex, Outcome> found_;
  std::size_t bytes_ = 0;
};

}  // namespace allot::sqlite
