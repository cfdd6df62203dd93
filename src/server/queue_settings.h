// What can be set for one queue, while it runs. Kept with the queue, as the JSON object of the protocol.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bounds.h"
#include "base/time.h"

namespace allot {

struct QueueSettings {
  std::uint64_t max_finished_jobs = bounds::kMaxFinishedJobs;
  Duration worker_grace = std::chrono::seconds(30);
  std::uint64_t max_result_bytes = bounds::kDefaultMaxResultBytes;
  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

// What is not named stays.
struct QueueSettingsChange {
  std::optional<std::uint64_t> max_finished_jobs;
  std::optional<Duration> worker_grace;
  std::optional<std::uint64_t> max_result_bytes;

  void ApplyTo(QueueSettings& settings) const {
    if (max_finished_jobs) settings.max_finished_jobs = *max_finished_jobs;
    if (worker_grace) settings.worker_grace = *worker_grace;
    if (max_result_bytes) settings.max_result_bytes = *max_result_bytes;
  }
};

}  // namespace allot
