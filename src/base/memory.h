// How a program of the project uses the C library's allocator.
#pragma once

#include <malloc.h>

namespace allot {

// Small pieces that are freed join their neighbours at once. Otherwise the allocator collects them, and some large
// allocation pays for a hundred thousand of them together: ten milliseconds in which nobody is answered. Call it first
// of all, before there are threads.
inline void JoinFreeMemoryAtOnce() {
#ifdef M_MXFAST
  mallopt(M_MXFAST, 0);
#endif
}

}  // namespace allot
