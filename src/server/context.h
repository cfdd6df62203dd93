// What all connections of a server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/version.h"
#include "server/access.h"
#include "server/config.h"
#include "server/metrics.h"
#include "server/queue_set.h"
#include "server/slow_lane.h"
#include "server/tokens.h"
#include "server/web_assets.h"

namespace allot {

class LiveViews;

inline constexpr int kProtocol = 1;

// Threading: const, or for use from any thread, except as said.
struct ServerContext {
  ServerContext(const Config& c, std::span<const WebAsset> assets)
      : config(c), web(assets), origins(c), metrics(std::string(Version()), c.data) {}

  const Config config;
  const std::span<const WebAsset> web;  // none: built without
  const OriginPolicy origins;
  Metrics metrics;
  IdAllocator ids;
  std::unique_ptr<TokenBook> tokens;
  std::unique_ptr<QueueSet> queues;
  SlowLane slow;
  SlowLane trying;   // of strategies
  SlowLane looking;  // ahead, for explanations
  LiveViews* views = nullptr;  // there while network threads run
  WallTime started_at{};
  std::atomic<bool> stopping{false};
  std::atomic<std::uint32_t> connections{0};
  std::atomic<std::uint32_t> http_connections{0};  // of those, the ones that are no WebSocket
  std::atomic<std::uint64_t> collected_bytes{0};   // of bodies that are coming in
  std::atomic<std::uint32_t> trials{0};            // of strategies, under way
  std::atomic<std::uint32_t> limit_trials{0};      // the same of limits
  std::atomic<std::uint32_t> demand_walks{0};      // under way
  std::atomic<std::uint32_t> sweeps{0};            // over many jobs, under way
  std::atomic<std::uint32_t> explanations{0};      // that look at all jobs, under way
  std::atomic<std::uint64_t> next_connection{1};
};

}  // namespace allot
