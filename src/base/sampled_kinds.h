// SPDX-License-Identifier: Apache-2.0
// How many different kinds of things there are, by a look at some of them.
//
// From how many kinds were seen once, and how many twice, follows about how many there are of all (Chao's estimate,
// which does not exceed the truth by much).
#pragma once

#include <cstddef>
#include <cstdint>

#include <boost/unordered/unordered_flat_map.hpp>

namespace allot {

class SampledKinds {
 public:
  void Add(std::uint64_t kind) { ++seen_[kind]; }
  double Estimate() const {
    double once = 0, twice = 0;
    for (const auto& [kind, times] : seen_) {
      once += times == 1;
      twice += times == 2;
    }
    return static_cast<double>(seen_.size()) + once * (once - 1) / (2 * (twice + 1));
  }

 private:
  boost::unordered_flat_map<std::uint64_t, std::uint32_t> seen_;
};

}  // namespace allot
