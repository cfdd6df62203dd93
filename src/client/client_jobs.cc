// SPDX-License-Identifier: Apache-2.0
// Jobs and Tasks of allotter/client.h.
#include <algorithm>

#include "allotter/client.h"
#include "allotter/live.h"
#include "base/bounds.h"
#include "client/connection.h"
#include "client/event_stream.h"
#include "client/overview_codec.h"

namespace allotter {
namespace {

constexpr std::string_view kNdjson = "application/x-ndjson";
constexpr std::size_t kStreamPieceBytes = 128 * 1024;
constexpr milliseconds kResultWait{20'000};
constexpr milliseconds kWatchSilence{60'000};  // on top of the usual timeout; the server pings far more often
constexpr std::string_view kJobPath = "/jobs/";
// Of an action on many jobs.
constexpr milliseconds kMostChangeTime{60'000};

}  // namespace

// --- Jobs.

Result<Submitted> Jobs::SubmitJson(std::string_view spec_json) {
  return connection_->Change<Submitted>("POST", connection_->Path("/jobs"), spec_json);
}

Result<Submitted> Jobs::Submit(const JobSpec& spec) {
  std::string body;
  AppendSpec(spec, false, body);
  return SubmitJson(body);
}

Result<std::vector<SubmittedId>> Jobs::SubmitBatch(std::span<const JobSpec> specs) {
  std::string body = "{\"jobs\":[";
  for (const JobSpec& spec : specs) {
    if (&spec != specs.data()) body.push_back(',');
    AppendSpec(spec, false, body);
  }
  body.append("]}");
  return connection_->Change<std::vector<SubmittedId>>("POST", connection_->Path("/jobs/batch"), body);
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

Result<Submitted> Jobs::SubmitStream(const JobSpec& spec, const NextPayload& next) {
  bool begun = false;
  std::string payload;
  const std::string path = connection_->Path("/jobs");
  auto answer = connection_->http().SendStream({.method = "POST", .target = path, .type = kNdjson},
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

Result<JobPage> Jobs::List(const JobQuery& query) {
  return connection_->Get<JobPage>(JobsPath(connection_->options().queue, query));
}

Result<Job> Jobs::Get(std::string_view job, milliseconds wait, bool payload) {
  PathQuery path(connection_->Path(kJobPath, job));
  if (wait.count() > 0) path.Add("wait_ms", static_cast<std::uint64_t>(wait.count()));
  if (payload) path.Add("payload", "true");
  return connection_->Get<Job>(path.text(), wait);
}

Result<Job> Jobs::Change(std::string_view job, const JobChange& change) {
  std::string body;
  AppendChange(change, body);
  return connection_->Change<Job>("PATCH", connection_->Path(kJobPath, job), body);
}

Result<Job> Jobs::Cancel(std::string_view job) {
  return connection_->Change<Job>("POST", connection_->Path(kJobPath, job, "/cancel"));
}

Result<Job> Jobs::Pause(std::string_view job) {
  return connection_->Change<Job>("POST", connection_->Path(kJobPath, job, "/pause"));
}

Result<Job> Jobs::Resume(std::string_view job) {
  return connection_->Change<Job>("POST", connection_->Path(kJobPath, job, "/resume"));
}

Result<Retried> Jobs::Retry(std::string_view job) {
  return connection_->Change<Retried>("POST", connection_->Path(kJobPath, job, "/retry"));
}

Result<ManyJobsAnswer> Jobs::ChangeMany(JobAction action, const ManyJobs& which) {
  constexpr std::string_view kPaths[] = {"/jobs/cancel", "/jobs/pause", "/jobs/resume", "/jobs/retry"};
  std::string body;
  AppendManyJobs(which, body);
  return connection_->Change<ManyJobsAnswer>("POST", connection_->Path(kPaths[static_cast<std::size_t>(action)]), body,
                                             kMostChangeTime);
}

Result<Explanation> Jobs::Explain(std::string_view job, std::optional<std::uint32_t> task) {
  PathQuery path(ExplainPath(connection_->options().queue, job));
  if (task) path.Add("task", std::to_string(*task));
  return connection_->Get<Explanation>(path.text());
}

Result<PairExplanation> Jobs::ExplainPair(std::string_view job, std::string_view worker) {
  PathQuery path(connection_->Path(kJobPath, job, "/explain"));
  path.Add("worker", worker);
  return connection_->Get<PairExplanation>(path.text());
}

Result<Explanation> Jobs::ExplainSpec(const JobSpec& spec) {
  std::string body;
  AppendSpec(spec, false, body);
  return connection_->Change<Explanation>("POST", connection_->Path("/explain"), body);
}

Result<Job> Jobs::Watch(std::string_view job, const std::function<bool(const Job&)>& on_change) {
  const std::string path = connection_->Path(kJobPath, job, "/events");
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
  auto answer = connection_->http().Send({.target = path, .wait = kWatchSilence}, sink);
  connection_->http().Close();
  if (garbled) return *garbled;
  if (last) return *last;
  if (!answer) return answer.error();
  return Error{Code::kUnavailable, "the stream of events ended at once", "is the server stopping?"};
}

// --- Tasks.

Result<allotter::Picture> Tasks::Picture(std::string_view job, const PictureQuery& query) {
  PathQuery path(connection_->Path(kJobPath, job, "/picture"));
  path.Add("parts", query.parts).Add("from", query.from);
  if (query.to) path.Add("to", *query.to);
  return connection_->Get<allotter::Picture>(path.text());
}

Result<TaskPage> Tasks::List(std::string_view job, const TaskQuery& query) {
  PathQuery path(connection_->Path(kJobPath, job, "/tasks"));
  path.Add("state", query.state).Add("from", query.from);
  path.Add("limit", std::min<std::uint64_t>(query.limit, allot::bounds::kMaxPageItems));
  return connection_->Get<TaskPage>(path.text());
}

Result<Task> Tasks::Get(std::string_view job, std::uint64_t index) {
  return connection_->Get<Task>(connection_->Path(kJobPath, job, "/tasks/" + std::to_string(index)));
}

Result<ResultPage> Tasks::Results(std::string_view job, const ResultQuery& query) {
  PathQuery path(connection_->Path(kJobPath, job, "/results"));
  path.Add("from", query.from).Add("limit", std::min<std::uint64_t>(query.limit, allot::bounds::kMaxPageItems));
  if (query.wait.count() > 0) path.Add("wait_ms", static_cast<std::uint64_t>(query.wait.count()));
  return connection_->Get<ResultPage>(path.text(), query.wait);
}

Result<std::uint64_t> Tasks::EachResult(std::string_view job, const std::function<bool(const TaskResult&)>& on_result,
                                        std::uint64_t from) {
  std::uint64_t given = 0;
  for (;;) {
    auto page = Results(job, {.from = from, .wait = kResultWait});
    if (!page) return page.error();
    for (const TaskResult& result : page->results) {
      if (!on_result(result)) return given;
      ++given;
    }
    if (!page->next) return given;
    from = *page->next;
  }
}

Result<allotter::Receipt> Tasks::Receipt(std::string_view job, std::uint64_t index) {
  return connection_->Get<allotter::Receipt>(
      connection_->Path(kJobPath, job, "/tasks/" + std::to_string(index) + "/receipt"));
}

Result<ReceiptPage> Tasks::Receipts(std::optional<std::uint64_t> before, std::size_t limit) {
  PathQuery path(connection_->Path("/receipts"));
  if (before) path.Add("before", *before);
  path.Add("limit", std::min<std::uint64_t>(limit, allot::bounds::kMaxPageItems));
  return connection_->Get<ReceiptPage>(path.text());
}

}  // namespace allotter
