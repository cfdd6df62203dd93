// SPDX-License-Identifier: Apache-2.0
// Writes groups, one durable write each, into a few files that are made beforehand and used again and again.
//
// A segment is used again when SQLite has all of its groups durably: Release() says so. When none is, another one is
// made, twice as long as before up to a bound, and the mark says how many there are before the first group is in it. An
// idle queue shrinks back to its first two.
//
// Threading: one thread at a time, but counts() any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/journal/block_file.h"
#include "store/journal/group.h"
#include "store/journal/scan.h"

namespace allot::journal {

// Of a segment, when little is going on. Two are there then.
inline constexpr std::uint64_t kSmallSegmentBytes = 128 * 1024;
inline constexpr std::uint64_t kLargeSegmentBytes = 1024 * 1024;
// Beyond that a commit rather waits for SQLite than for another file.
inline constexpr std::uint64_t kMaxJournalBytes = 4 * 1024 * 1024;

class Journal {
 public:
  // `on_segments` makes it durable that there are so many, before a group is in the last one.
  using OnSegments = std::function<Result<void>(std::uint32_t count)>;
  Journal(std::string file, Disk disk, OnSegments on_segments)
      : file_(std::move(file)), disk_(std::move(disk)), on_segments_(std::move(on_segments)) {}

  // Closes its files; Begin() opens them again.
  void Close() { segments_.clear(); }
  // Goes on behind `last`. REQUIRES: SQLite has all groups up to it, durably.
  Result<void> Begin(std::uint64_t salt, std::uint64_t last);

  // Durable on return, as group last() + 1. kDiskFull: nothing of it is there, and it may be tried again; all other
  // errors are final.
  Result<void> Append(std::string_view body, Position position);
  // Whether Append() of so many bytes needs no new file.
  bool HasRoom(std::size_t body_bytes) const;
  // SQLite has all groups up to `sequence` durably.
  void Release(std::uint64_t sequence);
  // Much of it waits for SQLite to have it durably.
  bool WantsRelease() const { return unreleased_bytes_ > 0 && unreleased_bytes_ >= bytes_ / 2; }
  // Whether Shrink() would give something back, once all is released.
  bool is_large() const { return bytes_ > 2 * kSmallSegmentBytes; }
  // Gives back what an idle queue does not need. REQUIRES: all groups are released.
  Result<void> Shrink();

  std::uint64_t last() const { return last_; }
  std::uint64_t released() const { return released_; }
  std::uint64_t bytes() const { return bytes_; }

  struct Counts {
    std::uint64_t bytes = 0;
    std::uint32_t segments = 0;
    const char* mode = "";  // how it is written; empty before the first group
  };
  Counts counts() const { return {bytes_, segment_count_, mode_}; }

 private:
  struct Segment {
    std::unique_ptr<BlockFile> file;
    std::uint64_t used = 0;           // bytes
    std::uint64_t last_sequence = 0;  // in it; 0: none
  };
  static constexpr std::size_t kNone = SIZE_MAX;

  // Where a group of so many bytes goes, without a new file; kNone.
  std::size_t Choose(std::uint64_t bytes) const;
  bool IsFree(const Segment& segment) const { return segment.last_sequence <= released_; }
  Result<void> AddSegment(std::uint64_t at_least);
  // What a write that failed may have left must not be found beside what takes its place.
  Result<void> Undo(std::size_t segment, std::uint64_t offset);
  void Recount();

  const std::string file_;
  const Disk disk_;
  const OnSegments on_segments_;
  std::uint64_t salt_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t released_ = 0;
  std::vector<Segment> segments_;
  std::size_t active_ = kNone;
  struct Failed {
    std::size_t segment = kNone;
    std::uint64_t offset = 0;
  };
  Failed failed_;
  std::uint64_t unreleased_bytes_ = 0;
  AlignedBuffer buffer_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint32_t> segment_count_{0};
  std::atomic<const char*> mode_{""};
};

}  // namespace allot::journal
