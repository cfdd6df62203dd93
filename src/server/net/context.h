// SPDX-License-Identifier: Apache-2.0
// What all connections of a server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/ids.h"
#include "base/version.h"
#include "cluster/signature.h"
#include "server/net/inflight.h"
#include "server/ops/access.h"
#include "server/ops/config.h"
#include "server/ops/exception_log.h"
#include "server/ops/metrics.h"
#include "server/ops/span_exporter.h"
#include "server/ops/tokens.h"
#include "server/queue/admission.h"
#include "server/queue/queue_set.h"
#include "server/queue/render_lane.h"
#include "server/queue/slow_lane.h"
#include "server/web_assets.h"

namespace allot {

class LiveViews;
class Peers;

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
  // What takes long, and of which few may be under way at once. They outlive whoever is in.
  Admission trials{Admission::Bounds::OfOne(2)};        // of strategies: a hundred bytes and more for every job each
  Admission limit_trials{Admission::Bounds::OfOne(2)};  // the same of limits
  Admission demand_walks{Admission::Bounds::OfOne(4)};
  Admission sweeps{Admission::Bounds::OfOne(2)};        // over many jobs
  Admission explanations{Admission::Bounds::OfOne(4)};  // that look at all jobs
  IdAllocator ids;
  std::unique_ptr<TokenBook> tokens;
  std::unique_ptr<SpanExporter> spans;  // null: nobody wants them
  std::unique_ptr<QueueSet> queues;
  SlowLane slow{exceptions};     // creating and deleting queues
  SlowLane backups{exceptions};  // which may take minutes
  RenderLane rendering{exceptions};
  RenderLane parsing{exceptions};  // of large bodies
  SlowLane trying{exceptions};     // of strategies
  SlowLane looking{exceptions};    // ahead, for explanations
  LiveViews* views = nullptr;      // there while network threads run
  // Of a node of a cluster.
  Peers* peers = nullptr;                 // likewise
  std::optional<cluster::Signer> signer;  // of what nodes forward to each other
  std::string node_line;                  // of the heads of answers: who answers
  WallTime started_at{};
  std::atomic<bool> stopping{false};
  std::atomic<std::uint32_t> connections{0};
  std::atomic<std::uint32_t> http_connections{0};  // of those, the ones that are no WebSocket
  std::atomic<std::uint64_t> next_connection{1};
};

}  // namespace allot
