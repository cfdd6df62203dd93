// SPDX-License-Identifier: Apache-2.0
#include "store/journal/journal.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace allot::journal {

Result<void> Journal::Begin(std::uint64_t salt, std::uint64_t last) {
  salt_ = salt;
  last_ = released_ = last;
  segments_.clear();
  active_ = kNone;
  for (std::uint32_t n = 1;; ++n) {
    Result<std::unique_ptr<BlockFile>> file = BlockFile::Open(SegmentName(file_, n), disk_);
    if (!file) break;  // there are no more
    // One whose making was cut short is made anew.
    if ((*file)->bytes() < kSmallSegmentBytes || (*file)->bytes() % kBlockBytes != 0) break;
    segments_.push_back({std::move(*file), 0, 0});
  }
  Recount();
  return on_segments_(static_cast<std::uint32_t>(segments_.size()));
}

std::size_t Journal::Choose(std::uint64_t bytes) const {
  if (active_ != kNone) {
    const Segment& segment = segments_[active_];
    if (segment.used + bytes <= segment.file->bytes()) return active_;
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (IsFree(segments_[i]) && bytes <= segments_[i].file->bytes()) return i;
  }
  return kNone;
}

bool Journal::HasRoom(std::size_t body_bytes) const {
  return Choose(RoundUpToBlocks(kHeaderBytes + body_bytes)) != kNone;
}

Result<void> Journal::AddSegment(std::uint64_t at_least) {
  const std::uint64_t wanted = std::clamp(bytes_.load(), kSmallSegmentBytes, kLargeSegmentBytes);
  const std::string name = SegmentName(file_, static_cast<std::uint32_t>(segments_.size() + 1));
  Result<std::unique_ptr<BlockFile>> file = BlockFile::Make(name, std::max(wanted, at_least), disk_);
  // A little is better than nothing.
  if (!file && file.error().code == Code::kDiskFull && wanted > std::max(at_least, kSmallSegmentBytes)) {
    file = BlockFile::Make(name, std::max(at_least, kSmallSegmentBytes), disk_);
  }
  if (!file) return file.error();
  if (Result<void> done = on_segments_(static_cast<std::uint32_t>(segments_.size() + 1)); !done) {
    file->reset();
    static_cast<void>(RemoveBlockFile(name, disk_));
    return done;
  }
  segments_.push_back({std::move(*file), 0, 0});
  Recount();
  return {};
}

Result<void> Journal::Undo(std::size_t segment, std::uint64_t offset) {
  char* zeros = buffer_.Get(kBlockBytes);
  std::memset(zeros, 0, kBlockBytes);
  return segments_[segment].file->Write(offset, {zeros, kBlockBytes});
}

Result<void> Journal::Append(std::string_view body, Position position) {
  if (body.size() > kMaxBodyBytes) return Error{Code::kStoreFailed, "a commit of more than 2 GB", ""};
  const std::uint64_t bytes = RoundUpToBlocks(kHeaderBytes + body.size());
  std::size_t to = Choose(bytes);
  if (to == kNone) {
    if (Result<void> done = AddSegment(bytes); !done) return done;
    to = segments_.size() - 1;
  }
  Segment& segment = segments_[to];
  const std::uint64_t offset = to == active_ && segment.used + bytes <= segment.file->bytes() ? segment.used : 0;
  if (failed_.segment != kNone) {
    if (failed_.segment != to || failed_.offset != offset) {
      if (Result<void> done = Undo(failed_.segment, failed_.offset); !done) return done;
    }
    failed_ = {};
  }
  GroupHeader header;
  header.salt = salt_;
  header.sequence = last_ + 1;
  header.position = position;
  header.body_bytes = static_cast<std::uint32_t>(body.size());
  header.file_blocks = static_cast<std::uint32_t>(segment.file->bytes() / kBlockBytes);
  header.begins_block = static_cast<std::uint32_t>(offset / kBlockBytes);
  char* out = buffer_.Get(bytes);
  PutGroup(header, body, out);
  if (Result<void> done = segment.file->Write(offset, {out, bytes}); !done) {
    failed_ = {to, offset};
    return done;
  }
  mode_ = segment.file->mode();
  active_ = to;
  segment.used = offset + bytes;
  segment.last_sequence = ++last_;
  unreleased_bytes_ += bytes;
  return {};
}

void Journal::Release(std::uint64_t sequence) {
  CHECK(sequence <= last_);
  released_ = std::max(released_, sequence);
  unreleased_bytes_ = 0;
  for (const Segment& segment : segments_) {
    if (!IsFree(segment)) unreleased_bytes_ += segment.used;
  }
}

Result<void> Journal::Shrink() {
  CHECK(released_ == last_);
  std::size_t keep = 0;
  for (std::uint64_t sum = 0; keep < segments_.size(); ++keep) {
    sum += segments_[keep].file->bytes();
    if (sum > 2 * kSmallSegmentBytes) break;
  }
  if (keep == segments_.size()) return {};
  if (failed_.segment != kNone) {
    if (Result<void> done = Undo(failed_.segment, failed_.offset); !done) return done;
    failed_ = {};
  }
  active_ = kNone;
  if (Result<void> done = on_segments_(static_cast<std::uint32_t>(keep)); !done) return done;
  while (segments_.size() > keep) {
    const std::string name = SegmentName(file_, static_cast<std::uint32_t>(segments_.size()));
    segments_.pop_back();
    if (Result<void> done = RemoveBlockFile(name, disk_); !done) return done;
  }
  Recount();
  return {};
}

void Journal::Recount() {
  std::uint64_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.file->bytes();
  bytes_ = sum;
  segment_count_ = static_cast<std::uint32_t>(segments_.size());
}

}  // namespace allot::journal
