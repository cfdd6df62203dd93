// What lies on the disk under a queue's name, looked at before SQLite touches it; and whether a start may go on with
// it.
//
// Normal after an unclean stop: a log whose end is torn, as far as nobody was answered; frames of older logs behind it.
// Damage: a file or a log that the mark demands and that is not there, or not whole as far as the mark says; commits
// that are whole behind a hole, more of them than can have been unsynced; a file that is older than its mark.
//
// What cannot be noticed is in docs/reference/operations.md,
// "What damage is noticed".
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "store/sqlite/log_scan.h"
#include "store/sqlite/mark.h"

namespace allot::sqlite {

// So many commits of the tidier may wait for a sync, so that a loss of power may leave holes between them.
inline constexpr std::uint32_t kMaxUnsyncedCommits = 64;

struct FileState {
  std::string file;
  bool there = false;
  std::uint64_t bytes = 0;
  Mark::Found mark;
  LogScan log;

  // There is no queue yet, or one was being made: nothing was promised to anybody.
  bool is_new() const;
};

// Reads, and changes nothing.
Result<FileState> LookAtFiles(const std::string& file);

// Why a start would lose what was promised: kStoreCorrupt, with what to do. None: it may go on.
std::optional<Error> FindLoss(const FileState& state);

// The same, once the file can be read: `store` and `in_use` are of its table `state`.
std::optional<Error> FindMismatch(const FileState& state, std::uint64_t store, bool in_use);
// And once it was read: up to where.
std::optional<Error> FindLostEvents(const FileState& state, Position position);

// Puts the log aside as FILE-wal.lost, where a start that accepts the loss would overwrite it. Its name, or none if
// there is nothing to be kept.
Result<std::optional<std::string>> KeepLog(const FileState& state, bool leave_in_place);

}  // namespace allot::sqlite
