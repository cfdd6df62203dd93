// SPDX-License-Identifier: Apache-2.0
// What a queue's journal files hold, read before anything is written: which groups are whole, and where others should
// be.
//
// Files:  FILE.journal-1, -2, ... Each begins at its first block with a group, or with zeros.
// Normal: a group that is not whole, as the last one that was written: nobody was answered. Behind the groups of now
// lie
//         whole ones of earlier times, which SQLite has.
// Damage: a group that is missing before one that is there, or before what the mark says was answered.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/journal/block_file.h"
#include "store/journal/group.h"

namespace allot::journal {

inline std::string SegmentName(const std::string& file, std::uint32_t number) {
  return file + ".journal-" + std::to_string(number);
}

struct Scan {
  struct File {
    bool there = false;
    std::uint64_t bytes = 0;
    // At least so long, by what heads of groups say: of each salt. What people submit may look like a head, but nobody
    // knows the salt.
    std::map<std::uint64_t, std::uint64_t> demanded_bytes;
    bool IsShort(std::uint64_t salt) const {
      const auto found = demanded_bytes.find(salt);
      return found != demanded_bytes.end() && bytes < found->second;
    }
  };
  struct Found {
    std::uint64_t salt = 0;
    std::uint64_t sequence = 0;
    Position position = 0;
    std::uint32_t segment = 0;  // from 1 on
    std::uint64_t offset = 0;
    std::uint32_t body_bytes = 0;
    std::uint64_t end() const { return offset + RoundUpToBlocks(kHeaderBytes + body_bytes); }
  };
  std::string file;
  std::vector<File> files;    // number 1 first
  std::vector<Found> groups;  // that are whole, in order of sequence

  // Of all files.
  std::uint64_t bytes() const;
  // The whole ones of `salt` that follow `applied` without a gap.
  std::vector<Found> After(std::uint64_t salt, std::uint64_t applied) const;
};

// Of FILE. Changes nothing.
Result<Scan> ScanJournal(const std::string& file, const Disk& disk);

// Why going on with `scan` would lose what was answered, where SQLite has groups up to `applied`; `answered` and
// `segments` are what the mark demands. A sentence that names a file; none: nothing is lost.
std::optional<std::string> FindGap(const Scan& scan, std::uint64_t salt, std::uint64_t applied, std::uint64_t answered,
                                   std::uint32_t segments);

// The bodies of these, read again.
Result<std::vector<std::shared_ptr<const Group>>> ReadGroups(const Scan& scan, const std::vector<Scan::Found>& found,
                                                             const Disk& disk);

// Renames all journal files of FILE to NAME.lost. The first of their names now, or none if there were none.
Result<std::optional<std::string>> KeepJournal(const std::string& file, const Disk& disk);
// Removes all journal files of FILE.
Result<void> RemoveJournal(const std::string& file, const Disk& disk);

}  // namespace allot::journal
