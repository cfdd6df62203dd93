// SPDX-License-Identifier: Apache-2.0
// The queues of a server, by name: one store each, of one catalogue.
//
// Threading: all methods may be called from any thread. Open(), Create() and Delete() wait for a disk or a
//            database: not from a network thread.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "server/ops/config.h"
#include "server/ops/metrics.h"
#include "server/queue/queue_runtime.h"
#include "store/catalogue.h"

namespace allot {

// The setting of a queue's store that its lease ids are made with. A queue without one gets a new one when it opens.
inline constexpr std::string_view kQueueKeySetting = "engine_key";

class QueueSet {
 public:
  struct Options {
    std::unique_ptr<Catalogue> catalogue;
    QueueSettings defaults;
    const NamedStrategies* strategies = nullptr;  // of the configuration
    Duration restart_grace{0};
    IdAllocator* ids = nullptr;
    Metrics* metrics = nullptr;
    SpanExporter* spans = nullptr;
    std::uint64_t memory_budget = 0;  // of all queues; 0: none
    std::function<void(const std::string& queue, const Error& error)> on_fatal;
    // Of a node of a cluster; null otherwise. Then queues come and go by TakeOver(), HandOver() and Lose() alone.
    const cluster::Lease* lease = nullptr;
    std::function<void(const std::string& queue)> on_lost;  // DropLost() is to follow, on a thread that may wait
    // Makes a queue that nobody has; null: the catalogue opens it.
    std::function<Result<std::unique_ptr<Store>>(const std::string& queue)> make;
  };
  explicit QueueSet(Options options) : options_(std::move(options)), memory_(options_.memory_budget) {}

  // Opens what is there, as far as it was not deleted; makes `default` if it is not.
  Result<void> Open();
  // Null if there is none.
  std::shared_ptr<QueueRuntime> Find(std::string_view name) const;
  std::vector<std::shared_ptr<QueueRuntime>> All() const;
  std::size_t size() const;

  // kQueueExists, kTooManyQueues, kBadValue for settings that do not go together, or what the store says.
  Result<std::shared_ptr<QueueRuntime>> Create(const std::string& name, const QueueSettingsChange& settings);
  // Ends the queue and removes it from the catalogue. kUnknownQueue if it is gone already.
  Result<void> Delete(const std::string& name);

  void BeginStop();
  // Of a cluster. A queue that this server's store has claimed is loaded, and is there, unless LoseAll() was called
  // since `generation` was read: kFenced then.
  Result<void> TakeOver(const std::string& name, std::unique_ptr<Store> store, std::uint64_t generation);
  std::uint64_t generation() const;
  // Ends the queue with all that was promised, so that another server can go on. Fine if there is none.
  void HandOver(const std::string& name);
  // All queues are lost from now on, and are to be ended by EndLost(), which may take long.
  std::vector<std::shared_ptr<QueueRuntime>> LoseAll();
  void EndLost(const std::shared_ptr<QueueRuntime>& queue);
  // The queue, if it is lost.
  void DropLost(const std::string& name);

  // As QueueRuntime::Finish().
  void Finish(Instant fold_until = Instant::max(), bool leaving = false);

 private:
  Result<std::shared_ptr<QueueRuntime>> OpenOne(const std::string& name, const QueueSettings& defaults);
  // It is not in memory any more, or one time less.
  void LetGo(const std::string& name);
  Result<std::shared_ptr<QueueRuntime>> Load(const std::string& name, std::unique_ptr<Store> store,
                                             const QueueSettings& defaults);

  const Options options_;
  MemoryQuota memory_;
  std::mutex changing_;  // one creation or deletion at a time
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<QueueRuntime>, std::less<>> queues_;  // guarded by mutex_
  std::uint64_t generation_ = 0;                                              // guarded by mutex_
  std::map<std::string, int, std::less<>> loaded_;  // how often each one is in memory; guarded by mutex_
};

}  // namespace allot
