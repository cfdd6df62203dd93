// SPDX-License-Identifier: Apache-2.0
// Queues and their settings; all else is in codec.cc.
#include "base/json.h"
#include "client/codec.h"
#include "client/queue_fields.h"
#include "wire/writer.h"

namespace allotter {
namespace json_in {

constexpr auto kQueues =
    RowsOf<std::vector<Queue>, wire::kQueues>(By<std::vector<Queue>>("queues", ReadItems), Unread("missing"));

}  // namespace json_in

void AppendSettings(const QueueSettings& settings, std::string& out) {
  allot::JsonWriter json(out);
  allot::wire::Writer<allot::wire::kQueueSettingsChange> w(json);
  if (settings.max_finished_jobs) w.Count("max_finished_jobs", *settings.max_finished_jobs);
  if (settings.worker_grace) w.Int("worker_grace_ms", settings.worker_grace->count());
  if (settings.max_limit_expiration) w.Int("max_limit_expiration_ms", settings.max_limit_expiration->count());
  if (settings.limit_ban_window) w.Int("limit_ban_window_ms", settings.limit_ban_window->count());
  if (settings.demand_lookahead) w.Int("demand_lookahead_ms", settings.demand_lookahead->count());
  if (settings.max_result_bytes) w.Count("max_result_bytes", *settings.max_result_bytes);
  if (settings.property_keys) w.Texts("property_keys", *settings.property_keys);
  if (settings.max_property_keys) w.Count("max_property_keys", *settings.max_property_keys);
  if (settings.policy) w.TextOrNull("policy", *settings.policy);
  if (settings.dispatch) w.TextOrNull("dispatch", *settings.dispatch);
  if (settings.balance) w.TextOrNull("balance", *settings.balance);
  if (settings.memory_budget_bytes) w.Count("memory_budget_bytes", *settings.memory_budget_bytes);
  if (settings.no_weights) {
    w.Null("weights");
  } else if (!settings.weights.empty()) {
    allot::JsonWriter& weights = w.Value("weights").BeginObject();
    for (const auto& [name, weight] : settings.weights) {
      weights.OpenKey(name);
      weight == 0 ? weights.Null() : weights.Uint(weight);
    }
    weights.EndObject();
  }
}

template Result<Queue> Parse<Queue>(const std::string& json);

template <>
Result<std::vector<Queue>> Parse<std::vector<Queue>>(const std::string& json) {
  return json_in::ParseList<Queue>(json, json_in::kQueues);
}

}  // namespace allotter
