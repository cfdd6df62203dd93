// SPDX-License-Identifier: Apache-2.0
// The server: queues, network threads and the port, from start to a graceful stop.
//
// Threading: all methods may be called from any thread, except as said.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "server/ops/config.h"
#include "server/web_assets.h"

namespace allot {

class LiveViews;

struct StartOptions {
  bool accept_loss = false;  // goes on without what a queue's files have lost, and logs what that is
  // From the moment that it listens on, SIGTERM and SIGINT stop it in order. Before that there is nothing to put in
  // order, and they end the process.
  bool stop_on_signals = false;
};

class Server {
 public:
  // Opens and loads all queues, then listens. config.listen.port 0 takes any free port. Fails with what the store says
  // about a file, kForbidden if it would be open to strangers, kUnavailable if the port is taken.
  // `web` is the dashboard; what it refers to outlives the server.
  static Result<std::unique_ptr<Server>> Start(const Config& config, std::span<const WebAsset> web = {},
                                               const StartOptions& options = {});
  // As Stop() and Wait().
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::uint16_t port() const;
  // What is being watched; for tests and metrics.
  const LiveViews& views() const;
  // Begins a graceful stop: nothing more is handed out, reports under way are taken, everything is made durable. Leases
  // stay for the next start. Returns at once.
  void Stop();
  // Returns when it has stopped: 0, the exit code.
  int Wait();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace allot
