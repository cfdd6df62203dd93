// SPDX-License-Identifier: Apache-2.0
// Payloads on their way into the store, in segments of a good size.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/wire/request_json.h"
#include "store/store.h"

namespace allot {

inline constexpr std::size_t kGoodSegmentBytes = 64 * 1024;

// Collects the payloads of tasks 0, 1, 2, … into segments.
class PayloadPacker {
 public:
  void Add(std::string_view payload) {
    bytes_ += payload.size();
    ++count_;
    open_.payloads.emplace_back(payload);
    if (bytes_ >= kGoodSegmentBytes || open_.payloads.size() >= kMaxSegmentPayloads) Seal();
  }
  void Seal() {
    if (open_.payloads.empty()) return;
    segments_.push_back(std::move(open_));
    open_ = {};
    open_.first = static_cast<std::int64_t>(count_);
    bytes_ = 0;
  }
  // Those that are full (after Seal(): all). Their set is not named yet.
  std::vector<PayloadSegment> TakeSegments() { return std::exchange(segments_, {}); }
  bool HasSegments() const { return !segments_.empty(); }
  std::uint64_t count() const { return count_; }

 private:
  static constexpr std::size_t kMaxSegmentPayloads = 8192;
  std::vector<PayloadSegment> segments_;
  PayloadSegment open_;
  std::size_t bytes_ = 0;
  std::uint64_t count_ = 0;
};

// All payloads of a request.
inline std::vector<PayloadSegment> PackPayloads(const JobRequest& request) {
  PayloadPacker packer;
  for (const std::string_view payload : request.payloads) packer.Add(payload);
  packer.Seal();
  std::vector<PayloadSegment> segments = packer.TakeSegments();
  if (request.spec.payload.common) {
    PayloadSegment common;
    common.first = kCommonPayload;
    common.payloads.emplace_back(request.payload);
    segments.push_back(std::move(common));
  }
  return segments;
}

}  // namespace allot
