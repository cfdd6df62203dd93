// SPDX-License-Identifier: Apache-2.0
// Why a queue's store takes nothing at the moment. What waits for it is tried again until it does; reads go on as far
// as they can, and nothing new is taken.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace allot {

enum class Stall : std::uint8_t { kNone, kDiskFull, kUnavailable };

// The one that an error of the store means; kNone: it is final.
inline Stall StallOf(const Error& error) {
  if (error.code == Code::kDiskFull) return Stall::kDiskFull;
  return error.code == Code::kUnavailable ? Stall::kUnavailable : Stall::kNone;
}

// The answer to whoever wants something new meanwhile.
inline Error ErrorOf(Stall stall) {
  if (stall == Stall::kDiskFull) {
    return {Code::kDiskFull, "the disk is full: nothing new is taken",
            "free some space; the server recovers by itself"};
  }
  return {Code::kUnavailable, "the database does not answer: nothing new is taken",
          "is it up? The server recovers by itself"};
}

}  // namespace allot
