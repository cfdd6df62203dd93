// SPDX-License-Identifier: Apache-2.0
// The packed blobs of a queue file. All numbers are varints.
//
//   journal.events     one per batch: how far its position lies below the row's, its length, the bytes
//   payloads.segment   how many, the length of each, then all texts one after another
//   outcomes.packed    one per outcome: index within the slice, attempt * 4 + kind, length, text
//
// Changing it: these bytes are in files that must stay readable. A new form needs a migration.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace allot::sqlite {

// Outcomes of that many consecutive tasks lie together. Smaller would cost more rows when tasks end in random order,
// larger more reading for a page of results.
inline constexpr std::uint32_t kSliceTasks = 4096;

void PackEvents(Position row, Position position, std::string_view events, std::string& out);
// Calls `each(position, events)`; false if the blob is damaged, or the first error.
Result<bool> UnpackEvents(Position row, std::string_view blob,
                          const std::function<Result<void>(Position, std::string_view)>& each);

void PackPayloads(std::span<const std::string> payloads, std::string& out);
// A segment whose payloads can be found without walking over those before.
class UnpackedPayloads {
 public:
  // None if it is damaged.
  static std::shared_ptr<const UnpackedPayloads> From(std::string segment);
  std::uint64_t count() const { return ends_.size(); }
  // REQUIRES: nth < count().
  std::string_view At(std::uint64_t nth) const;
  // Of memory.
  std::size_t bytes() const { return segment_.size() + ends_.size() * sizeof(ends_[0]); }

 private:
  std::string segment_;
  std::size_t begin_ = 0;            // of the first text
  std::vector<std::uint32_t> ends_;  // counted from there
};

struct PackedOutcome {
  TaskIndex index = 0;
  OutcomeKind kind = OutcomeKind::kResult;
  std::uint32_t attempt = 0;
  std::string_view text;
};
void PackOutcome(const PackedOutcome& outcome, std::string& out);
// All of a row, in the order they were written; false if the blob is damaged.
bool UnpackOutcomes(std::uint32_t slice, std::string_view blob, std::vector<PackedOutcome>& out);

}  // namespace allot::sqlite
