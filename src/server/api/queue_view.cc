// SPDX-License-Identifier: Apache-2.0
#include "server/api/queue_view.h"

#include "server/wire/reply_json.h"

namespace allot {

Result<void> AppendQueueView(const Principal& principal, QueueRuntime& queue, const EngineStats& stats,
                             std::string& out) {
  const Result<Store::Usage> usage = queue.store().ReadUsage();
  if (!usage.ok()) return usage.error();
  QueueView view;
  view.name = queue.name();
  view.created_at = queue.created_at();
  view.stats = stats;
  view.settings = queue.settings();
  view.names = !principal.user;
  view.usage = *usage;
  AppendQueue(view, out);
  return {};
}

}  // namespace allot
