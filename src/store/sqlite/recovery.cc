// SPDX-License-Identifier: Apache-2.0
#include "store/sqlite/recovery.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace allot::sqlite {
namespace {

namespace fs = std::filesystem;

constexpr char kLossHint[] =
    "restore a backup: allot restore; or put the missing files back; or start with --accept-loss, which goes on "
    "without "
    "what is missing and says what that is";

Error Loss(std::string message) { return {Code::kStoreCorrupt, std::move(message), kLossHint}; }

std::string Frames(std::uint64_t n) { return std::to_string(n) + (n == 1 ? " page" : " pages"); }

// The log began anew since the mark was written: its first salt counts up. The mark is synced about as often, so it
// cannot be much older; a log of another time has random salts.
bool IsLater(std::uint32_t salt, std::uint32_t than) { return salt - than >= 1 && salt - than <= 1000; }

std::optional<Error> FindLogLoss(const std::string& name, const LogScan& log, const LogPlace& want) {
  if (!log.there) {
    return Loss(name + " is missing: the last " + Frames(want.frames) + " that were written are in it alone");
  }
  if (!log.header) {
    return Loss(name +
                (log.bytes < 32 ? " was cut to " + std::to_string(log.bytes) + " bytes" : " is damaged at its head") +
                ": the last " + Frames(want.frames) + " that were written are in it alone");
  }
  if (log.salt1 != want.salt1 || log.salt2 != want.salt2) {
    if (IsLater(log.salt1, want.salt1)) return std::nullopt;
    return Loss(name + " is not the log that was written last");
  }
  if (log.frames >= want.frames) return std::nullopt;
  const bool cut = log.OffsetOf(log.frames + std::uint64_t{1}) > log.bytes;
  return Loss(name +
              (cut ? " was cut at byte " + std::to_string(log.bytes)
                   : " is damaged at byte " + std::to_string(log.OffsetOf(log.frames))) +
              ": of the last " + Frames(want.frames) + " that were written, " + Frames(want.frames - log.committed) +
              " cannot be read");
}

}  // namespace

bool FileState::is_new() const {
  if (mark.content) return mark.content->state == MarkState::kNew;
  return (!mark.there || mark.blank) && bytes == 0 && log.frames == 0 && journal.files.empty();
}

Result<FileState> LookAtFiles(const std::string& file, const journal::Disk& disk) {
  FileState state;
  state.file = file;
  struct stat info {};
  if (stat(file.c_str(), &info) == 0) {
    state.there = true;
    state.bytes = static_cast<std::uint64_t>(info.st_size);
  } else if (errno != ENOENT) {
    return Error{Code::kStoreFailed, "cannot read " + file + ": " + std::strerror(errno), ""};
  }
  Result<Mark::Found> mark = Mark::Read(file);
  if (!mark) return mark.error();
  state.mark = *mark;
  Result<LogScan> log = ScanLog(file);
  if (!log) return log.error();
  state.log = *log;
  Result<journal::Scan> journal = journal::ScanJournal(file, disk);
  if (!journal) return journal.error();
  state.journal = std::move(*journal);
  return state;
}

std::optional<Error> FindLoss(const FileState& state) {
  if (state.is_new()) return std::nullopt;
  const std::optional<MarkContent>& mark = state.mark.content;
  if (state.bytes == 0) {
    return Loss(state.file + (state.there ? " is empty" : " is missing") + ", but its " +
                (state.log.frames > 0           ? "log"
                 : !state.journal.files.empty() ? "journal"
                                                : "mark") +
                " is there");
  }
  // Without a mark it is of an earlier version, or cannot have been promised anything of: the file itself says which.
  if (!mark) return std::nullopt;
  if (mark->state == MarkState::kOpen && mark->log.frames > 0) {
    if (std::optional<Error> loss = FindLogLoss(state.file + "-wal", state.log, mark->log)) return loss;
  }
  // With a journal, what the log has lost is in the journal, or missing from it.
  if (mark->log.frames == 0) return std::nullopt;
  // The mark may be older than the log. What a loss of power leaves unsynced is the commit under way, and few of the
  // tidier's before it.
  if (state.log.lost_commits > kMaxUnsyncedCommits + 1) {
    return Loss(state.file + "-wal has a hole at byte " + std::to_string(state.log.OffsetOf(state.log.frames)) + ": " +
                std::to_string(state.log.lost_commits) + " commits behind it are whole");
  }
  return std::nullopt;
}

std::optional<Error> FindMismatch(const FileState& state, std::uint64_t store, bool in_use) {
  const std::optional<MarkContent>& mark = state.mark.content;
  if (!mark) {
    if (!in_use) return std::nullopt;
    return Loss(MarkOf(state.file) + (state.mark.there ? " is damaged" : " is missing") +
                ", and the file was not closed: whether its journal is whole cannot be told");
  }
  if (in_use && mark->state == MarkState::kClosed && !state.log.there && state.journal.files.empty()) {
    return Loss(state.file + "-wal is missing, and the file was not closed");
  }
  if (mark->state == MarkState::kNew || mark->store == store) return std::nullopt;
  return Loss(state.file + " is not the file that " + MarkOf(state.file) + " belongs to");
}

std::optional<Error> FindJournalLoss(const FileState& state, std::uint64_t store, bool in_use, std::uint64_t applied) {
  MarkContent mark = state.mark.content.value_or(MarkContent{});
  if (mark.state != MarkState::kOpen) mark.segments = 0;
  // The file says that it is in use once the mark does: this mark is an older one, so there may be more than it knows.
  if (in_use && mark.state == MarkState::kClosed) mark.segments = 1;
  const auto gap = journal::FindGap(state.journal, store, applied, mark.sequence, mark.segments);
  if (!gap) return std::nullopt;
  return Loss(*gap);
}

std::optional<Error> FindLostEvents(const FileState& state, Position position) {
  const std::optional<MarkContent>& mark = state.mark.content;
  if (!mark || mark->position <= position) return std::nullopt;
  return Loss(state.file + " ends with event " + std::to_string(position) + ", but events up to " +
              std::to_string(mark->position) + " were written: " + std::to_string(mark->position - position) +
              " are missing");
}

Result<std::optional<std::string>> KeepLog(const FileState& state, bool leave_in_place) {
  if (!state.log.there || state.log.bytes == 0) return std::optional<std::string>();
  const std::string name = state.file + "-wal";
  const std::string kept = name + ".lost";
  std::error_code ec;
  if (leave_in_place) {
    fs::copy_file(name, kept, fs::copy_options::overwrite_existing, ec);
  } else {
    fs::rename(name, kept, ec);
  }
  if (ec == std::errc::no_such_file_or_directory) return std::optional<std::string>();
  if (ec) return Error{Code::kStoreFailed, "cannot keep " + name + " as " + kept + ": " + ec.message(), ""};
  return std::optional<std::string>(kept);
}

}  // namespace allot::sqlite
