// SPDX-License-Identifier: Apache-2.0
// Reads all of a queue's file, its log and its mark, and says what is damaged. Changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace allot::sqlite {

struct CheckReport {
  std::int64_t format = 0;            // number of the last migration
  bool closed = true;                 // stopped in order; false: killed, so that its log is still needed
  std::uint64_t file_bytes = 0;       // file and log
  std::uint64_t log_pages = 0;        // committed in the log
  std::uint64_t journal_commits = 0;  // in the journal alone
  std::uint64_t position = 0;         // of the last event
  struct Rows {
    const char* table = "";
    std::uint64_t checked = 0;      // rows
    std::uint64_t without_sum = 0;  // of them, from before there were checksums
    std::uint64_t damaged = 0;
  };
  std::vector<Rows> tables;
  std::vector<std::string> problems;  // sentences for people; none: it is whole
  std::uint64_t more_problems = 0;    // that are not listed

  bool ok() const { return problems.empty(); }
};

// A queue's file in a data directory. kStoreLocked while a server has it, kStoreForeign and kStoreNewer for files of
// others; damage is in the report.
Result<CheckReport> CheckQueueFile(const std::string& file);
// A backup: a file alone.
Result<CheckReport> CheckBackup(const std::string& file);

}  // namespace allot::sqlite
