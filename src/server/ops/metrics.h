// SPDX-License-Identifier: Apache-2.0
// What Prometheus reads: counters, gauges and histograms, in base units. Labels are `queue` and, from small fixed sets,
// `mode`, `reason` and `kind`; never a user, a job, a worker or a limit. So the number of series is bounded by that of
// queues.
//
// docs/reference/metrics.md lists all of them, and a test compares.
//
// Changing it: dashboards and alerts go by the names. One that changes is told of there.
//
// Threading: all methods may be called from any thread, except as said.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/looks/views.h"
#include "server/ops/step_meter.h"
#include "store/store.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
class Registry;
}  // namespace prometheus

namespace allot {

// Of one queue. Lives as long as its Metrics; after RemoveQueue() it must not be used any more.
class QueueMetrics {
 public:
  // Counters since the start, gauges now. Called by one thread at a time, with stats that never go back. A reason that
  // is not among `waiting` any more has none.
  void Update(const EngineStats& stats, const std::vector<ReasonRow>& waiting, WallTime now);
  void Update(const Store::Usage& usage, bool disk_full, bool unavailable = false);
  // The next stats begin at nothing: the queue was loaded anew.
  void BeginAnew();
  // One group commit: how long it took, how many batches and events it had; with `here` made by whoever ran the round.
  void Committed(Duration took, std::size_t batches, std::size_t events, bool here = false);
  // One round: how long it decided, how many starts came of it, and whether the engine thread ran it.
  void Decided(Duration took, std::size_t starts, bool engine_thread = true);
  // Steps of the engine thread since the last time, by kind. Called by the thread that calls Update(); the longest is
  // told by the next one, and begins anew.
  void Stepped(const StepMeter::Totals& steps);

 private:
  friend class Metrics;
  struct Impl;
  explicit QueueMetrics(std::unique_ptr<Impl> impl);

 public:
  ~QueueMetrics();

 private:
  std::unique_ptr<Impl> impl_;
};

class Metrics {
 public:
  // `version` becomes allotter_build_info. Of the file system with `data`, the free space is told; empty: of none.
  explicit Metrics(const std::string& version, const std::string& data = "");
  ~Metrics();

  // The same object for the same name.
  QueueMetrics& ForQueue(const std::string& name);
  void RemoveQueue(const std::string& name);

  // The network's side.
  void ConnectionOpened();
  void ConnectionClosed();
  void ConnectionFailed();              // something that was done for it threw an exception
  void RequestServed(int http_status);  // counted, errors of client and server apart
  void MessageReceived();               // WebSocket
  void BytesIn(std::size_t bytes);
  void BytesOut(std::size_t bytes);
  // Spans for a collector: taken by it, or lost.
  void SpansExported(std::size_t spans);
  void SpansDropped(std::size_t spans);
  // This server as a node of a cluster.
  struct Cluster {
    std::uint64_t taken = 0, handed_over = 0, deaths = 0, missed = 0, forwarded = 0, gave_up = 0;  // since the start
    std::uint64_t parked = 0, nodes = 0, owned = 0;                                                // now
    Duration beat_age{0}, round_time{0};
  };
  void Update(const Cluster& cluster);

  // The whole exposition, as text/plain; version=0.0.4.
  std::string Render() const;

 private:
  struct Impl;
  struct ClusterSeries;
  std::unique_ptr<Impl> impl_;
};

}  // namespace allot
