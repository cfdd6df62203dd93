// SPDX-License-Identifier: Apache-2.0
#include "store/journal/group.h"

#include <cstring>

#include "base/bytes.h"
#include "store/journal/block_file.h"
#include "store/packed/checksum.h"
#include "store/packed/packing.h"

namespace allot::journal {
namespace {

constexpr std::uint32_t kGroupVersion = 1;
constexpr char kGroupMagic[8] = {'A', 'l', 'l', 't', 'G', 'r', 'p', '\n'};

// As it lies on the disk.
struct RawHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t body_bytes;
  std::uint64_t salt;
  std::uint64_t sequence;
  std::uint64_t position;
  std::uint32_t file_blocks;
  std::uint32_t begins_block;
  std::uint32_t reserved[2];
  std::uint32_t header_sum;  // of all before, so that where the next group begins can be told where the body is damaged
  std::uint32_t body_sum;    // of the body, after header_sum
};
static_assert(sizeof(RawHeader) == kHeaderBytes);

std::uint32_t HeaderSum(const RawHeader& raw) {
  return sqlite::Checksum({reinterpret_cast<const char*>(&raw), offsetof(RawHeader, header_sum)});
}

// Payloads of `segment`, packed as packed/packing.h does it, with their length before.
void PutPayloads(const PayloadSegment& segment, ByteWriter& writer, std::string& out) {
  const auto varint_bytes = [](std::uint64_t v) {
    std::size_t n = 1;
    for (; v >= 0x80; v >>= 7) ++n;
    return n;
  };
  std::size_t bytes = varint_bytes(segment.payloads.size());
  for (const std::string& payload : segment.payloads) bytes += varint_bytes(payload.size()) + payload.size();
  writer.Varint(bytes);
  sqlite::PackPayloads(segment.payloads, out);
}

// Counts that do not fit into what is left are damage, not a reason to reserve memory.
bool HasSpaceFor(const ByteReader& reader, std::uint64_t count) { return reader.ok() && count <= reader.rest().size(); }

bool DecodeBatch(ByteReader& reader, BatchView& batch) {
  batch.position = reader.Varint();
  const std::uint64_t flags = reader.Varint();
  batch.payloads_spoken_for = (flags & 1) != 0;
  batch.events = reader.Text();
  std::uint64_t count = reader.Varint();
  if (!HasSpaceFor(reader, count)) return false;
  batch.payloads.reserve(count);
  for (; count > 0; --count) {
    SegmentView& segment = batch.payloads.emplace_back();
    segment.set.value = reader.Varint();
    segment.first = static_cast<std::int64_t>(reader.Varint()) - 1;
    segment.packed = reader.Text();
  }
  count = reader.Varint();
  if (!HasSpaceFor(reader, count)) return false;
  batch.outcomes.reserve(count);
  for (; count > 0; --count) {
    OutcomeView& outcome = batch.outcomes.emplace_back();
    outcome.job.value = reader.Varint();
    outcome.index = static_cast<TaskIndex>(reader.Varint());
    const std::uint64_t attempt_and_kind = reader.Varint();
    outcome.attempt = static_cast<std::uint32_t>(attempt_and_kind / 4);
    outcome.kind = static_cast<OutcomeKind>(attempt_and_kind % 4);
    outcome.text = reader.Text();
  }
  count = reader.Varint();
  if (!HasSpaceFor(reader, count)) return false;
  batch.records.reserve(count);
  for (; count > 0; --count) {
    RecordView& record = batch.records.emplace_back();
    record.job.value = reader.Varint();
    record.page = static_cast<std::uint32_t>(reader.Varint());
    record.blob = reader.Text();
  }
  count = reader.Varint();
  if (!HasSpaceFor(reader, count)) return false;
  batch.removals.reserve(count);
  for (; count > 0; --count) {
    Removal& removal = batch.removals.emplace_back();
    removal.job.value = reader.Varint();
    removal.payload_set.value = reader.Varint();
  }
  batch.floor = reader.Varint();
  return reader.ok() && (flags & ~std::uint64_t{1}) == 0;
}

}  // namespace

void PutGroup(const GroupHeader& header, std::string_view body, char* out) {
  RawHeader raw{};
  std::memcpy(raw.magic, kGroupMagic, sizeof kGroupMagic);
  raw.version = kGroupVersion;
  raw.body_bytes = static_cast<std::uint32_t>(body.size());
  raw.salt = header.salt;
  raw.sequence = header.sequence;
  raw.position = header.position;
  raw.file_blocks = header.file_blocks;
  raw.begins_block = header.begins_block;
  raw.header_sum = HeaderSum(raw);
  raw.body_sum = sqlite::Checksum(body, raw.header_sum);
  std::memcpy(out, &raw, sizeof raw);
  std::memcpy(out + sizeof raw, body.data(), body.size());
  const std::size_t end = sizeof raw + body.size();
  std::memset(out + end, 0, RoundUpToBlocks(end) - end);
}

std::optional<GroupHeader> ReadHeader(std::string_view block) {
  RawHeader raw;
  if (block.size() < sizeof raw) return std::nullopt;
  std::memcpy(&raw, block.data(), sizeof raw);
  if (std::memcmp(raw.magic, kGroupMagic, sizeof kGroupMagic) != 0 || raw.version != kGroupVersion ||
      raw.header_sum != HeaderSum(raw)) {
    return std::nullopt;
  }
  return GroupHeader{raw.salt, raw.sequence, raw.position, raw.body_bytes, raw.file_blocks, raw.begins_block};
}

bool IsWhole(std::string_view header_and_body) {
  RawHeader raw;
  if (!ReadHeader(header_and_body)) return false;
  std::memcpy(&raw, header_and_body.data(), sizeof raw);
  const std::string_view body = header_and_body.substr(sizeof raw);
  return body.size() == raw.body_bytes && raw.body_sum == sqlite::Checksum(body, raw.header_sum);
}

void EncodeBatches(std::span<const Batch> batches, std::string& out) {
  // Near enough, so that it need not grow on the way.
  std::size_t bytes = out.size() + 16;
  for (const Batch& batch : batches) {
    bytes += batch.events.size() + batch.removals.size() * 10 + 48;
    for (const PayloadSegment& segment : batch.payloads) {
      for (const std::string& payload : segment.payloads) bytes += payload.size() + 5;
      bytes += 24;
    }
    for (const Outcome& outcome : batch.outcomes) bytes += outcome.text.size() + 24;
    for (const Record& record : batch.records) bytes += record.blob.size() + 16;
  }
  out.reserve(bytes);
  ByteWriter writer(out);
  writer.Varint(0);
  writer.Varint(batches.size());
  for (const Batch& batch : batches) {
    writer.Varint(batch.position);
    writer.Varint(batch.payloads_spoken_for ? 1 : 0);
    writer.Text(batch.events);
    writer.Varint(batch.payloads.size());
    for (const PayloadSegment& segment : batch.payloads) {
      writer.Varint(segment.set.value);
      writer.Varint(static_cast<std::uint64_t>(segment.first + 1));
      PutPayloads(segment, writer, out);
    }
    writer.Varint(batch.outcomes.size());
    for (const Outcome& outcome : batch.outcomes) {
      writer.Varint(outcome.job.value);
      writer.Varint(outcome.index);
      writer.Varint(std::uint64_t{outcome.attempt} * 4 + static_cast<std::uint64_t>(outcome.kind));
      writer.Text(outcome.text);
    }
    writer.Varint(batch.records.size());
    for (const Record& record : batch.records) {
      writer.Varint(record.job.value);
      writer.Varint(record.page);
      writer.Text(record.blob);
    }
    writer.Varint(batch.removals.size());
    for (const Removal& removal : batch.removals) {
      writer.Varint(removal.job.value);
      writer.Varint(removal.payload_set.value);
    }
    writer.Varint(batch.floor);
  }
}

void EncodeSetting(std::string_view name, std::string_view value, std::string& out) {
  ByteWriter writer(out);
  writer.Varint(1);
  writer.Text(name);
  writer.Text(value);
  writer.Varint(0);
}

std::size_t CountRemovals(const Group& group) {
  std::size_t n = 0;
  for (const BatchView& batch : group.view.batches) n += batch.removals.size();
  return n;
}

std::size_t CountForOneTransaction(Groups groups, Position last, std::size_t max_bytes, std::size_t max_removals) {
  std::size_t bytes = 0;
  std::size_t removals = 0;
  std::size_t count = 0;
  for (; count < groups.size(); ++count) {
    const Group& group = *groups[count];
    Position first = 0;
    for (const BatchView& batch : group.view.batches) {
      if (first == 0 && !batch.events.empty()) first = batch.position;
    }
    bytes += group.body.size();
    removals += CountRemovals(group);
    const bool anew = first != 0 && first <= last;
    if (count > 0 && (bytes > max_bytes || removals > max_removals || anew)) break;
    if (first != 0) last = group.position;
  }
  return count;
}

bool DecodeBody(std::string_view body, GroupView& out) {
  ByteReader reader(body);
  std::uint64_t count = reader.Varint();
  if (!HasSpaceFor(reader, count)) return false;
  for (; count > 0; --count) {
    const std::string_view name = reader.Text();
    out.settings.emplace_back(name, reader.Text());
  }
  count = reader.Varint();
  if (!HasSpaceFor(reader, count)) return false;
  out.batches.resize(count);
  for (BatchView& batch : out.batches) {
    if (!DecodeBatch(reader, batch)) return false;
  }
  return reader.ok() && reader.AtEnd();
}

}  // namespace allot::journal
