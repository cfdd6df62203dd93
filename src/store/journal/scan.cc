// SPDX-License-Identifier: Apache-2.0
#include "store/journal/scan.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "store/sqlite/sync_directory.h"

namespace allot::journal {
namespace {

bool IsThere(const std::string& name) {
  struct stat info {};
  return stat(name.c_str(), &info) == 0;
}

// The numbers of the files that are there; some may be missing between them.
std::vector<std::uint32_t> NumbersOf(const std::string& file) {
  constexpr std::uint32_t kMayBeMissing = 64;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t n = 1; n <= (numbers.empty() ? 0 : numbers.back()) + kMayBeMissing; ++n) {
    if (IsThere(SegmentName(file, n))) numbers.push_back(n);
  }
  return numbers;
}

Result<void> ScanFile(BlockFile& file, std::uint32_t number, Scan& scan) {
  std::string contents(file.bytes(), '\0');
  if (Result<void> done = file.Read(0, contents); !done) return done;
  Scan::File& info = scan.files[number - 1];
  const std::string_view all = contents;
  for (std::size_t at = 0; at < all.size();) {
    const std::optional<GroupHeader> header = ReadHeader(all.substr(at));
    if (!header || header->begins_block * kBlockBytes != at) {
      at += kBlockBytes;
      continue;
    }
    std::uint64_t& demanded = info.demanded_bytes[header->salt];
    demanded = std::max(demanded, header->file_blocks * std::uint64_t{kBlockBytes});
    const std::size_t length = kHeaderBytes + header->body_bytes;
    if (length > all.size() - at || !IsWhole(all.substr(at, length))) {
      at += kBlockBytes;
      continue;
    }
    scan.groups.push_back({header->salt, header->sequence, header->position, number, at, header->body_bytes});
    at = scan.groups.back().end();
  }
  return {};
}

std::string Commits(std::uint64_t first, std::uint64_t last) {
  const std::uint64_t n = last - first + 1;
  return n == 1 ? "commit " + std::to_string(first) + " is"
                : "commits " + std::to_string(first) + " to " + std::to_string(last) + " are";
}

}  // namespace

std::uint64_t Scan::bytes() const {
  std::uint64_t sum = 0;
  for (const File& one : files) sum += one.bytes;
  return sum;
}

std::vector<Scan::Found> Scan::After(std::uint64_t salt, std::uint64_t applied) const {
  std::vector<Found> out;
  std::uint64_t next = applied + 1;
  for (const Found& group : groups) {
    if (group.salt != salt || group.sequence < next) continue;
    if (group.sequence > next) break;
    out.push_back(group);
    ++next;
  }
  return out;
}

Result<Scan> ScanJournal(const std::string& file, const Disk& disk) {
  Scan scan;
  scan.file = file;
  for (const std::uint32_t number : NumbersOf(file)) {
    Result<std::unique_ptr<BlockFile>> segment = BlockFile::Open(SegmentName(file, number), disk);
    if (!segment) return segment.error();
    scan.files.resize(number);
    scan.files[number - 1].there = true;
    scan.files[number - 1].bytes = (*segment)->bytes();
    if (Result<void> done = ScanFile(**segment, number, scan); !done) return done.error();
  }
  std::stable_sort(scan.groups.begin(), scan.groups.end(),
                   [](const Scan::Found& a, const Scan::Found& b) { return a.sequence < b.sequence; });
  return scan;
}

std::optional<std::string> FindGap(const Scan& scan, std::uint64_t salt, std::uint64_t applied, std::uint64_t answered,
                                   std::uint32_t segments) {
  for (std::uint32_t n = 1; n <= segments; ++n) {
    if (n > scan.files.size() || !scan.files[n - 1].there) {
      return SegmentName(scan.file, n) + " is missing: the last commits are in it alone";
    }
  }
  const std::vector<Scan::Found> there = scan.After(salt, applied);
  const std::uint64_t first_missing = applied + there.size() + 1;
  std::uint64_t last = answered;
  std::uint64_t next_there = 0;  // the first behind the gap
  for (const Scan::Found& group : scan.groups) {
    if (group.salt != salt) continue;
    last = std::max(last, group.sequence);
    if (next_there == 0 && group.sequence > first_missing) next_there = group.sequence;
  }
  if (first_missing <= last) {
    const std::uint64_t last_missing = next_there == 0 ? last : next_there - 1;
    const std::string what = Commits(first_missing, last_missing) + " in it alone";
    // Where it should be: behind the one before, which may be of the time that SQLite has.
    const auto before = std::find_if(scan.groups.begin(), scan.groups.end(), [&](const Scan::Found& group) {
      return group.salt == salt && group.sequence == first_missing - 1;
    });
    if (before == scan.groups.end()) {
      if (next_there == 0 && segments == 0) {
        return scan.file + " is of an earlier time: of the commits up to " + std::to_string(last) + " the last " +
               std::to_string(last - applied) + " are missing";
      }
      // It was the first of a segment; or that was written over because SQLite had it, so that it is SQLite's files
      // that are not what they were.
      for (std::uint32_t n = 1; n <= segments; ++n) {
        const bool whole = std::any_of(scan.groups.begin(), scan.groups.end(), [&](const Scan::Found& group) {
          return group.salt == salt && group.segment == n && group.offset == 0;
        });
        if (!whole) return SegmentName(scan.file, n) + " is damaged at byte 0: " + what;
      }
      return scan.file + ", or its log " + scan.file + "-wal, was cut, damaged or replaced by an older one: " + what;
    }
    const Scan::File& file = scan.files[before->segment - 1];
    const std::string name = SegmentName(scan.file, before->segment);
    if (before->end() >= file.bytes) {
      if (file.IsShort(salt)) return name + " was cut at byte " + std::to_string(file.bytes) + ": " + what;
      // It began another file.
      const std::uint32_t other = before->segment < scan.files.size() ? before->segment + 1 : 1;
      return SegmentName(scan.file, other) + " is damaged at byte 0: " + what;
    }
    return name + " is damaged at byte " + std::to_string(before->end()) + ": " + what;
  }
  for (std::uint32_t n = 1; n <= segments; ++n) {
    const Scan::File& file = scan.files[n - 1];
    if (file.IsShort(salt) || file.bytes % kBlockBytes != 0) {
      return SegmentName(scan.file, n) + " was cut at byte " + std::to_string(file.bytes) +
             ": commits may have been behind it";
    }
  }
  return std::nullopt;
}

Result<std::vector<std::shared_ptr<const Group>>> ReadGroups(const Scan& scan, const std::vector<Scan::Found>& found,
                                                             const Disk& disk) {
  std::vector<std::shared_ptr<const Group>> groups;
  std::unique_ptr<BlockFile> file;
  std::uint32_t open = 0;
  for (const Scan::Found& one : found) {
    const std::string name = SegmentName(scan.file, one.segment);
    if (open != one.segment) {
      file.reset();
      Result<std::unique_ptr<BlockFile>> opened = BlockFile::Open(name, disk);
      if (!opened) return opened.error();
      file = std::move(*opened);
      open = one.segment;
    }
    std::string bytes(kHeaderBytes + one.body_bytes, '\0');
    if (Result<void> done = file->Read(one.offset, bytes); !done) return done.error();
    auto group = std::make_shared<Group>();
    group->sequence = one.sequence;
    group->position = one.position;
    if (!IsWhole(bytes)) {
      return Error{Code::kStoreFailed, name + " changes while it is read", "stop whatever writes to it"};
    }
    group->body = bytes.substr(kHeaderBytes);
    if (!DecodeBody(group->body, group->view)) {
      return Error{Code::kStoreCorrupt,
                   name + " has a commit at byte " + std::to_string(one.offset) + " that cannot be read",
                   "restore a backup: allot restore"};
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

Result<std::optional<std::string>> KeepJournal(const std::string& file, const Disk& disk) {
  std::optional<std::string> first;
  for (const std::uint32_t number : NumbersOf(file)) {
    const std::string name = SegmentName(file, number);
    const std::string kept = name + ".lost";
    if (Result<void> gone = RemoveBlockFile(kept, disk); !gone) return gone.error();
    if (std::rename(name.c_str(), kept.c_str()) != 0) {
      return Error{Code::kStoreFailed, "cannot keep " + name + " as " + kept + ": " + std::strerror(errno), ""};
    }
    if (!first) first = kept;
  }
  if (!first) return first;
  if (Result<void> done = sqlite::SyncDirectoryOf(file); !done) return done.error();
  return first;
}

Result<void> RemoveJournal(const std::string& file, const Disk& disk) {
  // The highest first, so that what is left has no gaps.
  std::vector<std::uint32_t> numbers = NumbersOf(file);
  for (auto it = numbers.rbegin(); it != numbers.rend(); ++it) {
    if (Result<void> done = RemoveBlockFile(SegmentName(file, *it), disk); !done) return done;
  }
  return {};
}

}  // namespace allot::journal
