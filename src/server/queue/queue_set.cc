// SPDX-License-Identifier: Apache-2.0
#include "server/queue/queue_set.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/bounds.h"
#include "match/constraints.h"
#include "server/ops/log.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

constexpr std::string_view kDefaultQueue = "default";
constexpr auto kStreamsMayTake = std::chrono::seconds(30);
constexpr auto kFoundBefore = std::chrono::milliseconds(30);
constexpr auto kStreamsLookedAt = std::chrono::milliseconds(20);

}  // namespace

Result<void> QueueSet::Open() {
  Catalogue& catalogue = *options_.catalogue;
  if (const Result<void> ready = catalogue.Prepare(); !ready.ok()) return ready;
  if (options_.lease != nullptr) return {};
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
  Result<std::unique_ptr<Store>> store = options_.make ? options_.make(name) : options_.catalogue->Open(name);
  if (!store.ok()) return store.error();
  return Load(name, std::move(*store), defaults);
}

Result<std::shared_ptr<QueueRuntime>> QueueSet::Load(const std::string& name, std::unique_ptr<Store> store,
                                                     const QueueSettings& defaults) {
  QueueRuntime::Options options;
  options.name = name;
  options.defaults = defaults;
  options.restart_grace = options_.restart_grace;
  options.strategies = options_.strategies;
  options.ids = options_.ids;
  options.spans = options_.spans;
  {
    std::lock_guard lock(mutex_);
    // One that was lost may still be ending.
    const bool again = loaded_[name]++ > 0;
    options.metrics = options_.metrics == nullptr ? nullptr : &options_.metrics->ForQueue(name);
    if (again && options.metrics != nullptr) options.metrics->BeginAnew();
  }
  options.memory = options_.memory_budget == 0 ? nullptr : &memory_;
  options.on_fatal = [this, name](const Error& error) { options_.on_fatal(name, error); };
  options.lease = options_.lease;
  if (options_.on_lost) options.on_lost = [this, name] { options_.on_lost(name); };
  Result<std::shared_ptr<QueueRuntime>> opened = QueueRuntime::Open(std::move(store), std::move(options));
  if (!opened.ok()) LetGo(name);
  return opened;
}

void QueueSet::LetGo(const std::string& name) {
  std::lock_guard lock(mutex_);
  if (--loaded_[name] > 0) return;
  loaded_.erase(name);
  if (options_.metrics != nullptr) options_.metrics->RemoveQueue(name);
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
  const std::uint64_t before = generation();
  Result<std::shared_ptr<QueueRuntime>> queue = OpenOne(name, initial);
  if (!queue.ok()) return queue;
  {
    std::lock_guard lock(mutex_);
    if (before == generation_ && queues_.emplace(name, *queue).second) return queue;
  }
  (*queue)->Lose();
  EndLost(*queue);
  return Error{Code::kUnavailable, "the queue " + name + " was made, and another node has it now", ""};
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
  LetGo(name);
  // Requests under way may still read payloads: on an unlinked file they can. Not answered before a loss of power could
  // bring it back.
  return options_.catalogue->Delete(name);
}

Result<void> QueueSet::TakeOver(const std::string& name, std::unique_ptr<Store> store, std::uint64_t generation) {
  Result<std::shared_ptr<QueueRuntime>> queue = Load(name, std::move(store), options_.defaults);
  if (!queue.ok()) return queue.error();
  {
    std::lock_guard lock(mutex_);
    if (generation == generation_ && queues_.emplace(name, *queue).second) return {};
  }
  (*queue)->Lose();
  EndLost(*queue);
  return Error{Code::kFenced, "the queue " + name + " was lost while it was loaded", ""};
}

void QueueSet::HandOver(const std::string& name) {
  std::shared_ptr<QueueRuntime> queue = Find(name);
  if (queue == nullptr) return;
  const auto until = std::chrono::steady_clock::now() + kStreamsMayTake;
  while (queue->streams() > 0 && !queue->finished() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(kStreamsLookedAt);
  {
    std::lock_guard lock(mutex_);
    const auto it = queues_.find(name);
    if (it == queues_.end() || it->second != queue) return;
    queues_.erase(it);
  }
  // Whoever has found it until now is served.
  std::this_thread::sleep_for(kFoundBefore);
  queue->FinishMoved();
  LetGo(name);
}

void QueueSet::EndLost(const std::shared_ptr<QueueRuntime>& queue) {
  queue->FinishLost();
  LetGo(queue->name());
}

std::uint64_t QueueSet::generation() const {
  std::lock_guard lock(mutex_);
  return generation_;
}

std::vector<std::shared_ptr<QueueRuntime>> QueueSet::LoseAll() {
  std::vector<std::shared_ptr<QueueRuntime>> lost;
  std::lock_guard lock(mutex_);
  for (auto& [name, queue] : queues_) {
    queue->Lose();
    lost.push_back(std::move(queue));
  }
  queues_.clear();
  ++generation_;
  return lost;
}

void QueueSet::DropLost(const std::string& name) {
  std::shared_ptr<QueueRuntime> queue;
  {
    std::lock_guard lock(mutex_);
    const auto it = queues_.find(name);
    if (it == queues_.end() || !it->second->gone()) return;
    queue = std::move(it->second);
    queues_.erase(it);
  }
  EndLost(queue);
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
