// SPDX-License-Identifier: Apache-2.0
// The workers of the demo: they take tasks, let time pass, and report.
//
// Threading: a thread of its own; the constructor and the destructor on any other.
#pragma once

#include <memory>

#include "allotter/client.h"

namespace allot::cli::demo {

class Crew {
 public:
  // Connects, in the background, for as long as it takes. REQUIRES: the queue has kSettings.
  explicit Crew(const allotter::ConnectionOptions& server);
  // Drops what they hold.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace allot::cli::demo
