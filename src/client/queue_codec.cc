// Queues and their settings; all else is in codec.cc.
#include "base/json.h"
#include "client/codec.h"
#include "client/json_in.h"

namespace allotter {
namespace {
namespace queues {  // its Read() are no candidates for what other codecs read

using allot::JsonWriter;
using json_in::Each;
using json_in::EachField;
using json_in::Read;
using json_in::Value;

void Read(Value value, Queue& queue) {
  queue.json = json_in::Raw(value);
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "name") Read(field, queue.name);
    if (key == "paused") Read(field, queue.paused);
    if (key == "created_at_ms") Read(field, queue.created_at_ms);
    if (key == "workers") Read(field, queue.workers);
    if (key == "workers_waiting") Read(field, queue.workers_waiting);
    if (key == "jobs") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "scheduled") Read(inner, queue.jobs_scheduled);
        if (name == "active") Read(inner, queue.jobs_active);
        if (name == "paused") Read(inner, queue.jobs_paused);
        if (name == "done") Read(inner, queue.jobs_done);
        if (name == "failed") Read(inner, queue.jobs_failed);
        if (name == "cancelled") Read(inner, queue.jobs_cancelled);
      });
    }
    if (key == "tasks") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "ready") Read(inner, queue.tasks_ready);
        if (name == "waiting") Read(inner, queue.tasks_waiting);
        if (name == "leased") Read(inner, queue.tasks_leased);
      });
    }
    if (key == "settings") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "max_finished_jobs") Read(inner, queue.settings.max_finished_jobs);
        if (name == "worker_grace_ms") Read(inner, queue.settings.worker_grace);
        if (name == "max_limit_expiration_ms") Read(inner, queue.settings.max_limit_expiration);
        if (name == "limit_ban_window_ms") Read(inner, queue.settings.limit_ban_window);
        if (name == "demand_lookahead_ms") Read(inner, queue.settings.demand_lookahead);
        if (name == "max_result_bytes") Read(inner, queue.settings.max_result_bytes);
        if (name == "property_keys") Read(inner, queue.settings.property_keys.emplace());
        if (name == "max_property_keys") Read(inner, queue.settings.max_property_keys);
        if (name == "policy") Read(inner, queue.settings.policy.emplace());
        if (name == "dispatch") Read(inner, queue.settings.dispatch.emplace());
        if (name == "balance") Read(inner, queue.settings.balance.emplace());
        if (name == "memory_budget_bytes") Read(inner, queue.settings.memory_budget_bytes);
        if (name == "weights") {
          EachField(inner, [&](std::string_view of, Value weight) {
            Read(weight, queue.settings.weights.emplace_back(std::string(of), 0).second);
          });
        }
      });
    }
    if (key == "memory") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "budget_bytes") Read(inner, queue.memory_budget_bytes);
        if (name == "used_bytes") Read(inner, queue.memory_bytes);
        if (name == "parts") {
          EachField(inner, [&](std::string_view part, Value bytes) {
            Read(bytes, queue.memory_parts.emplace_back(std::string(part), 0).second);
          });
        }
      });
    }
    if (key == "store") {
      EachField(field, [&](std::string_view name, Value inner) {
        if (name == "file_bytes") Read(inner, queue.file_bytes);
        if (name == "journal_rows") Read(inner, queue.journal_rows);
      });
    }
  });
}

void Read(Value value, std::vector<Queue>& queues) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "queues") Each(field, [&](Value item) { Read(item, queues.emplace_back()); });
  });
}

constexpr auto kReader = [](Value root, auto& out) { Read(root, out); };

}  // namespace queues
}  // namespace

void ReadQueue(json_in::Value value, Queue& queue) { queues::Read(value, queue); }

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

template <>
Result<Queue> Parse<Queue>(const std::string& json) {
  return json_in::DocumentAs<Queue>(json, queues::kReader);
}
template <>
Result<std::vector<Queue>> Parse<std::vector<Queue>>(const std::string& json) {
  return json_in::DocumentAs<std::vector<Queue>>(json, queues::kReader);
}

}  // namespace allotter
