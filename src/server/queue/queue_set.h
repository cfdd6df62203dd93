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
  // As QueueRuntime::Finish().
  void Finish(Instant fold_until = Instant::max(), bool leaving = false);

 private:
  Result<std::shared_ptr<QueueRuntime>> OpenOne(const std::string& name, const QueueSettings& defaults);

  const Options options_;
  MemoryQuota memory_;
  std::mutex changing_;  // one creation or deletion at a time
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<QueueRuntime>, std::less<>> queues_;  // guarded by mutex_
};

}  // namespace allot
