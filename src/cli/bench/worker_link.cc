// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/worker_link.h"

#include <algorithm>

#include "base/json.h"
#include "cli/bench/scenario.h"

namespace allot::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kConnectingAtOnce = 512;
constexpr std::size_t kTicksPerHeartbeat = 100;  // ten seconds

}  // namespace

WorkerLink::WorkerLink(Loop& loop, const Target& target, Crew& crew)
    : WebSocketLink(loop, target, target.Path("/work")), crew_(crew) {}

void WorkerLink::OnUpgraded() {
  std::string hello;
  JsonWriter json(hello);
  json.BeginObject().Key("hello").BeginObject().Key("name").String("bench").Key("slots").Uint(1);
  json.Key("tags").BeginArray().String(kBenchTag).EndArray();
  if (!id_.empty()) json.Key("worker").String(id_).Key("key").String(key_);
  json.EndObject().EndObject();
  SendText(hello);
}

void WorkerLink::OnClosed() {
  registered_ = false;
  reported_.clear();
  ++crew_.closed;
  if (!crew_.may_close) throw Failure("the server closed a worker's connection");
}

void WorkerLink::Pull(std::size_t batch) {
  batch_ = batch;
  SendText("{\"pull\":" + std::to_string(batch) + "}");
}

void WorkerLink::OnText(std::string_view text) {
  try {
    auto document =
        crew_.parser.iterate(simdjson::padded_string_view(text.data(), text.size(), text.size() + kPadding));
    for (auto field : document.get_object()) {
      const std::string_view key = field.unescaped_key();
      if (key == "ack") {
        if (reported_.empty()) throw Failure("an answer to nothing");
        crew_.done += reported_.front();
        reported_.pop_front();
      } else if (key == "tasks") {
        OnTasks(field.value().get_array());
      } else if (key == "welcome") {
        auto welcome = field.value().get_object();
        id_ = std::string(std::string_view(welcome["worker"]));
        key_ = std::string(std::string_view(welcome["key"]));
        registered_ = true;
        ++crew_.registered;
      } else if (key == "error" || key == "stale") {
        throw Failure(std::string(text));
      }
    }
  } catch (const simdjson::simdjson_error& error) {
    throw Failure(std::string("not understood (") + error.what() + "): " + std::string(text.substr(0, 200)));
  }
}

void WorkerLink::OnTasks(simdjson::ondemand::array tasks) {
  std::string& message = crew_.message;
  message.assign("{\"seq\":").append(std::to_string(++seq_)).append(",\"done\":[");
  std::uint32_t count = 0;
  for (simdjson::ondemand::object task : tasks) {
    std::string_view job, lease, index;
    for (auto field : task) {
      const std::string_view key = field.unescaped_key();
      if (key == "job") {
        job = field.value().get_string();
      } else if (key == "index") {
        index = field.value().raw_json_token();
      } else if (key == "lease") {
        lease = field.value().get_string();
      }
    }
    message.append(count == 0 ? "{\"job\":\"" : ",{\"job\":\"").append(job).append("\",\"index\":").append(index);
    message.append(",\"lease\":\"").append(lease).append("\"}");
    ++count;
  }
  message.append("]");
  if (!crew_.stop) message.append(",\"pull\":").append(std::to_string(batch_));
  message.append("}");
  crew_.started += count;
  reported_.push_back(count);
  if (on_start) on_start();
  SendText(message);
}

void ConnectWorkers(Loop& loop, const Target& target, Crew& crew, std::size_t count,
                    std::vector<std::unique_ptr<WorkerLink>>& workers) {
  const std::size_t before = crew.registered;
  std::size_t begun = 0;
  loop.RunUntil(
      [&] {
        while (begun < count && before + begun < crew.registered + kConnectingAtOnce) {
          workers.push_back(std::make_unique<WorkerLink>(loop, target, crew));
          workers.back()->Connect(target.port);
          ++begun;
        }
        return crew.registered >= before + count;
      },
      60s, "registering workers");
}

void Heartbeats::Tick() {
  if (workers_.empty()) return;
  const std::size_t n = std::min(workers_.size(), workers_.size() / kTicksPerHeartbeat + 1);
  for (std::size_t i = 0; i < n; ++i) {
    next_ = (next_ + 1) % workers_.size();
    if (workers_[next_]->registered()) workers_[next_]->Heartbeat();
  }
}

}  // namespace allot::bench
