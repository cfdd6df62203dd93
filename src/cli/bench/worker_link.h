// SPDX-License-Identifier: Apache-2.0
// Workers that finish every task the moment they get it: what remains is the queue's own cost.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include "cli/bench/wire.h"

namespace allot::bench {

static_assert(simdjson::SIMDJSON_PADDING <= kPadding);

// What the workers of one measurement share.
struct Crew {
  std::size_t registered = 0;  // welcomes so far
  std::uint64_t started = 0;   // tasks that came
  std::uint64_t done = 0;      // of which the server said that they are durable
  bool stop = false;           // finish what comes, but pull no more
  bool may_close = false;      // connections that end are no failure
  std::size_t closed = 0;
  simdjson::ondemand::parser parser;
  std::string message;
};

class WorkerLink final : public WebSocketLink {
 public:
  WorkerLink(Loop& loop, const Target& target, Crew& crew);
  // Asks for up to `batch` tasks, and again with every report.
  void Pull(std::size_t batch);
  void Heartbeat() { SendText("{}"); }
  bool registered() const { return registered_; }
  std::function<void()> on_start;  // a task has come

 protected:
  void OnUpgraded() override;
  void OnText(std::string_view text) override;
  void OnClosed() override;

 private:
  void OnTasks(simdjson::ondemand::array tasks);
  Crew& crew_;
  bool registered_ = false;
  std::size_t batch_ = 0;
  std::uint64_t seq_ = 0;
  std::deque<std::uint32_t> reported_;  // tasks of each message that is not acknowledged, oldest first
  std::string id_, key_;                // to come back as the same worker
};

// Connects `count` of them, a few hundred at a time, and waits until all are registered.
void ConnectWorkers(Loop& loop, const Target& target, Crew& crew, std::size_t count,
                    std::vector<std::unique_ptr<WorkerLink>>& workers);

// Shows a sign of life of each of `workers` every ten seconds or so; for Loop::on_tick.
class Heartbeats {
 public:
  explicit Heartbeats(const std::vector<std::unique_ptr<WorkerLink>>& workers) : workers_(workers) {}
  void Tick();

 private:
  const std::vector<std::unique_ptr<WorkerLink>>& workers_;
  std::size_t next_ = 0;
};

}  // namespace allot::bench
