// SPDX-License-Identifier: Apache-2.0
// What the engine hands to a store, and gets back from it: both sides know these words, neither knows the other.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace allot {

// The place of a batch of events in the journal.
using Position = std::uint64_t;

inline constexpr std::uint32_t kJobPage = 0xFFFFFFFF;  // Record::page of a job's own record

// The engine's summary of a job (page == kJobPage) or of one page of its tasks. An empty blob removes the one before.
struct Record {
  JobId job;
  std::uint32_t page = kJobPage;
  std::string blob;
};

// A job that goes, with everything that is stored for it.
struct Removal {
  JobId job;
  JobId payload_set;  // 0: none
};

}  // namespace allot
