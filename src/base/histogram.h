// SPDX-License-Identifier: Apache-2.0
// How often something took how long, in buckets that double: enough for percentiles that people read, and for
// Prometheus.
//
// Cost: adding is one increment and one addition; 264 bytes.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "base/time.h"

namespace allot {

struct TimeHistogram {
  // Bucket i counts what took at most 2^i milliseconds and more than those before; the last one counts the rest.
  static constexpr std::size_t kBuckets = 32;
  std::array<std::uint64_t, kBuckets> counts{};
  std::uint64_t sum_ms = 0;

  void Add(milliseconds took) {
    const auto ms = static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0));
    const auto bucket = ms <= 1 ? 0 : static_cast<std::size_t>(std::bit_width(ms - 1));
    ++counts[std::min(bucket, kBuckets - 1)];
    sum_ms += ms;
  }
  std::uint64_t Count() const {
    std::uint64_t all = 0;
    for (const std::uint64_t n : counts) all += n;
    return all;
  }
  // The upper end of the bucket in which that part of all lies, 0 … 1; 0 if there is nothing.
  milliseconds Quantile(double part) const {
    const std::uint64_t all = Count();
    if (all == 0) return milliseconds(0);
    const double wanted = part * static_cast<double>(all);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      seen += counts[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return milliseconds(std::int64_t{1} << i);
    }
    return milliseconds(std::int64_t{1} << (kBuckets - 1));
  }
};

}  // namespace allot
