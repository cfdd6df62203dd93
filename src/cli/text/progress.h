// SPDX-License-Identifier: Apache-2.0
// The line that tells how far a job is, on a terminal.
#pragma once

#include <chrono>
#include <string>

#include "allotter/types.h"

namespace allot::cli {

// Tasks a second, smoothed, from counts at times.
class RateMeter {
 public:
  void Add(std::uint64_t ended, std::chrono::steady_clock::time_point at);
  double per_second() const { return rate_; }

 private:
  bool begun_ = false;
  std::uint64_t last_ended_ = 0;
  std::chrono::steady_clock::time_point last_{};
  double rate_ = 0;
};

// `████████░░░░  652/1,000  65%  310/s  1s left  2 failed`, at most `columns` wide.
std::string ProgressText(const allotter::Job& job, double per_second, int columns);

// Draws that line over itself on stderr; nothing if stderr is no terminal.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  void Show(const allotter::Job& job);
  // Ends the line, and leaves it standing.
  void Leave();
  // Takes the line away.
  void Clear();
  bool active() const { return active_; }

 private:
  bool active_;
  bool drawn_ = false;
  RateMeter meter_;
};

}  // namespace allot::cli
