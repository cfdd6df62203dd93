// SPDX-License-Identifier: Apache-2.0
#include "server/peers/node_host.h"

#include <utility>

#include "base/version.h"
#include "cluster/signature.h"
#include "server/ops/log.h"
#include "server/wire/request_json.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/queues.h"

namespace allot {
namespace {

constexpr Duration kMakingTime = std::chrono::seconds(30);  // then it failed

}  // namespace

NodeHost::NodeHost(const Config& config, const std::string& name, std::shared_ptr<PostgresDatabase> database)
    : database_(std::move(database)) {
  cluster::Node::Options options;
  options.database = database_;
  options.introduction = {.name = name,
                          .address = config.advertise,
                          .version = std::string(Version()),
                          .secret_check = cluster::Signer(config.cluster_secret).Check()};
  while (options.introduction.address.ends_with("/")) options.introduction.address.pop_back();
  options.take = [this](const cluster::QueueRow& queue, const std::string& node) { return Take(queue, node); };
  options.hand_over = [this](const std::string& queue) {
    LogInfo("a queue is handed over to another node", {{"queue", queue}});
    queues_->HandOver(queue);
  };
  options.held = [this] { return Held(); };
  options.lose_all = [this] { LoseAll(); };
  options.say = [](const std::string& what) { LogWarning("the cluster", {{"event", what}}); };
  node_ = std::make_unique<cluster::Node>(std::move(options));
}

void NodeHost::Prepare(QueueSet::Options& options) {
  options.lease = &node_->lease();
  options.on_lost = [this](const std::string& queue) { OnLost(queue); };
  options.make = [this](const std::string& queue) { return Make(queue); };
}

Result<void> NodeHost::Start(QueueSet& queues) {
  queues_ = &queues;
  // So that there is one at all.
  const Result<std::int64_t> made = postgres::NumberOf(*database_, "default");
  if (!made.ok()) return made.error();
  return node_->Start();
}

Result<void> NodeHost::Take(const cluster::QueueRow& queue, const std::string& node) {
  // Of others, who have the same database.
  if (!CheckQueueName("name", queue.name).ok()) return Error{Code::kFenced, "no queue of this program", ""};
  const std::uint64_t generation = queues_->generation();
  const postgres::Ticket ticket{.epoch = queue.epoch, .incarnation = queue.incarnation, .node = node};
  Result<std::unique_ptr<Store>> store = PostgresStore::Take(database_, queue.name, queue.number, ticket);
  if (!store.ok()) return store.error();
  Result<void> taken = queues_->TakeOver(queue.name, std::move(*store), generation);
  if (taken.ok()) {
    LogInfo("took a queue", {{"queue", queue.name}, {"from", queue.owner}, {"epoch", queue.epoch + 1}});
  }
  return taken;
}

Result<std::unique_ptr<Store>> NodeHost::Make(const std::string& queue) {
  const std::string node = node_->picture()->incarnation;
  if (!node_->lease().Valid()) return ErrorOf(Stall::kUnavailable);
  {
    const std::lock_guard lock(mutex_);
    making_[queue] = cluster::ReadLeaseClock() + kMakingTime;
  }
  const Result<std::int64_t> number = postgres::MakeQueue(*database_, queue, node + ".new");
  if (number.ok()) return PostgresStore::Take(database_, queue, *number, {.epoch = 0, .incarnation = "", .node = node});
  const std::lock_guard lock(mutex_);
  making_.erase(queue);
  return number.error();
}

std::vector<std::string> NodeHost::Held() {
  std::vector<std::string> held;
  const std::lock_guard lock(mutex_);
  for (const auto& queue : queues_->All()) {
    held.push_back(queue->name());
    making_.erase(queue->name());
  }
  std::erase_if(making_, [](const auto& making) { return making.second < cluster::ReadLeaseClock(); });
  for (const auto& [name, until] : making_) held.push_back(name);
  return held;
}

void NodeHost::LoseAll() {
  for (const std::shared_ptr<QueueRuntime>& queue : queues_->LoseAll()) {
    node_->Post([this, queue] { queues_->EndLost(queue); });
  }
  const std::lock_guard lock(mutex_);
  making_.clear();
}

void NodeHost::OnLost(const std::string& queue) {
  LogWarning("another node has the queue: it ends here", {{"queue", queue}});
  node_->Post([this, queue] { queues_->DropLost(queue); });
}

}  // namespace allot
