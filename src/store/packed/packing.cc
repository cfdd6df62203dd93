// SPDX-License-Identifier: Apache-2.0
#include "store/packed/packing.h"

#include <utility>

#include "base/bytes.h"

namespace allot::sqlite {

void PackEvents(Position row, Position position, std::string_view events, std::string& out) {
  ByteWriter writer(out);
  writer.Varint(row - position);
  writer.Text(events);
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

std::shared_ptr<const UnpackedPayloads> UnpackedPayloads::From(std::string segment) {
  auto unpacked = std::make_shared<UnpackedPayloads>();
  unpacked->segment_ = std::move(segment);
  const std::string_view whole = unpacked->segment_;
  ByteReader reader(whole);
  const std::uint64_t count = reader.Varint();
  if (!reader.ok() || count > reader.rest().size()) return nullptr;
  unpacked->ends_.reserve(count);
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t length = reader.Varint();
    if (!reader.ok() || length > whole.size()) return nullptr;
    end += length;
    if (end > whole.size()) return nullptr;
    unpacked->ends_.push_back(static_cast<std::uint32_t>(end));
  }
  unpacked->begin_ = whole.size() - reader.rest().size();
  if (reader.rest().size() != end) return nullptr;
  return unpacked;
}

std::string_view UnpackedPayloads::At(std::uint64_t nth) const {
  const std::size_t from = nth == 0 ? 0 : ends_[nth - 1];
  return std::string_view(segment_).substr(begin_ + from, ends_[nth] - from);
}

void PackOutcome(const PackedOutcome& outcome, std::string& out) {
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
