// SPDX-License-Identifier: Apache-2.0
#include "server/queue/queue_set.h"

#include <algorithm>
#include <utility>

#include "base/bounds.h"
#include "match/constraints.h"
#include "server/ops/log.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

constexpr std::string_view kDefaultQueue = "default";

}  // namespace

Result<void> QueueSet::Open() {
  Catalogue& catalogue = *options_.catalogue;
  if (const Result<void> ready = catalogue.Prepare(); !ready.ok()) return ready;
  Result<std::vector<std::string>> listed = catalogue.List();
  if (!listed.ok()) return listed.error();
  std::vector<std::string> names = std::move(*listed);
  std::erase_if(names, [](const std::string& name) { return !CheckQueueName("name", name).ok(); });
  names.emplace_back(kDefaultQueue);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    const Result<bool> deleted = catalogue.FinishDeletion(name);
    if (!deleted.ok()) return deleted.error();
    if (*deleted && name != kDefaultQueue) continue;
    Result<std::shared_ptr<QueueRuntime>> queue = OpenOne(name, options_.defaults);
    if (!queue.ok()) return queue.error();
    std::lock_guard lock(mutex_);
    queues_.emplace(name, std::move(*queue));
  }
  return {};
}

Result<std::shared_ptr<QueueRuntime>> QueueSet::OpenOne(const std::string& name, const QueueSettings& defaults) {
  Result<std::unique_ptr<Store>> store = options_.catalogue->Open(name);
  if (!store.ok()) return store.error();
  QueueRuntime::Options options;
  options.name = name;
  options.defaults = defaults;
  options.restart_grace = options_.restart_grace;
  options.strategies = options_.strategies;
  options.ids = options_.ids;
  options.metrics = options_.metrics == nullptr ? nullptr : &options_.metrics->ForQueue(name);
  options.spans = options_.spans;
  options.memory = options_.memory_budget == 0 ? nullptr : &memory_;
  options.on_fatal = [this, name](const Error& error) { options_.on_fatal(name, error); };
  return QueueRuntime::Open(std::move(*store), std::move(options));
}

std::shared_ptr<QueueRuntime> QueueSet::Find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto it = queues_.find(name);
  return it == queues_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<QueueRuntime>> QueueSet::All() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<QueueRuntime>> all;
  for (const auto& [name, queue] : queues_) all.push_back(queue);
  return all;
}

std::size_t QueueSet::size() const {
  std::lock_guard lock(mutex_);
  return queues_.size();
}

Result<std::shared_ptr<QueueRuntime>> QueueSet::Create(const std::string& name, const QueueSettingsChange& settings) {
  std::lock_guard changing(changing_);
  if (Find(name) != nullptr) return Error{Code::kQueueExists, "there is a queue " + name + " already", ""};
  if (size() >= bounds::kMaxQueues) {
    return Error{Code::kTooManyQueues, "there are " + std::to_string(bounds::kMaxQueues) + " queues already",
                 "delete one"};
  }
  QueueSettings initial = options_.defaults;
  settings.ApplyTo(initial);
  const Result<void> check = CheckSettings(initial);
  if (!check.ok()) return check.error();
  Result<std::shared_ptr<QueueRuntime>> queue = OpenOne(name, initial);
  if (!queue.ok()) return queue;
  std::lock_guard lock(mutex_);
  queues_.emplace(name, *queue);
  return queue;
}

Result<void> QueueSet::Delete(const std::string& name) {
  std::lock_guard changing(changing_);
  std::shared_ptr<QueueRuntime> queue;
  {
    std::lock_guard lock(mutex_);
    const auto it = queues_.find(name);
    if (it == queues_.end()) return Error{Code::kUnknownQueue, "there is no queue " + name, ""};
    queue = std::move(it->second);
    queues_.erase(it);
  }
  queue->FinishDeleted();
  if (options_.metrics != nullptr) options_.metrics->RemoveQueue(name);
  // Requests under way may still read payloads: on an unlinked file they can. Not answered before a loss of power could
  // bring it back.
  return options_.catalogue->Delete(name);
}

void QueueSet::BeginStop() {
  for (const auto& queue : All()) queue->BeginStop();
}

void QueueSet::Finish(Instant fold_until, bool leaving) {
  for (const auto& queue : All()) queue->Finish(fold_until, leaving);
  std::lock_guard lock(mutex_);
  queues_.clear();
}

}  // namespace allot
