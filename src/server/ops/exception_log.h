// SPDX-License-Identifier: Apache-2.0
// What was thrown while something was done for a client.
//
// Libraries throw on some input (a field that is too long, memory that is not there). Whoever runs code on behalf of
// one connection or one request runs it through here: the exception ends that connection or request, is counted in
// allotter_connection_errors_total, and is logged, at most once a second. Engine and store threads do not use this: an
// exception there is our own mistake, and ends the process.
//
// Threading: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>

namespace allot {

class Metrics;

class ExceptionLog {
 public:
  explicit ExceptionLog(Metrics& metrics) : metrics_(metrics) {}

  // Runs `f`. False if it threw. `during` is for the log: a few words of ours.
  template <typename F>
  bool Survives(std::string_view during, F&& f) noexcept {
    try {
      std::forward<F>(f)();
      return true;
    } catch (...) {
      Caught(during);
      return false;
    }
  }

 private:
  // In a catch block.
  void Caught(std::string_view during) noexcept;

  Metrics& metrics_;
  std::atomic<std::int64_t> next_line_us_{0};
  std::atomic<std::uint64_t> unlogged_{0};
};

}  // namespace allot
