// SPDX-License-Identifier: Apache-2.0
// The scenarios of `allot bench`. Each measures one thing, on a server of its own unless a running one is named, is
// bounded in count and time, and adds its figures.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/child.h"
#include "cli/bench/figures.h"
#include "cli/bench/wire.h"

namespace allot::bench {

struct Plan {
  std::string program;            // `allot`, to start servers with
  std::optional<Target> running;  // measure this one instead
  std::vector<std::string> serve_flags;
  std::vector<std::size_t> clients = {1, 64};
  std::vector<std::size_t> workers = {1, 8, 64};
  std::vector<std::size_t> batches = {1, 32};
  double seconds = 3;  // of each measurement of a rate
  std::size_t samples = 5'000;
  std::size_t payload_bytes = 100;
  double scale = 1;  // of what is not bounded by time: 0.1 is a tenth of the jobs, tasks, connections

  // At least one.
  std::uint64_t Scaled(std::uint64_t number) const;
  // A payload of that size, as JSON text.
  std::string Payload() const;
};

inline constexpr std::string_view kBenchTag = "allot-bench";

// The server under measurement: its own child, or one that runs already.
class Site {
 public:
  explicit Site(const Plan& plan);
  const Target& target() const { return target_; }
  std::uint16_t port() const { return target_.port; }
  bool own() const { return own_ != nullptr; }
  // REQUIRES: own().
  Child& child() { return own_->child; }
  const TemporaryDirectory& directory() const { return own_->directory; }

  // Ends it (gracefully, or with SIGKILL) and starts it again: seconds from its start until it is ready. REQUIRES:
  // own().
  double Restart(bool gracefully);
  // CPU seconds so far; 0 for a running server of someone else.
  double CpuSeconds() const { return own_ ? own_->child.CpuSeconds() : 0; }
  // Waits until the journal is folded, at most ten seconds.
  void Settle();

 private:
  struct Own {
    TemporaryDirectory directory;
    Child child;
  };
  double StartChild();

  const Plan& plan_;
  Target target_;
  std::unique_ptr<Own> own_;
};

// Submits `count` jobs of `spec` in batches; their ids, if `ids` is given.
void SubmitJobs(Caller& caller, std::uint64_t count, std::string_view spec, std::vector<std::string>* ids = nullptr);
// One job of `count` tasks with a payload each.
void SubmitTasks(Caller& caller, std::uint64_t count, std::string_view payload);

struct Scenario {
  std::string_view name;
  std::string_view help;
  void (*measure)(const Plan& plan, Figures& figures);
  bool needs_own_server;
};
std::span<const Scenario> Scenarios();

void MeasureSubmit(const Plan& plan, Figures& figures);
void MeasureDrain(const Plan& plan, Figures& figures);
void MeasureDrainJobs(const Plan& plan, Figures& figures);
void MeasureLatency(const Plan& plan, Figures& figures);
void MeasureBulk(const Plan& plan, Figures& figures);
void MeasureMemory(const Plan& plan, Figures& figures);
void MeasureRestart(const Plan& plan, Figures& figures);
void MeasureConnections(const Plan& plan, Figures& figures);
void MeasureWaits(const Plan& plan, Figures& figures);
void MeasureDashboards(const Plan& plan, Figures& figures);

}  // namespace allot::bench
