// SPDX-License-Identifier: Apache-2.0
// What one Commit() wrote, as bytes: a header and a body, in whole blocks, under one checksum.
//
//   header     64 bytes, little-endian: see the struct in group.cc. Salt: of the queue's file (state.store), so that
//   what
//              another file, or an earlier time, left is not taken for its own. Sequence: one higher with each group.
//   body       settings: how many; name, value each
//              batches: how many; of each: position, flags, events, payload segments (set, first + 1, packed segment as
//              in packed/packing.h), outcomes (job, index, attempt * 4 + kind, text), records (job, page, blob),
//              removals (job, set), floor. All numbers are varints, all counts stand before what they count.
//   zeros      up to the end of the block
//
// Changing it: raise kGroupVersion; one that is not known is taken for damage, so a migration of the queue's file must
// keep older programs off (sqlite/schema.h), and groups of the version before must stay readable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/store.h"

namespace allot::journal {

inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kMaxBodyBytes = std::size_t{1} << 31;

struct GroupHeader {
  std::uint64_t salt = 0;
  std::uint64_t sequence = 0;
  Position position = 0;           // the highest of its events, or of those before it
  std::uint32_t body_bytes = 0;    //
  std::uint32_t file_blocks = 0;   // of the segment that it is in
  std::uint32_t begins_block = 0;  // where in the segment
};

// Writes header and body to `out`, and zeros up to the end of the block. `out` has room for that.
void PutGroup(const GroupHeader& header, std::string_view body, char* out);
// Of the group that begins here, if a whole header does; nothing is known of the body.
std::optional<GroupHeader> ReadHeader(std::string_view block);
// Whether this is a header and its body, as they were written.
bool IsWhole(std::string_view header_and_body);

// The body for these; kept by nobody.
void EncodeBatches(std::span<const Batch> batches, std::string& out);
void EncodeSetting(std::string_view name, std::string_view value, std::string& out);

// A body, taken apart without copying: it must outlive this.
struct SegmentView {
  JobId set;
  std::int64_t first = 0;
  std::string_view packed;
};
struct OutcomeView {
  JobId job;
  TaskIndex index = 0;
  OutcomeKind kind = OutcomeKind::kResult;
  std::uint32_t attempt = 0;
  std::string_view text;
};
struct RecordView {
  JobId job;
  std::uint32_t page = kJobPage;
  std::string_view blob;
};
struct BatchView {
  Position position = 0;
  std::string_view events;
  std::vector<SegmentView> payloads;
  std::vector<OutcomeView> outcomes;
  std::vector<RecordView> records;
  std::vector<Removal> removals;
  Position floor = 0;
  bool payloads_spoken_for = false;
};
struct GroupView {
  std::vector<std::pair<std::string_view, std::string_view>> settings;
  std::vector<BatchView> batches;
};
// False if it is none.
bool DecodeBody(std::string_view body, GroupView& out);

// A group in memory.
struct Group : std::enable_shared_from_this<Group> {
  std::uint64_t sequence = 0;
  Position position = 0;
  std::string body;
  GroupView view;  // of `body`
};
using Groups = std::span<const std::shared_ptr<const Group>>;

std::size_t CountRemovals(const Group& group);

// How many of `groups`, which follow a file whose last position is `last`, can go into it with one transaction: one at
// least, and not more than have so many bytes and removals. What numbers its events anew begins a transaction.
std::size_t CountForOneTransaction(Groups groups, Position last, std::size_t max_bytes, std::size_t max_removals);

}  // namespace allot::journal
