#include "store/sqlite/packing.h"

#include "base/bytes.h"

namespace allot::sqlite {

void PackEvents(Position row, const Batch& batch, std::string& out) {
  ByteWriter writer(out);
  writer.Varint(row - batch.position);
  writer.Text(batch.events);
}

Result<bool> UnpackEvents(Position row, std::string_view blob,
                          const std::function<Result<void>(Position, std::string_view)>& each) {
  ByteReader reader(blob);
  while (!reader.AtEnd()) {
    const std::uint64_t below = reader.Varint();
    const std::string_view events = reader.Text();
    if (!reader.ok() || below > row) return false;
    const Result<void> done = each(row - below, events);
    if (!done) return done.error();
  }
  return reader.ok();
}

void PackPayloads(std::span<const std::string> payloads, std::string& out) {
  std::size_t bytes = 5;
  for (const std::string& payload : payloads) bytes += payload.size() + 3;
  out.reserve(out.size() + bytes);
  ByteWriter writer(out);
  writer.Varint(payloads.size());
  for (const std::string& payload : payloads) writer.Varint(payload.size());
  for (const std::string& payload : payloads) writer.Raw(payload);
}

std::optional<std::uint64_t> PayloadCount(std::string_view segment) {
  ByteReader reader(segment);
  const std::uint64_t count = reader.Varint();
  if (!reader.ok()) return std::nullopt;
  return count;
}

std::optional<std::string_view> PayloadAt(std::string_view segment, std::uint64_t nth) {
  // Walking over some hundred one-byte lengths costs less than keeping their sums in memory.
  ByteReader reader(segment);
  const std::uint64_t count = reader.Varint();
  if (nth >= count) return std::nullopt;
  std::uint64_t before = 0;
  std::uint64_t length = 0;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::uint64_t one = reader.Varint();
    if (one > segment.size()) return std::nullopt;
    if (i < nth) before += one;
    if (i == nth) length = one;
  }
  reader.Raw(before);
  const std::string_view text = reader.Raw(length);
  if (!reader.ok()) return std::nullopt;
  return text;
}

void PackOutcome(const Outcome& outcome, std::string& out) {
  ByteWriter writer(out);
  writer.Varint(outcome.index % kSliceTasks);
  writer.Varint(std::uint64_t{outcome.attempt} * 4 + static_cast<std::uint64_t>(outcome.kind));
  writer.Text(outcome.text);
}

bool UnpackOutcomes(std::uint32_t slice, std::string_view blob, std::vector<PackedOutcome>& out) {
  out.clear();
  ByteReader reader(blob);
  while (!reader.AtEnd()) {
    PackedOutcome outcome;
    const std::uint64_t index = reader.Varint();
    const std::uint64_t attempt_and_kind = reader.Varint();
    outcome.text = reader.Text();
    if (!reader.ok() || index >= kSliceTasks || attempt_and_kind / 4 > 0xFFFFFFFF) return false;
    outcome.index = slice * kSliceTasks + static_cast<TaskIndex>(index);
    outcome.kind = static_cast<OutcomeKind>(attempt_and_kind % 4);
    outcome.attempt = static_cast<std::uint32_t>(attempt_and_kind / 4);
    out.push_back(outcome);
  }
  return reader.ok();
}

}  // namespace allot::sqlite
