// SPDX-License-Identifier: Apache-2.0
// Reads a write-ahead log as SQLite wrote it, without SQLite: how far it is whole, and what lies behind.
//
// SQLite ends its recovery at the first frame that does not fit and takes that for the end. Frames carry the checksum
// of all frames before them, so a frame behind a hole can still be checked against the checksum that its neighbour
// states.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "store/sqlite/mark.h"

namespace allot::sqlite {

struct LogScan {
  bool there = false;       // the file
  std::uint64_t bytes = 0;  // of the file
  bool blank = true;        // nothing but zeros where its header would be
  bool header = false;      // and a header that is whole; else nothing below is known
  std::uint32_t page_bytes = 0;
  std::uint32_t salt1 = 0;
  std::uint32_t salt2 = 0;
  std::uint32_t frames = 0;        // from the first on, whose checksums hold
  std::uint32_t committed = 0;     // of them, up to the end of the last whole commit
  std::uint32_t commits = 0;       // in them
  std::uint32_t lost_commits = 0;  // that are whole behind the first frame that is not

  // Where frame n, from 0 on, begins.
  std::uint64_t OffsetOf(std::uint64_t n) const { return 32 + n * (24 + page_bytes); }
};

// Of FILE-wal. Fails only if it cannot be read.
Result<LogScan> ScanLog(const std::string& file);

}  // namespace allot::sqlite
