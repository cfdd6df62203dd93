// SPDX-License-Identifier: Apache-2.0
// How a program of the project uses the C library's allocator.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <cstdlib>

namespace allot {

// Small pieces that are freed join their neighbours at once. Otherwise the allocator collects them, and some large
// allocation pays for a hundred thousand of them together: ten milliseconds in which nobody is answered. Call it first
// of all, before there are threads.
inline void JoinFreeMemoryAtOnce() {
#ifdef M_MXFAST
  mallopt(M_MXFAST, 0);
#endif
}

// The allocator sorts what was freed when it is next asked for something large, and then all of it. Between steps that
// free much, this lets it do so in steps as well.
inline void SortFreedMemory() {
  constexpr std::size_t kLarge = 100'000;
  void* volatile piece = std::malloc(kLarge);  // not to be optimised away
  std::free(piece);
}

}  // namespace allot
