// SPDX-License-Identifier: Apache-2.0
// Errors of tasks, those with the same text together.
//
// Threading: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace allot {

// The text with all that differs from task to task told as `#`: numbers, hexadecimal ids of eight digits and more,
// UUIDs. At most about `kMaxGroupText` bytes of it.
std::string ErrorShape(std::string_view error);
inline constexpr std::size_t kMaxGroupText = 500;

struct ErrorGroup {
  std::string text;
  std::string example;  // the first as it was; its beginning, if it is very long
  std::uint64_t tasks = 0;
  TaskIndex first = 0, last = 0;
};

class ErrorGroups {
 public:
  // In order of index.
  void Add(TaskIndex index, std::string_view error);
  std::uint64_t examined() const { return examined_; }
  // Those with the most tasks first, at most `max`.
  std::vector<ErrorGroup> Largest(std::size_t max) const;

 private:
  std::uint64_t examined_ = 0;
  std::unordered_map<std::string, ErrorGroup> groups_;
};

}  // namespace allot
