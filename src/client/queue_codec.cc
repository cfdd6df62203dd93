// Queues and their settings; all else is in codec.cc.
#include "base/json.h"
#include "client/codec.h"
#include "client/queue_fields.h"
#include "wire/writer.h"

namespace allotter {
namespace json_in {

constexpr auto kQueues = RowsOf<std::vector<Queue>, wire::kQueues>(
    By<std::vector<Queue>>("queues", [](Value& value, std::vector<Queue>& out) { Read(value, out); }));

}  // namespace json_in

void AppendSettings(const QueueSettings& settings, std::string& out) {
  allot::JsonWriter w(out);
  w.BeginObject();
  if (settings.max_finished_jobs) w.Key("max_finished_jobs").Uint(*settings.max_finished_jobs);
  if (settings.worker_grace) w.Key("worker_grace_ms").Int(settings.worker_grace->count());
  if (settings.max_limit_expiration) w.Key("max_limit_expiration_ms").Int(settings.max_limit_expiration->count());
  if (settings.limit_ban_window) w.Key("limit_ban_window_ms").Int(settings.limit_ban_window->count());
  if (settings.demand_lookahead) w.Key("demand_lookahead_ms").Int(settings.demand_lookahead->count());
  if (settings.max_result_bytes) w.Key("max_result_bytes").Uint(*settings.max_result_bytes);
  if (settings.property_keys) {
    w.Key("property_keys").BeginArray();
    for (const std::string& key : *settings.property_keys) w.String(key);
    w.EndArray();
  }
  if (settings.max_property_keys) w.Key("max_property_keys").Uint(*settings.max_property_keys);
  if (settings.policy) WriteOrNull("policy", *settings.policy, w);
  if (settings.dispatch) WriteOrNull("dispatch", *settings.dispatch, w);
  if (settings.balance) WriteOrNull("balance", *settings.balance, w);
  if (settings.memory_budget_bytes) w.Key("memory_budget_bytes").Uint(*settings.memory_budget_bytes);
  if (settings.no_weights) {
    w.Key("weights").Null();
  } else if (!settings.weights.empty()) {
    w.Key("weights").BeginObject();
    for (const auto& [name, weight] : settings.weights) {
      w.OpenKey(name);
      if (weight == 0) {
        w.Null();
      } else {
        w.Uint(weight);
      }
    }
    w.EndObject();
  }
  w.EndObject();
}

template Result<Queue> Parse<Queue>(const std::string& json);

template <>
Result<std::vector<Queue>> Parse<std::vector<Queue>>(const std::string& json) {
  return json_in::ParseList<Queue>(json, json_in::kQueues);
}

}  // namespace allotter
