// SPDX-License-Identifier: Apache-2.0
#include "allotter/client.h"

#include <algorithm>

#include "allotter/live.h"
#include "base/bounds.h"
#include "base/json.h"
#include "client/connection.h"
#include "client/limit_codec.h"
#include "client/overview_codec.h"
#include "client/preview_codec.h"

namespace allotter {
namespace {

constexpr std::string_view kWorkerPath = "/workers/";
constexpr std::string_view kLimitPath = "/limits/";
// Of answers for which the server looks at all jobs, behind others who ask the same.
constexpr milliseconds kMostWalkTime{15'000};

}  // namespace

Client::Client(std::unique_ptr<ClientConnection> connection) : connection_(std::move(connection)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;
const ConnectionOptions& Client::options() const { return connection_->options(); }

Result<Client> Client::Open(ConnectionOptions options) {
  auto target = TargetOf(options);
  if (!target) return target.error();
  return Client(
      std::make_unique<ClientConnection>(std::move(options), std::move(target->endpoint), std::move(target->tls)));
}

Result<ServerInfo> Client::Server() { return connection_->Get<ServerInfo>("/v1/server"); }

Result<std::string> Client::Call(std::string_view method, std::string_view path, std::string_view body,
                                 milliseconds wait) {
  if (path.empty() || path[0] != '/' || path.find_first_of(" \r\n") != std::string_view::npos) {
    return Error{Code::kBadValue, "not a path", "it begins with a slash"};
  }
  auto answer = connection_->Change(method, std::string(path), body, wait);
  if (!answer) return answer.error();
  return std::move(answer->body);
}

// --- Queues.

Result<std::vector<Queue>> Queues::List() { return connection_->Get<std::vector<Queue>>(QueuesPath()); }

Result<Queue> Queues::Create(std::string_view name, const QueueSettings& settings) {
  std::string body = "{\"name\":" + allot::JsonString(name) + ",\"settings\":";
  AppendSettings(settings, body);
  body.push_back('}');
  return connection_->Change<Queue>("POST", "/v1/queues", body);
}

Result<Queue> Queues::Get(std::string_view name) { return connection_->Get<Queue>(ClientConnection::QueuePath(name)); }

Result<Queue> Queues::Change(std::string_view name, const QueueSettings& settings) {
  std::string body = "{\"settings\":";
  AppendSettings(settings, body);
  body.push_back('}');
  return connection_->Change<Queue>("PATCH", ClientConnection::QueuePath(name), body);
}

Result<Queue> Queues::Pause(std::string_view name) {
  return connection_->Change<Queue>("POST", ClientConnection::QueuePath(name, "/pause"));
}

Result<Queue> Queues::Resume(std::string_view name) {
  return connection_->Change<Queue>("POST", ClientConnection::QueuePath(name, "/resume"));
}

Result<void> Queues::Delete(std::string_view name, bool force) {
  auto answer = connection_->Change("DELETE", ClientConnection::QueuePath(name, force ? "?force=true" : ""), {});
  if (!answer) return answer.error();
  return {};
}

Result<void> Queues::Backup(std::string_view name, const std::function<bool(std::string_view)>& sink) {
  // The server may copy for a while before the first byte leaves.
  auto answer = connection_->http().Send(
      {.target = ClientConnection::QueuePath(name, "/backup"), .wait = milliseconds(600'000)}, sink);
  if (!answer) return answer.error();
  return {};
}

// --- Stats.

Result<allotter::Overview> Stats::Overview() {
  return connection_->Get<allotter::Overview>(OverviewPath(connection_->options().queue));
}

Result<allotter::History> Stats::History(bool by_minute) {
  PathQuery path(connection_->Path("/history"));
  path.Add("step", by_minute ? "minute" : "second");
  return connection_->Get<allotter::History>(path.text());
}

Result<UserPage> Stats::Users(const UserQuery& query) {
  return connection_->Get<UserPage>(UsersPath(connection_->options().queue, query));
}

Result<allotter::Demand> Stats::Demand(const DemandQuery& query) {
  PathQuery path(connection_->Path("/demand"));
  path.Add("user", query.user).Add("tag", query.tag).Add("limit", query.limit);
  return connection_->Get<allotter::Demand>(path.text(), kMostWalkTime);
}

// --- Strategies.

Result<std::vector<NamedStrategy>> Strategies::List() {
  return connection_->Get<std::vector<NamedStrategy>>("/v1/strategies");
}

Result<StrategyPreview> Strategies::Try(const StrategyTry& what) {
  std::string body;
  AppendTry(what, body);
  return connection_->Change<StrategyPreview>("POST", connection_->Path("/strategy/try"), body, kMostWalkTime);
}

// --- Workers.

Result<WorkerOutlook> Workers::Next(std::string_view worker, std::uint32_t count) {
  PathQuery path(connection_->Path(kWorkerPath, worker, "/next"));
  path.Add("count", count);
  return connection_->Get<WorkerOutlook>(path.text());
}

Result<WorkerPage> Workers::List(std::string_view after, std::size_t limit) {
  return connection_->Get<WorkerPage>(WorkersPath(connection_->options().queue, after, limit));
}

Result<WorkerInfo> Workers::Get(std::string_view worker) {
  return connection_->Get<WorkerInfo>(WorkerPath(connection_->options().queue, worker));
}

Result<WorkerInfo> Workers::Drain(std::string_view worker) {
  return connection_->Change<WorkerInfo>("POST", connection_->Path(kWorkerPath, worker, "/drain"));
}

Result<WorkerInfo> Workers::Change(std::string_view worker, const WorkerChange& change) {
  std::string body;
  AppendWorkerChange(change, body);
  return connection_->Change<WorkerInfo>("PATCH", connection_->Path(kWorkerPath, worker), body);
}

Result<Welcome> Workers::Register(const Hello& hello) {
  std::string body;
  AppendHello(hello, body);
  return connection_->Change<Welcome>("POST", connection_->Path("/workers"), body);
}

Result<PullAnswer> Workers::Pull(const Welcome& self, const PullRequest& request) {
  std::string body = "{\"key\":" + allot::JsonString(self.key) + ",\"pull\":" + std::to_string(request.pull);
  if (request.wait.count() > 0) body.append(",\"wait_ms\":").append(std::to_string(request.wait.count()));
  if (!request.reports.empty()) {
    body.push_back(',');
    AppendReports(request.reports, body);
  }
  if (!request.extend.empty()) {
    body.append(",\"extend\":[");
    for (const TaskRef& task : request.extend) {
      if (&task != request.extend.data()) body.push_back(',');
      AppendTaskRef(task, body);
    }
    body.push_back(']');
  }
  if (request.job_headers) body.append(",\"job_headers\":true");
  if (!request.strategy.empty()) body.append(",\"strategy\":").append(allot::JsonString(request.strategy));
  if (!request.set.empty()) {
    body.append(",\"set\":");
    AppendWorkerChange(request.set, body);
  }
  body.push_back('}');
  auto answer = connection_->Change("POST", connection_->Path(kWorkerPath, self.worker, "/pull"), body, request.wait);
  if (!answer) return answer.error();
  ServerMessage message;
  if (auto parsed = ParseMessage(answer->body, message); !parsed) return parsed.error();  // Send() left the padding
  return PullAnswer{std::move(message.stale),
                    std::move(message.tasks),
                    std::move(message.jobs),
                    std::move(message.cancel),
                    message.drain,
                    std::move(message.set).value_or(WorkerChange())};
}

Result<WorkerInfo> Workers::Change(const Welcome& self, const WorkerChange& change) {
  if (change.empty()) return Error{Code::kBadValue, "nothing to change", ""};
  std::string body;
  AppendWorkerChange(change, body);
  body.pop_back();
  body.append(",\"key\":").append(allot::JsonString(self.key)).push_back('}');
  return connection_->Change<WorkerInfo>("PATCH", connection_->Path(kWorkerPath, self.worker), body);
}

Result<void> Workers::Leave(const Welcome& self) {
  auto answer = connection_->Change("DELETE", connection_->Path(kWorkerPath, self.worker),
                                    "{\"key\":" + allot::JsonString(self.key) + "}");
  if (!answer) return answer.error();
  return {};
}

// --- Limits.

Result<LimitLease> Limits::Create(const LimitSpec& spec) {
  std::string body;
  AppendLimit(spec, body);
  return connection_->Change<LimitLease>("POST", connection_->Path("/limits"), body);
}

Result<LimitLease> Limits::Put(std::string_view uuid, const LimitSpec& spec) {
  std::string body;
  AppendLimit(spec, body);
  return connection_->Change<LimitLease>("PUT", connection_->Path(kLimitPath, uuid), body);
}

Result<LimitLease> Limits::Renew(std::string_view uuid, milliseconds expires_in) {
  std::string body = "{}";
  if (expires_in.count() != 0) body = "{\"expires_in_ms\":" + std::to_string(expires_in.count()) + "}";
  return connection_->Change<LimitLease>("POST", connection_->Path(kLimitPath, uuid, "/renew"), body);
}

Result<void> Limits::Delete(std::string_view uuid) {
  auto answer = connection_->Change("DELETE", connection_->Path(kLimitPath, uuid), {});
  if (!answer) return answer.error();
  return {};
}

Result<std::vector<Limit>> Limits::List(const LimitFilter& filter) {
  return connection_->Get<std::vector<Limit>>(LimitsPath(connection_->options().queue, filter));
}

Result<Limit> Limits::Get(std::string_view uuid) {
  return connection_->Get<Limit>(connection_->Path(kLimitPath, uuid));
}

Result<LimitTrial> Limits::Try(std::string_view expr, std::string_view cost) {
  std::string body = "{\"expr\":" + allot::JsonString(expr);
  if (!cost.empty()) body.append(",\"cost\":").append(allot::JsonString(cost));
  body.push_back('}');
  return connection_->Change<LimitTrial>("POST", connection_->Path("/limits/try"), body, kMostWalkTime);
}

}  // namespace allotter
