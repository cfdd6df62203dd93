// SPDX-License-Identifier: Apache-2.0
// CHECK: our own mistakes end the program, in every build. Never for input.
#pragma once

namespace allot {
[[noreturn]] void CheckFailed(const char* file, int line, const char* what);
}  // namespace allot

#define CHECK(condition)                                    \
  do {                                                      \
    if (!(condition)) [[unlikely]]                          \
      ::allot::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)
