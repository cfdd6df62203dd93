// SPDX-License-Identifier: Apache-2.0
// What lies on the disk under a queue's name, looked at before SQLite touches it; and whether a start may go on with
// it.
//
// Normal after an unclean stop: a journal whose last group is torn, as far as nobody was answered; a log of SQLite's
// that has lost its end, as far as the journal has what was in it. Damage: a file or a segment that the mark demands
// and that is not there; groups of the journal that are missing before others, or before what the mark says was
// answered, and that SQLite does not have; a file that is older than its mark. For files of format 3 and before, which
// had no journal: a log that is not whole as far as their mark says.
//
// What cannot be noticed is in docs/reference/operations.md,
// "What damage is noticed".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/journal/scan.h"
#include "store/sqlite/log_scan.h"
#include "store/sqlite/mark.h"

namespace allot::sqlite {

// Before there was a journal, so many commits might wait for a sync, so that a loss of power left holes between them.
inline constexpr std::uint32_t kMaxUnsyncedCommits = 64;
inline constexpr std::int64_t kFirstFormatWithJournal = 4;

struct FileState {
  std::string file;
  bool there = false;
  std::uint64_t bytes = 0;
  Mark::Found mark;
  LogScan log;
  journal::Scan journal;

  // There is no queue yet, or one was being made: nothing was promised to anybody.
  bool is_new() const;
};

// Reads, and changes nothing.
Result<FileState> LookAtFiles(const std::string& file, const journal::Disk& disk = {});

// Why a start would lose what was promised: kStoreCorrupt, with what to do. None: it may go on.
std::optional<Error> FindLoss(const FileState& state);

// The same, once the file can be read: `store` and `in_use` are of its table `state`.
std::optional<Error> FindMismatch(const FileState& state, std::uint64_t store, bool in_use);
// And what is missing of the journal, where the file has the groups up to `applied`.
std::optional<Error> FindJournalLoss(const FileState& state, std::uint64_t store, bool in_use, std::uint64_t applied);
// And once it was read: up to where.
std::optional<Error> FindLostEvents(const FileState& state, Position position);

// Puts the log aside as FILE-wal.lost, where a start that accepts the loss would overwrite it. Its name, or none if
// there is nothing to be kept.
Result<std::optional<std::string>> KeepLog(const FileState& state, bool leave_in_place);

}  // namespace allot::sqlite
