// SPDX-License-Identifier: Apache-2.0
#include "support/live_server.h"

#include <signal.h>

#include <thread>

namespace allot::testing {

LiveServer::LiveServer(Options options) : options_(std::move(options)), port_(FreePort()), log_(dir_ / "log") {
  if (options_.data.empty()) options_.data = dir_ / "data";
}

void LiveServer::Launch() {
  std::vector<std::string> argv = {options_.bin.empty() ? AllotBin() : options_.bin,
                                   "serve",
                                   "--listen",
                                   "127.0.0.1:" + std::to_string(port_),
                                   "--data",
                                   options_.data};
  for (std::string flag : options_.flags) {
    if (const std::size_t at = flag.find("{port}"); at != std::string::npos) flag.replace(at, 6, std::to_string(port_));
    argv.push_back(std::move(flag));
  }
  // No configuration of the machine or of the shell that runs the tests.
  std::vector<std::pair<std::string, std::string>> env = options_.env;
  env.emplace_back("ALLOT_CONFIG", "/dev/null");
  process_ = std::make_unique<Process>(Process::Options{.argv = std::move(argv),
                                                        .env = std::move(env),
                                                        .err_file = log_,
                                                        .max_file_bytes = options_.max_file_bytes,
                                                        .uid = options_.uid});
}

bool LiveServer::WaitReady(milliseconds timeout) {
  const SteadyTime deadline = SteadyNow() + timeout;
  Http http(port_);
  while (SteadyNow() < deadline) {
    if (!process_->Running()) return false;
    if (http.Get("/readyz").status == 200) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

bool LiveServer::Start() {
  Launch();
  return WaitReady();
}

void LiveServer::Kill() {
  process_->Signal(SIGKILL);
  process_->Wait(milliseconds(10'000));
}

std::optional<int> LiveServer::Stop(milliseconds timeout) {
  process_->Signal(SIGTERM);
  return process_->Wait(timeout);
}

}  // namespace allot::testing
