// What all connections of a server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/version.h"
#include "server/net/inflight.h"
#include "server/ops/access.h"
#include "server/ops/config.h"
#include "server/ops/exception_log.h"
#include "server/ops/metrics.h"
#include "server/ops/tokens.h"
#include "server/queue/at_once.h"
#include "server/queue/queue_set.h"
#include "server/queue/render_lane.h"
#include "server/queue/slow_lane.h"
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
  ExceptionLog exceptions{metrics};
  InflightBudget inflight;  // requests under way have shares of it: it outlives them
  InflightBudget strangers{InflightBudget::kMaxBytesOfStrangers};
  IdAllocator ids;
  std::unique_ptr<TokenBook> tokens;
  std::unique_ptr<QueueSet> queues;
  SlowLane slow{exceptions};     // creating and deleting queues
  SlowLane backups{exceptions};  // which may take minutes
  RenderLane rendering{exceptions};
  RenderLane parsing{exceptions};  // of large bodies
  SlowLane trying{exceptions};     // of strategies
  SlowLane looking{exceptions};    // ahead, for explanations
  LiveViews* views = nullptr;      // there while network threads run
  WallTime started_at{};
  std::atomic<bool> stopping{false};
  std::atomic<std::uint32_t> connections{0};
  std::atomic<std::uint32_t> http_connections{0};  // of those, the ones that are no WebSocket
  AtOnce trials;                                   // of strategies
  AtOnce limit_trials;                             // the same of limits
  AtOnce demand_walks;
  AtOnce sweeps;        // over many jobs
  AtOnce explanations;  // that look at all jobs
  std::atomic<std::uint64_t> next_connection{1};
};

}  // namespace allot
