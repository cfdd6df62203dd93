// SPDX-License-Identifier: Apache-2.0
// Classes that have open jobs, and how many of them workers of a kind may run: for whoever tells how a start was
// decided.
//
// Counted anew when something opened, closed or was judged otherwise since. Up to kExact classes that is done whenever
// it is asked, so that the answer is exact; where more are open, as often as kPaid classes for each question pay for
// it, and in between the answer is that of a moment ago.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstdint>
#include <vector>

#include "match/class_table.h"

namespace allot {

class OpenClasses {
 public:
  explicit OpenClasses(const ClassTable& verdicts) : verdicts_(verdicts) {}

  // A job of that class opens, or closes.
  void Open(ClassId cls);
  void Close(ClassId cls);
  bool Has(ClassId cls) const { return cls < jobs_.size() && jobs_[cls] > 0; }
  std::uint32_t count() const { return count_; }
  // Increases whenever something may be counted otherwise.
  std::uint64_t version() const { return version_; }

  // As ClassTable's listener.
  void OnWidth() { ++version_; }
  void OnClass(ClassId cls) { version_ += Has(cls) ? 1 : 0; }
  void OnKind(KindId kind);

  struct Seen {
    std::uint32_t matched = 0;  // that workers of the kind may run,
    bool ranked = false;        // and whether they rank some of these other than 0
    std::uint64_t version = 0;  // 0: never counted
  };
  const Seen& By(KindId kind) {
    if (kind >= seen_.size()) seen_.resize(kind + 1);
    Seen& seen = seen_[kind];
    if (seen.version != version_) Count(kind, seen);
    return seen;
  }
  static constexpr std::uint32_t kExact = 64;
  static constexpr std::uint32_t kPaid = 16;

 private:
  void Count(KindId kind, Seen& seen);

  const ClassTable& verdicts_;
  std::vector<std::uint32_t> jobs_;  // by class
  std::vector<std::uint64_t> open_;  // a bit for each class that has some
  std::uint32_t count_ = 0;          // of those
  std::uint64_t version_ = 1;        // of what By() tells
  std::uint64_t paid_ = 0;           // for counting more than kExact
  std::vector<Seen> seen_;           // by kind
};

}  // namespace allot
