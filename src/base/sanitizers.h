// SPDX-License-Identifier: Apache-2.0
// Whether a sanitizer that has an allocator of its own watches this build: address, thread or memory.
//
// ALLOT_SANITIZED is 1 or 0, and always defined. Such a build replaces no operator new, counts no bytes, and tests less
// where time or memory would be bounded; what a test says of a normal build does not change.
#pragma once

#include <cstdint>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // g++
#define ALLOT_SANITIZED 1
#elif defined(__has_feature)  // clang
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define ALLOT_SANITIZED 1
#endif
#endif

#ifndef ALLOT_SANITIZED
#define ALLOT_SANITIZED 0
#endif

namespace allot {

// How often a test repeats itself that normally does so `normal` times: a tenth of that, at least once, under a
// sanitizer, which makes every round slower.
constexpr std::uint64_t Rounds(std::uint64_t normal) { return ALLOT_SANITIZED ? (normal + 9) / 10 : normal; }

}  // namespace allot
