// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/scenario.h"

#include <algorithm>
#include <thread>

#include "base/bounds.h"

namespace allot::bench {
namespace {

using namespace std::chrono_literals;

constexpr Scenario kScenarios[] = {
    {"submit", "one-task submits, by number of clients", MeasureSubmit, false},
    {"drain", "take and finish the tasks of one job, by number of workers and tasks per message", MeasureDrain, false},
    {"drain_jobs", "the same with jobs of one task each", MeasureDrainJobs, false},
    {"latency", "from a submit to its start at a waiting worker, on an idle queue", MeasureLatency, false},
    {"bulk", "submit one job of a million tasks, by count and by lines", MeasureBulk, false},
    {"memory", "memory and disk per job and per task", MeasureMemory, true},
    {"restart", "start with many jobs in the file", MeasureRestart, true},
    {"connections", "ten thousand connected workers", MeasureConnections, true},
    {"waits", "a hundred thousand jobs awaited over a thousand connections", MeasureWaits, true},
    {"dashboards", "drain with two hundred open dashboards, and without", MeasureDashboards, true},
};

constexpr auto kStartLimit = 120s;

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

std::uint64_t Plan::Scaled(std::uint64_t number) const {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(static_cast<double>(number) * scale));
}

std::string Plan::Payload() const { return "\"" + std::string(payload_bytes < 2 ? 0 : payload_bytes - 2, 'x') + "\""; }

Site::Site(const Plan& plan) : plan_(plan) {
  if (plan.running) {
    target_ = *plan.running;
    return;
  }
  own_ = std::make_unique<Own>();
  target_.port = FreePort();
  StartChild();
}

double Site::StartChild() {
  const auto begun = SteadyClock::now();
  std::vector<std::string> command = {plan_.program, "serve",
                                      "--listen",    "127.0.0.1:" + std::to_string(target_.port),
                                      "--data",      own_->directory.path() + "/data"};
  command.insert(command.end(), plan_.serve_flags.begin(), plan_.serve_flags.end());
  own_->child.Start(command, own_->directory.path() + "/server.log");
  Caller caller(target_);
  while (caller.Probe("/readyz") != 200) {
    own_->child.CheckAlive();
    if (SteadyClock::now() - begun > kStartLimit) throw Failure("the server did not get ready");
    std::this_thread::sleep_for(2ms);
  }
  return SecondsSince(begun);
}

double Site::Restart(bool gracefully) {
  if (gracefully) {
    if (own_->child.Stop() != 0) throw Failure("the server did not stop as it should");
  } else {
    own_->child.Kill();
  }
  return StartChild();
}

void Site::Settle() {
  Caller caller(target_);
  const auto begun = SteadyClock::now();
  while (SteadyClock::now() - begun < 10s) {
    const std::string queue = caller.Call("GET", target_.Path(""));
    const std::size_t at = queue.find("\"journal_rows\":");
    if (at == std::string::npos || queue[at + 15] == '0' || (queue[at + 15] == ' ' && queue[at + 16] == '0')) return;
    std::this_thread::sleep_for(100ms);
  }
}

void SubmitJobs(Caller& caller, std::uint64_t count, std::string_view spec, std::vector<std::string>* ids) {
  const std::string path = caller.target().Path("/jobs/batch");
  std::string body;
  while (count > 0) {
    const auto jobs = std::min<std::uint64_t>(count, bounds::kMaxBatchJobs);
    body = "{\"jobs\":[";
    for (std::uint64_t i = 0; i < jobs; ++i) body.append(i == 0 ? "" : ",").append(spec);
    body += "]}";
    const std::string answer = caller.Call("POST", path, body);
    count -= jobs;
    if (ids == nullptr) continue;
    constexpr std::string_view kId = "\"id\":\"";
    for (std::size_t at = answer.find(kId); at != std::string::npos; at = answer.find(kId, at + 1)) {
      const std::size_t begin = at + kId.size();
      ids->push_back(answer.substr(begin, answer.find('"', begin) - begin));
    }
  }
}

void SubmitTasks(Caller& caller, std::uint64_t count, std::string_view payload) {
  caller.CallLines(caller.target().Path("/jobs"), "{\"tag\":\"" + std::string(kBenchTag) + "\"}", count, payload);
}

}  // namespace allot::bench
