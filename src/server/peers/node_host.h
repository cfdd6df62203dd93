// SPDX-License-Identifier: Apache-2.0
// This server's queues, as a node of a cluster has them: they are loaded when it takes them, and ended when it hands
// them over or loses them.
//
// Threading: all methods may be called from any thread, except as said.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cluster/node.h"
#include "server/ops/config.h"
#include "server/queue/queue_set.h"
#include "store/postgres/database.h"

namespace allot {

class NodeHost {
 public:
  NodeHost(const Config& config, const std::string& name, std::shared_ptr<PostgresDatabase> database);

  cluster::Node& node() { return *node_; }
  // What makes a QueueSet one of a node.
  void Prepare(QueueSet::Options& options);
  // Enters the cluster. `queues` outlives it. As cluster::Node::Start().
  Result<void> Start(QueueSet& queues);
  void BeginStop() { node_->BeginStop(); }
  // When the queues have ended.
  void Leave() { node_->Leave(); }

 private:
  Result<void> Take(const cluster::QueueRow& queue, const std::string& node);
  Result<std::unique_ptr<Store>> Make(const std::string& queue);
  std::vector<std::string> Held();
  void LoseAll();
  void OnLost(const std::string& queue);

  const std::shared_ptr<PostgresDatabase> database_;
  QueueSet* queues_ = nullptr;  // from Start() on
  std::mutex mutex_;
  std::map<std::string, Instant> making_;  // queues, and until when; guarded by mutex_
  std::unique_ptr<cluster::Node> node_;
};

}  // namespace allot
