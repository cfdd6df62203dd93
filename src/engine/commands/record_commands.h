// SPDX-License-Identifier: Apache-2.0
// Records: what is stored of an engine beside its events, and how it comes back.
//
// Start: Load() for every record, Replay() for every journal entry, then FinishLoad(), before any other command.
// Folding replaces journal entries by records.
//
// Threading: confined to the queue's engine thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/record.h"
#include "engine/types.h"

namespace allot {

struct EngineParts;

class RecordCommands {
 public:
  explicit RecordCommands(EngineParts& parts) : p_(parts) {}

  // Hands out changed records, about `max_bytes` of them (at least one, if any). To be stored after all events taken
  // before, in order. REQUIRES: !HasEffects().
  FoldStep Fold(std::size_t max_bytes);

  Result<void> Load(JobId job, std::uint32_t page, std::string_view blob);
  Result<void> Replay(Position position, std::string_view events);
  // Leases found are kept for `grace`, then end with their attempt counted; 0 ends them at once.
  void FinishLoad(const Now& now, Duration grace);

 private:
  EngineParts& p_;
};

}  // namespace allot
