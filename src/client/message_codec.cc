// What the server sends to workers: its own file, since this is the path that a load of 10^5 tasks a second takes.
#include "client/codec.h"
#include "client/json_in.h"

namespace allotter {
namespace {

using json_in::Each;
using json_in::EachField;
using json_in::Value;

void Read(Value value, TaskRef& task, std::string* extra, std::string_view extra_key) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") {
      task.job = std::string_view(field.get_string());
    } else if (key == "index") {
      task.index = static_cast<std::uint32_t>(std::uint64_t(field.get_uint64()));
    } else if (key == "lease") {
      task.lease = std::string_view(field.get_string());
    } else if (extra != nullptr && key == extra_key) {
      *extra = std::string_view(field.get_string());
    }
  });
}

void Read(Value value, std::vector<TaskRef>& tasks) {
  Each(value, [&](Value item) { Read(item, tasks.emplace_back(), nullptr, {}); });
}

std::uint32_t U32(Value& value) { return static_cast<std::uint32_t>(std::uint64_t(value.get_uint64())); }

void Read(Value value, Assignment& assignment) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "job") {
      assignment.task.job = std::string_view(field.get_string());
    } else if (key == "index") {
      assignment.task.index = U32(field);
    } else if (key == "lease") {
      assignment.task.lease = std::string_view(field.get_string());
    } else if (key == "attempt") {
      assignment.attempt = U32(field);
    } else if (key == "count") {
      assignment.count = U32(field);
    } else if (key == "lease_ms") {
      assignment.lease = milliseconds(std::int64_t(field.get_int64()));
    } else if (key == "timeout_ms") {
      assignment.timeout = milliseconds(std::int64_t(field.get_int64()));
    } else if (key == "payload") {
      assignment.payload = json_in::Raw(field);
    } else if (key == "job_payload") {
      assignment.job_payload = json_in::Raw(field);
    } else if (key == "payload_prefix") {
      assignment.payload_prefix = json_in::Text(field);
    } else if (key == "trace") {
      assignment.trace = json_in::Text(field);
    }
  });
}

void Read(Value value, Welcome& welcome) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "worker") welcome.worker = json_in::Text(field);
    if (key == "key") welcome.key = json_in::Text(field);
    if (key == "heartbeat_ms") welcome.heartbeat = milliseconds(std::int64_t(field.get_int64()));
    if (key == "resumed") Read(field, welcome.resumed);
    if (key == "lost") Read(field, welcome.lost);
  });
}

void Read(Value value, Error& error) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "code") error.code = allot::CodeFromText(json_in::Text(field));
    if (key == "message") error.message = json_in::Text(field);
    if (key == "hint") error.hint = json_in::Text(field);
  });
}

void Read(Value value, ServerMessage& message) {
  EachField(value, [&](std::string_view key, Value field) {
    if (key == "ack") {
      message.ack = std::uint64_t(field.get_uint64());
    } else if (key == "tasks") {
      Each(field, [&](Value item) { Read(item, message.tasks.emplace_back()); });
    } else if (key == "stale") {
      Each(field,
           [&](Value item) { Read(item, message.stale.emplace_back(), &message.stale_codes.emplace_back(), "code"); });
    } else if (key == "cancel") {
      Each(field, [&](Value item) {
        CancelOrder& order = message.cancel.emplace_back();
        Read(item, order.task, &order.reason, "reason");
      });
    } else if (key == "drain") {
      message.drain = field.get_bool();
    } else if (key == "set") {
      ReadWorkerChange(field, message.set.emplace());
    } else if (key == "welcome") {
      Read(field, message.welcome.emplace());
    } else if (key == "error") {
      Read(field, message.error.emplace());
    } else if (key == "seq") {
      message.error_seq = std::uint64_t(field.get_uint64());
    } else if (key == "ended") {
      Each(field, [&](Value item) {
        JobWaiter::Ended& one = message.ended.emplace_back();
        EachField(item, [&](std::string_view name, Value inner) {
          if (name == "id") one.id = json_in::Text(inner);
          if (name == "state") one.state = json_in::Text(inner);
          if (name == "done") one.done = inner.get_uint64();
          if (name == "failed") one.failed = inner.get_uint64();
        });
      });
    } else if (key == "unknown") {
      Each(field, [&](Value item) { message.ended.emplace_back().id = json_in::Text(item); });
    }
  });
}

}  // namespace

void ServerMessage::Clear() {
  ack.reset();
  stale.clear();
  stale_codes.clear();
  tasks.clear();
  cancel.clear();
  drain = false;
  set.reset();
  welcome.reset();
  error.reset();
  error_seq.reset();
  ended.clear();
}

Result<void> ParseMessage(std::string_view text, ServerMessage& message) {
  message.Clear();
  return json_in::Document(
      simdjson::padded_string_view(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING),
      [&](Value root) { Read(root, message); });
}

template <>
Result<Welcome> Parse<Welcome>(const std::string& json) {
  Welcome welcome;
  auto parsed = json_in::Document(json, [&](Value root) { Read(root, welcome); });
  if (!parsed) return parsed.error();
  return welcome;
}

}  // namespace allotter
