// SPDX-License-Identifier: Apache-2.0
// JobWaiter: waiting for many jobs at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "allotter/result.h"
#include "allotter/values.h"

namespace allotter {

// Waits for many jobs at once, over one WebSocket.
// Threading: one call at a time.
class JobWaiter {
 public:
  struct Ended {
    std::string id;
    std::string state;  // empty: there is no such job
    std::uint64_t done = 0, failed = 0;
  };
  static Result<JobWaiter> Open(const ConnectionOptions& options);
  JobWaiter(JobWaiter&&) noexcept;
  JobWaiter& operator=(JobWaiter&&) noexcept;
  ~JobWaiter();
  // At most 10,000 may be waited for at once.
  Result<void> Add(std::span<const std::string> jobs);
  // The next ones that ended or are unknown. Blocks.
  Result<std::vector<Ended>> Next();

 private:
  class Impl;
  explicit JobWaiter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace allotter
