// SPDX-License-Identifier: Apache-2.0
// What must be on the disk at the next start, kept outside of SQLite's files: FILE.mark.
//
// The mark says up to where the journal was written when the last answer left, and which position that was; so the next
// start can tell what was never promised from what got lost.
//
// It is written after every durable commit, but synced only now and then: a killed process leaves it exact, a loss of
// power leaves one that is older. It never says more than what is durable, so an old one is merely weaker.
//
// On disk: two slots of 64 bytes, 4096 bytes apart, written in turn; the whole one with the higher number counts.
// Changing it: raise kMarkVersion; a version that is not known is refused as damaged. Version 1, from before there was
// a journal, says how much of SQLite's log was durable, and is still read.
//
// Threading: one thread at a time, but Sync() may be called from any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/record.h"
#include "base/result.h"

namespace allot::sqlite {

enum class MarkState : std::uint32_t {  // persisted: add at the end
  kNew = 1,                             // nothing was promised yet: neither file nor log need be there
  kOpen,                                // in use, or killed: file and log must be there
  kClosed,                              // stopped in order: all is in the file
  kDeleted,                             // the queue was deleted: what is left of its files goes
};

// Of version 1: how far a log was durable. Each time it begins anew it has other salts, the first of them one higher.
struct LogPlace {
  std::uint32_t salt1 = 0;
  std::uint32_t salt2 = 0;
  std::uint32_t frames = 0;  // 0: no log needs to be there
  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};

struct MarkContent {
  MarkState state = MarkState::kNew;
  std::uint64_t store = 0;     // which file it belongs to: its state.store
  Position position = 0;       // the highest that is durable
  std::uint64_t sequence = 0;  // the last group of the journal that is durable
  std::uint32_t segments = 0;  // of the journal: so many files must be there
  LogPlace log;                // none in what is written today
};

inline std::string MarkOf(const std::string& file) { return file + ".mark"; }

class Mark {
 public:
  struct Found {
    bool there = false;                  // the file, whole or not
    std::optional<MarkContent> content;  // none: damaged
    bool blank = false;                  // nothing was ever written to it: its making was cut short
  };
  // Reads FILE.mark, changing nothing.
  static Result<Found> Read(const std::string& file);

  // Opens FILE.mark for writing, makes it if it is not there; `content` is what it says until the next Write().
  static Result<Mark> Open(const std::string& file, const MarkContent& content);
  Mark() = default;
  Mark(Mark&& other) noexcept { *this = std::move(other); }
  Mark& operator=(Mark&& other) noexcept;
  ~Mark();

  bool open() const { return fd_ >= 0; }
  const MarkContent& content() const { return content_; }
  Result<void> Write(const MarkContent& content);
  Result<void> Sync();

 private:
  int fd_ = -1;
  std::uint64_t number_ = 0;
  MarkContent content_;
};

}  // namespace allot::sqlite
