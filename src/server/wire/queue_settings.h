// SPDX-License-Identifier: Apache-2.0
// What can be set for one queue, while it runs. Kept with the queue, as the JSON object of the protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bounds.h"
#include "base/time.h"
#include "dispatch/dispatch_mode.h"
#include "strategy/weights.h"

namespace allot {

using PropertyKeys = std::vector<std::string>;
// As they were when they were asked for; later changes make new ones.
using PropertyKeysPtr = std::shared_ptr<const PropertyKeys>;

struct QueueSettings {
  std::uint64_t max_finished_jobs = bounds::kMaxFinishedJobs;
  Duration worker_grace = std::chrono::seconds(30);
  std::uint64_t max_result_bytes = bounds::kDefaultMaxResultBytes;
  PropertyKeys property_keys;  // that jobs and workers may use; jobs and workers that are there keep what they have
  std::uint64_t max_property_keys = bounds::kDefaultMaxPropertyKeys;
  std::string policy = "worker";  // canonical, without names: what it means does not change with the configuration
  Weights weights;
  Duration max_limit_expiration = bounds::kDefaultMaxLimitExpiration;
  Duration limit_ban_window = bounds::kDefaultBanWindow;
  Duration demand_lookahead = bounds::kDefaultLookahead;
  DispatchOptions dispatch = {};
  std::uint64_t memory_budget = 0;  // bytes; 0: as much as the server has for all queues
  friend bool operator==(const QueueSettings&, const QueueSettings&) = default;
};

struct WeightsChange {
  bool clear = false;  // first
  Weights set;         // 0: none any more
};

// What is not named stays.
struct QueueSettingsChange {
  std::optional<std::uint64_t> max_finished_jobs;
  std::optional<Duration> worker_grace;
  std::optional<std::uint64_t> max_result_bytes;
  std::optional<PropertyKeys> property_keys;
  std::optional<std::uint64_t> max_property_keys;
  std::optional<std::string> policy;
  WeightsChange weights;
  std::optional<Duration> max_limit_expiration, limit_ban_window, demand_lookahead;
  std::optional<DispatchMode> dispatch;
  std::optional<Balance> balance;
  std::optional<std::uint64_t> memory_budget;

  void ApplyTo(QueueSettings& settings) const {
    if (max_finished_jobs) settings.max_finished_jobs = *max_finished_jobs;
    if (worker_grace) settings.worker_grace = *worker_grace;
    if (max_result_bytes) settings.max_result_bytes = *max_result_bytes;
    if (property_keys) settings.property_keys = *property_keys;
    if (max_property_keys) settings.max_property_keys = *max_property_keys;
    if (policy) settings.policy = *policy;
    if (max_limit_expiration) settings.max_limit_expiration = *max_limit_expiration;
    if (limit_ban_window) settings.limit_ban_window = *limit_ban_window;
    if (demand_lookahead) settings.demand_lookahead = *demand_lookahead;
    if (dispatch) settings.dispatch.mode = *dispatch;
    if (balance) settings.dispatch.balance = *balance;
    if (memory_budget) settings.memory_budget = *memory_budget;
    if (weights.clear) settings.weights.clear();
    for (const auto& [name, weight] : weights.set) {
      if (weight == 0) {
        settings.weights.erase(name);
      } else {
        settings.weights[name] = weight;
      }
    }
  }
};

// Do they go together? kBadValue.
Result<void> CheckSettings(const QueueSettings& settings);

}  // namespace allot
