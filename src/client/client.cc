#include "allotter/client.h"

#include <algorithm>

#include "allotter/live.h"
#include "base/bounds.h"
#include "base/json.h"
#include "client/codec.h"
#include "client/event_stream.h"
#include "client/http.h"
#include "client/limit_codec.h"
#include "client/overview_codec.h"
#include "client/preview_codec.h"
#include "client/url.h"

namespace allotter {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kNdjson = "application/x-ndjson";
constexpr std::size_t kStreamPieceBytes = 128 * 1024;
constexpr milliseconds kResultWait{20'000};
constexpr milliseconds kWatchSilence{60'000};  // on top of the usual timeout; the server pings far more often
constexpr std::string_view kJobPath = "/jobs/";
constexpr std::string_view kWorkerPath = "/workers/";
constexpr std::string_view kLimitPath = "/limits/";
// Of answers for which the server looks at all jobs, behind others who ask the same.
constexpr milliseconds kMostWalkTime{15'000};
// Of an action on many jobs.
constexpr milliseconds kMostChangeTime{60'000};

}  // namespace

class Client::Impl {
 public:
  Impl(ConnectionOptions options, Endpoint endpoint, std::shared_ptr<SSL_CTX> tls)
      : options_(std::move(options)),
        http_(std::move(endpoint), std::move(tls), options_),
        base_("/v1/queues/" + UrlEncode(options_.queue)) {}

  const ConnectionOptions& options() const { return options_; }
  HttpConnection& http() { return http_; }
  std::string Path(std::string_view rest) const { return base_ + std::string(rest); }
  std::string Path(std::string_view kind, std::string_view id, std::string_view rest = {}) const {
    return base_ + std::string(kind) + UrlEncode(id) + std::string(rest);
  }
  static std::string QueuePath(std::string_view name, std::string_view rest = {}) {
    return "/v1/queues/" + UrlEncode(name) + std::string(rest);
  }

  template <typename T>
  Result<T> Get(const std::string& path, milliseconds wait = {}) {
    auto answer = http_.Send({.target = path, .wait = wait});
    if (!answer) return answer.error();
    return Parse<T>(answer->body);
  }
  Result<HttpAnswer> Change(std::string_view method, const std::string& path, std::string_view body,
                            milliseconds wait = {}) {
    return http_.Send({.method = method,
                       .target = path,
                       .type = body.empty() ? std::string_view() : kJson,
                       .body = body,
                       .wait = wait});
  }
  template <typename T>
  Result<T> Change(std::string_view method, const std::string& path, std::string_view body = {},
                   milliseconds wait = {}) {
    auto answer = Change(method, path, body, wait);
    if (!answer) return answer.error();
    return Parse<T>(answer->body);
  }

 private:
  const ConnectionOptions options_;
  HttpConnection http_;
  const std::string base_;
};

Client::Client(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;
const ConnectionOptions& Client::options() const { return impl_->options(); }

Result<Client> Client::Open(ConnectionOptions options) {
  auto target = TargetOf(options);
  if (!target) return target.error();
  return Client(std::make_unique<Impl>(std::move(options), std::move(target->endpoint), std::move(target->tls)));
}

Result<ServerInfo> Client::Server() { return impl_->Get<ServerInfo>("/v1/server"); }
Result<std::vector<NamedStrategy>> Client::Strategies() {
  return impl_->Get<std::vector<NamedStrategy>>("/v1/strategies");
}

// --- Queues.

Result<std::vector<Queue>> Client::Queues() { return impl_->Get<std::vector<Queue>>(QueuesPath()); }

Result<Queue> Client::CreateQueue(std::string_view name, const QueueSettings& settings) {
  std::string body = "{\"name\":" + allot::JsonString(name) + ",\"settings\":";
  AppendSettings(settings, body);
  body.push_back('}');
  return impl_->Change<Queue>("POST", "/v1/queues", body);
}

Result<Queue> Client::GetQueue(std::string_view name) { return impl_->Get<Queue>(Impl::QueuePath(name)); }

Result<Queue> Client::ChangeQueue(std::string_view name, const QueueSettings& settings) {
  std::string body = "{\"settings\":";
  AppendSettings(settings, body);
  body.push_back('}');
  return impl_->Change<Queue>("PATCH", Impl::QueuePath(name), body);
}

Result<Queue> Client::PauseQueue(std::string_view name) {
  return impl_->Change<Queue>("POST", Impl::QueuePath(name, "/pause"));
}

Result<Queue> Client::ResumeQueue(std::string_view name) {
  return impl_->Change<Queue>("POST", Impl::QueuePath(name, "/resume"));
}

Result<void> Client::DeleteQueue(std::string_view name, bool force) {
  auto answer = impl_->Change("DELETE", Impl::QueuePath(name, force ? "?force=true" : ""), {});
  if (!answer) return answer.error();
  return {};
}

Result<void> Client::Backup(std::string_view name, const std::function<bool(std::string_view)>& sink) {
  // The server may copy for a while before the first byte leaves.
  auto answer = impl_->http().Send({.target = Impl::QueuePath(name, "/backup"), .wait = milliseconds(600'000)}, sink);
  if (!answer) return answer.error();
  return {};
}

Result<Overview> Client::GetOverview() { return impl_->Get<Overview>(OverviewPath(options().queue)); }

Result<History> Client::GetHistory(bool by_minute) {
  PathQuery path(impl_->Path("/history"));
  path.Add("step", by_minute ? "minute" : "second");
  return impl_->Get<History>(path.text());
}

Result<UserPage> Client::Users(const UserQuery& query) {
  return impl_->Get<UserPage>(UsersPath(options().queue, query));
}

// --- Jobs.

Result<Submitted> Client::SubmitJson(std::string_view spec_json) {
  return impl_->Change<Submitted>("POST", impl_->Path("/jobs"), spec_json);
}

Result<Submitted> Client::Submit(const JobSpec& spec) {
  std::string body;
  AppendSpec(spec, false, body);
  return SubmitJson(body);
}

Result<std::vector<SubmittedId>> Client::SubmitBatch(std::span<const JobSpec> specs) {
  std::string body = "{\"jobs\":[";
  for (const JobSpec& spec : specs) {
    if (&spec != specs.data()) body.push_back(',');
    AppendSpec(spec, false, body);
  }
  body.append("]}");
  return impl_->Change<std::vector<SubmittedId>>("POST", impl_->Path("/jobs/batch"), body);
}

namespace {

// That there are no tasks has to be said: without it, a stream that has none is a mistake.
void AppendFirstLine(const JobSpec& spec, bool has_tasks, std::string& out) {
  if (has_tasks) {
    AppendSpec(spec, true, out);
  } else {
    JobSpec none = spec;
    none.payloads.clear();
    none.count = 0;
    AppendSpec(none, false, out);
  }
  out.push_back('\n');
}

}  // namespace

Result<Submitted> Client::SubmitStream(const JobSpec& spec, const NextPayload& next) {
  bool begun = false;
  std::string payload;
  const std::string path = impl_->Path("/jobs");
  auto answer = impl_->http().SendStream({.method = "POST", .target = path, .type = kNdjson},
                                         [&](std::string& piece) -> Result<bool> {
                                           while (piece.size() < kStreamPieceBytes) {
                                             payload.clear();
                                             auto more = next(payload);
                                             if (!more) return more.error();
                                             if (!begun) {
                                               begun = true;
                                               AppendFirstLine(spec, *more, piece);
                                             }
                                             if (!*more) return false;
                                             if (payload.find_first_of("\r\n") != std::string::npos)
                                               payload = OneLine(payload);
                                             piece.append(payload).push_back('\n');
                                           }
                                           return true;
                                         });
  if (!answer) return answer.error();
  return Parse<Submitted>(answer->body);
}

Result<JobPage> Client::Jobs(const JobQuery& query) { return impl_->Get<JobPage>(JobsPath(options().queue, query)); }

Result<Job> Client::GetJob(std::string_view job, milliseconds wait) {
  PathQuery path(impl_->Path(kJobPath, job));
  if (wait.count() > 0) path.Add("wait_ms", static_cast<std::uint64_t>(wait.count()));
  return impl_->Get<Job>(path.text(), wait);
}

Result<Job> Client::ChangeJob(std::string_view job, const JobChange& change) {
  std::string body;
  AppendChange(change, body);
  return impl_->Change<Job>("PATCH", impl_->Path(kJobPath, job), body);
}

Result<Job> Client::CancelJob(std::string_view job) {
  return impl_->Change<Job>("POST", impl_->Path(kJobPath, job, "/cancel"));
}
Result<Job> Client::PauseJob(std::string_view job) {
  return impl_->Change<Job>("POST", impl_->Path(kJobPath, job, "/pause"));
}
Result<Job> Client::ResumeJob(std::string_view job) {
  return impl_->Change<Job>("POST", impl_->Path(kJobPath, job, "/resume"));
}
Result<Client::Retried> Client::RetryJob(std::string_view job) {
  return impl_->Change<Retried>("POST", impl_->Path(kJobPath, job, "/retry"));
}

Result<ManyJobsAnswer> Client::ChangeJobs(JobAction action, const ManyJobs& which) {
  constexpr std::string_view kPaths[] = {"/jobs/cancel", "/jobs/pause", "/jobs/resume", "/jobs/retry"};
  std::string body;
  AppendManyJobs(which, body);
  return impl_->Change<ManyJobsAnswer>("POST", impl_->Path(kPaths[static_cast<std::size_t>(action)]), body,
                                       kMostChangeTime);
}

Result<Picture> Client::GetPicture(std::string_view job, const PictureQuery& query) {
  PathQuery path(impl_->Path(kJobPath, job, "/picture"));
  path.Add("parts", query.parts).Add("from", query.from);
  if (query.to) path.Add("to", *query.to);
  return impl_->Get<Picture>(path.text());
}

Result<Explanation> Client::ExplainJob(std::string_view job, std::optional<std::uint32_t> task) {
  PathQuery path(ExplainPath(options().queue, job));
  if (task) path.Add("task", std::to_string(*task));
  return impl_->Get<Explanation>(path.text());
}
Result<PairExplanation> Client::ExplainPair(std::string_view job, std::string_view worker) {
  PathQuery path(impl_->Path(kJobPath, job, "/explain"));
  path.Add("worker", worker);
  return impl_->Get<PairExplanation>(path.text());
}
Result<Explanation> Client::ExplainSpec(const JobSpec& spec) {
  std::string body;
  AppendSpec(spec, false, body);
  return impl_->Change<Explanation>("POST", impl_->Path("/explain"), body);
}

Result<StrategyPreview> Client::TryStrategy(const StrategyTry& what) {
  std::string body;
  AppendTry(what, body);
  return impl_->Change<StrategyPreview>("POST", impl_->Path("/strategy/try"), body, kMostWalkTime);
}

Result<WorkerOutlook> Client::NextFor(std::string_view worker, std::uint32_t count) {
  PathQuery path(impl_->Path(kWorkerPath, worker, "/next"));
  path.Add("count", count);
  return impl_->Get<WorkerOutlook>(path.text());
}

Result<Job> Client::Watch(std::string_view job, const std::function<bool(const Job&)>& on_change) {
  const std::string path = impl_->Path(kJobPath, job, "/events");
  EventStream events;
  std::optional<Job> last;
  std::optional<Error> garbled;
  const auto on_event = [&](std::string_view event, const std::string& data) {
    if (event == "error") {  // the job, or its queue, is gone
      garbled = ErrorOfAnswer(500, data);
      return false;
    }
    auto parsed = Parse<Job>(data);
    if (!parsed) {
      garbled = parsed.error();
      return false;
    }
    last = std::move(*parsed);
    return on_change(*last) && event != "end";
  };
  const auto sink = [&](std::string_view piece) {
    auto more = events.Add(piece, on_event);
    if (!more) garbled = more.error();
    return more && *more;
  };
  auto answer = impl_->http().Send({.target = path, .wait = kWatchSilence}, sink);
  impl_->http().Close();
  if (garbled) return *garbled;
  if (last) return *last;
  if (!answer) return answer.error();
  return Error{Code::kUnavailable, "the stream of events ended at once", "is the server stopping?"};
}

// --- Tasks and results.

Result<TaskPage> Client::Tasks(std::string_view job, const TaskQuery& query) {
  PathQuery path(impl_->Path(kJobPath, job, "/tasks"));
  path.Add("state", query.state).Add("from", query.from);
  path.Add("limit", std::min<std::uint64_t>(query.limit, allot::bounds::kMaxPageItems));
  return impl_->Get<TaskPage>(path.text());
}

Result<Task> Client::GetTask(std::string_view job, std::uint64_t index) {
  return impl_->Get<Task>(impl_->Path(kJobPath, job, "/tasks/" + std::to_string(index)));
}

Result<ResultPage> Client::Results(std::string_view job, const ResultQuery& query) {
  PathQuery path(impl_->Path(kJobPath, job, "/results"));
  path.Add("from", query.from).Add("limit", std::min<std::uint64_t>(query.limit, allot::bounds::kMaxPageItems));
  if (query.wait.count() > 0) path.Add("wait_ms", static_cast<std::uint64_t>(query.wait.count()));
  return impl_->Get<ResultPage>(path.text(), query.wait);
}

Result<std::uint64_t> Client::EachResult(std::string_view job, const std::function<bool(const TaskResult&)>& on_result,
                                         std::uint64_t from) {
  std::uint64_t told = 0;
  for (;;) {
    auto page = Results(job, {.from = from, .wait = kResultWait});
    if (!page) return page.error();
    for (const TaskResult& result : page->results) {
      if (!on_result(result)) return told;
      ++told;
    }
    if (!page->next) return told;
    from = *page->next;
  }
}

Result<Receipt> Client::GetReceipt(std::string_view job, std::uint64_t index) {
  return impl_->Get<Receipt>(impl_->Path(kJobPath, job, "/tasks/" + std::to_string(index) + "/receipt"));
}

Result<ReceiptPage> Client::Receipts(std::optional<std::uint64_t> before, std::size_t limit) {
  PathQuery path(impl_->Path("/receipts"));
  if (before) path.Add("before", *before);
  path.Add("limit", std::min<std::uint64_t>(limit, allot::bounds::kMaxPageItems));
  return impl_->Get<ReceiptPage>(path.text());
}

// --- Workers.

Result<WorkerPage> Client::Workers(std::string_view after, std::size_t limit) {
  return impl_->Get<WorkerPage>(WorkersPath(options().queue, after, limit));
}

Result<WorkerInfo> Client::GetWorker(std::string_view worker) {
  return impl_->Get<WorkerInfo>(WorkerPath(options().queue, worker));
}

Result<WorkerInfo> Client::DrainWorker(std::string_view worker) {
  return impl_->Change<WorkerInfo>("POST", impl_->Path(kWorkerPath, worker, "/drain"));
}

Result<WorkerInfo> Client::ChangeWorker(std::string_view worker, const WorkerChange& change) {
  std::string body;
  AppendWorkerChange(change, body);
  return impl_->Change<WorkerInfo>("PATCH", impl_->Path(kWorkerPath, worker), body);
}

Result<Welcome> Client::RegisterWorker(const Hello& hello) {
  std::string body;
  AppendHello(hello, body);
  return impl_->Change<Welcome>("POST", impl_->Path("/workers"), body);
}

Result<PullAnswer> Client::Pull(const Welcome& self, const PullRequest& request) {
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
  if (!request.strategy.empty()) body.append(",\"strategy\":").append(allot::JsonString(request.strategy));
  if (!request.set.empty()) {
    body.append(",\"set\":");
    AppendWorkerChange(request.set, body);
  }
  body.push_back('}');
  auto answer = impl_->Change("POST", impl_->Path(kWorkerPath, self.worker, "/pull"), body, request.wait);
  if (!answer) return answer.error();
  ServerMessage message;
  if (auto parsed = ParseMessage(answer->body, message); !parsed) return parsed.error();  // Send() left the padding
  return PullAnswer{std::move(message.stale), std::move(message.tasks), std::move(message.cancel), message.drain,
                    std::move(message.set).value_or(WorkerChange())};
}

Result<WorkerInfo> Client::Change(const Welcome& self, const WorkerChange& change) {
  if (change.empty()) return Error{Code::kBadValue, "nothing to change", ""};
  std::string body;
  AppendWorkerChange(change, body);
  body.pop_back();
  body.append(",\"key\":").append(allot::JsonString(self.key)).push_back('}');
  return impl_->Change<WorkerInfo>("PATCH", impl_->Path(kWorkerPath, self.worker), body);
}

Result<void> Client::Leave(const Welcome& self) {
  auto answer =
      impl_->Change("DELETE", impl_->Path(kWorkerPath, self.worker), "{\"key\":" + allot::JsonString(self.key) + "}");
  if (!answer) return answer.error();
  return {};
}

// --- Limits and demand.

Result<LimitLease> Client::CreateLimit(const LimitSpec& spec) {
  std::string body;
  AppendLimit(spec, body);
  return impl_->Change<LimitLease>("POST", impl_->Path("/limits"), body);
}

Result<LimitLease> Client::PutLimit(std::string_view uuid, const LimitSpec& spec) {
  std::string body;
  AppendLimit(spec, body);
  return impl_->Change<LimitLease>("PUT", impl_->Path(kLimitPath, uuid), body);
}

Result<LimitLease> Client::RenewLimit(std::string_view uuid, milliseconds expires_in) {
  std::string body = "{}";
  if (expires_in.count() != 0) body = "{\"expires_in_ms\":" + std::to_string(expires_in.count()) + "}";
  return impl_->Change<LimitLease>("POST", impl_->Path(kLimitPath, uuid, "/renew"), body);
}

Result<void> Client::DeleteLimit(std::string_view uuid) {
  auto answer = impl_->Change("DELETE", impl_->Path(kLimitPath, uuid), {});
  if (!answer) return answer.error();
  return {};
}

Result<std::vector<Limit>> Client::Limits(const LimitFilter& filter) {
  return impl_->Get<std::vector<Limit>>(LimitsPath(options().queue, filter));
}

Result<Limit> Client::GetLimit(std::string_view uuid) { return impl_->Get<Limit>(impl_->Path(kLimitPath, uuid)); }

Result<LimitTrial> Client::TryLimit(std::string_view expr, std::string_view cost) {
  std::string body = "{\"expr\":" + allot::JsonString(expr);
  if (!cost.empty()) body.append(",\"cost\":").append(allot::JsonString(cost));
  body.push_back('}');
  return impl_->Change<LimitTrial>("POST", impl_->Path("/limits/try"), body, kMostWalkTime);
}

Result<Demand> Client::GetDemand(const DemandQuery& query) {
  PathQuery path(impl_->Path("/demand"));
  path.Add("user", query.user).Add("tag", query.tag).Add("limit", query.limit);
  return impl_->Get<Demand>(path.text(), kMostWalkTime);
}

// --- Anything else.

Result<std::string> Client::Call(std::string_view method, std::string_view path, std::string_view body,
                                 milliseconds wait) {
  if (path.empty() || path[0] != '/' || path.find_first_of(" \r\n") != std::string_view::npos) {
    return Error{Code::kBadValue, "not a path", "it begins with a slash"};
  }
  auto answer = impl_->Change(method, std::string(path), body, wait);
  if (!answer) return answer.error();
  return std::move(answer->body);
}

}  // namespace allotter
