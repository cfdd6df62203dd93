// SPDX-License-Identifier: Apache-2.0
// For tests: text that is made by rule.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace allot::testing {

inline std::string Repeated(std::string_view part, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out.append(part);
  return out;
}

}  // namespace allot::testing
