// SPDX-License-Identifier: Apache-2.0
// What there is room for: the queue's memory budget.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "engine/memory_use.h"

namespace allot {

// What limits keep of jobs that look like no other, and for each of them that applies.
inline constexpr std::uint64_t kGroupBytes = 700;
inline constexpr std::uint64_t kChargeBytes = 32;

struct EngineParts;
struct JobSpec;

class Budget {
 public:
  explicit Budget(EngineParts& parts) : p_(parts) {}

  // 0: none.
  void Set(std::uint64_t bytes) { bytes_ = bytes; }
  bool any() const { return bytes_ > 0; }
  // What is used of it, and by what. At once.
  MemoryUse Use() const;
  bool Fits(std::uint64_t more) const;
  // Looks and new workers may go somewhat beyond it.
  bool LooksFit() const;
  // kMemoryFull, with what uses it.
  Result<void> Admit(std::uint64_t more, std::string_view what) const;
  // Of a job, with all that it may bring along.
  std::uint64_t MostBytesOf(const JobSpec& spec) const;

 private:
  EngineParts& p_;
  std::uint64_t bytes_ = 0;
};

}  // namespace allot
