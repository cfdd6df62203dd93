// SPDX-License-Identifier: Apache-2.0
// Batches as statements: those of a commit are joined, so that it has at most one of each kind.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "store/postgres/loader.h"
#include "store/postgres/writer.h"
#include "store/store.h"

namespace allot::postgres {

// What a commit changes in memory once it is durable.
struct Committed {
  std::uint64_t journal_rows = 0;
  bool dropped_journal = false;  // numbering began anew, the rows before are gone
  std::vector<Garbage> garbage;
  std::vector<int> replaced;  // which of its statements give how many bytes were there before
  struct Segment {
    JobId set;
    std::int64_t first;
    std::string packed;
  };
  std::vector<Segment> fresh;  // small ones
};

// Puts the statements of `batches` into the pipeline and changes `next` accordingly; the fence is not among them.
Committed SendBatches(Connection& db, std::int64_t queue, std::span<const Batch> batches, Head& next);

// The same batches again have the same, others hardly ever. Never Writer::kSmallWork.
std::uint64_t WorkOf(std::span<const Batch> batches);

}  // namespace allot::postgres
