// SPDX-License-Identifier: Apache-2.0
#include "server/ops/exception_log.h"

#include <exception>
#include <string>

#include "server/ops/clock.h"
#include "server/ops/log.h"
#include "server/ops/metrics.h"

namespace allot {
namespace {

constexpr std::int64_t kLineEveryUs = 1'000'000;
constexpr std::size_t kMaxShownBytes = 200;

std::string WhatWasThrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return std::string(std::string_view(error.what()).substr(0, kMaxShownBytes));
  } catch (...) {
    return "an exception without a text";
  }
}

}  // namespace

void ExceptionLog::Caught(std::string_view during) noexcept {
  try {
    metrics_.ConnectionFailed();
    const std::int64_t now = ReadMonotonic().time_since_epoch().count();
    std::int64_t due = next_line_us_.load(std::memory_order_relaxed);
    // Clients must not be able to fill the log.
    if (now < due || !next_line_us_.compare_exchange_strong(due, now + kLineEveryUs)) {
      unlogged_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    LogError("an exception ended what was done for a client",
             {{"during", during}, {"what", WhatWasThrown()}, {"unlogged_before", unlogged_.exchange(0)}});
  } catch (...) {
    // No memory even for this line.
  }
}

}  // namespace allot
