// SPDX-License-Identifier: Apache-2.0
// What few jobs say of themselves, and nothing decides by. Each stands here alone: the readers of requests, the wire's
// tables, idempotency's content, memory, records, views and answers come from the list.
//
// Changing it: a new one is a member and a row, whose number was never used before; see base/details.h. Then the
// compiler asks for it in the C++ client (docs/architecture.md, where to change what).
#pragma once

#include <string>
#include <tuple>

#include "base/bounds.h"
#include "base/details.h"

namespace allot {

struct JobDetails {
  std::string idempotency_key;
  std::string payload_prefix;
  std::string trace;
  friend bool operator==(const JobDetails&, const JobDetails&) = default;
};

// These have places of their own in records and in the content, from before there was a list.
inline constexpr std::uint32_t kOwnPlace = 0;

inline constexpr std::tuple kJobDetails{
    Detail(&JobDetails::idempotency_key, "idempotency_key", "the same job submitted twice is one; empty: none",
           bounds::kMaxIdempotencyKeyBytes, kOwnPlace),
    Detail(&JobDetails::payload_prefix, "payload_prefix", "stands before the payload where a command reads it",
           bounds::kMaxPayloadPrefixBytes, kOwnPlace),
    Detail(&JobDetails::trace, "trace", "handed to workers as it is", bounds::kMaxTraceBytes, kOwnPlace),
};
inline constexpr std::size_t kJobDetailCount = std::tuple_size_v<decltype(kJobDetails)>;
static_assert(NumbersDiffer(kJobDetails));

}  // namespace allot
