// SPDX-License-Identifier: Apache-2.0
// The real `allot serve` on a free port of 127.0.0.1.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/process.h"
#include "support/wire.h"

namespace allot::testing {

class LiveServer {
 public:
  struct Options {
    std::string bin = {};                                       // empty: AllotBin()
    std::string data = {};                                      // empty: a new directory
    std::vector<std::string> flags = {};                        // further ones of `serve`; {port} is its port
    std::vector<std::pair<std::string, std::string>> env = {};  //
    std::uint64_t max_file_bytes = 0;                           // as of Process
    uid_t uid = 0;                                              //
  };
  LiveServer() : LiveServer(Options{}) {}
  explicit LiveServer(Options options);

  // Starts the program and waits until it is ready. False if it ended instead, or is not ready in time.
  bool Start();
  // Starts without waiting.
  void Launch();
  bool WaitReady(milliseconds timeout = milliseconds(20'000));
  void Kill();
  // SIGTERM; its exit code, or none if it did not end in time.
  std::optional<int> Stop(milliseconds timeout = milliseconds(20'000));
  std::optional<int> WaitExit(milliseconds timeout) { return process_->Wait(timeout); }
  bool Running() { return process_ != nullptr && process_->Running(); }
  pid_t pid() const { return process_->pid(); }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  const std::string& data() const { return options_.data; }
  // All that it has logged, over all its starts.
  std::string Log() const { return ReadFile(log_); }
  Http http(std::string token = {}) const { return Http(port_, std::move(token)); }

 private:
  TempDir dir_;
  Options options_;
  std::uint16_t port_;
  std::string log_;
  std::unique_ptr<Process> process_;
};

}  // namespace allot::testing
