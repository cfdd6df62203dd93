// SPDX-License-Identifier: Apache-2.0
#include "server/api/overview_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "match/start_command.h"
#include "server/wire/preview_json.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_query.h"
#include "wire/limits.h"
#include "wire/queues.h"
#include "wire/writer.h"

namespace allot {
namespace {

struct Banner {
  std::string_view level, code;
  std::string message, hint;
  std::optional<JobId> job;
};

std::vector<Banner> Banners(const OverviewFacts& facts) {
  std::vector<Banner> banners;
  if (facts.stall != Stall::kNone) {
    const Error error = ErrorOf(facts.stall);
    banners.push_back(
        {"error", CodeText(error.code), error.message + ", and nothing is handed out", error.hint, std::nullopt});
  }
  const std::uint64_t waiting = facts.stats.tasks_queued + facts.stats.tasks_retrying;
  if (facts.stats.paused) {
    banners.push_back({waiting > 0 ? "warning" : "info", ReasonText(ReasonCode::kQueuePaused),
                       waiting > 0 ? fmt::format("the queue is paused, and {} {}", Counted(waiting, "task"),
                                                 waiting == 1 ? "waits" : "wait")
                                   : "the queue is paused",
                       "allot queue resume", std::nullopt});
  }
  for (const ReasonRow& row : facts.reasons) {
    const std::string jobs = fmt::format("{} ({})", Counted(row.jobs, "job"), Counted(row.tasks, "task"));
    std::string message;
    switch (row.code) {
      case ReasonCode::kNoMatch:
        message = "no worker can run " + jobs;
        break;
      case ReasonCode::kNoWorkers:
        message = "no worker is there for " + jobs;
        break;
      case ReasonCode::kRequirementsNeverTrue:
        message = "no worker that there could be meets the requirements of " + jobs;
        break;
      case ReasonCode::kLimitNever:
        message = "limits let " + jobs + " never start";
        break;
      case ReasonCode::kNotSelected:
        message = "no worker's strategy gives out " + jobs;
        break;
      default:
        continue;
    }
    const std::optional<JobId> job = row.job ? std::optional(row.job) : std::nullopt;
    std::string hint = job ? "allot explain " + ToText(*job) : std::string("allot explain JOB");
    if (row.code == ReasonCode::kNoWorkers && job) {
      hint = StartCommand({row.tags, row.constraints, row.requirements, row.ad.get()});
    }
    if (row.code == ReasonCode::kLimitNever && job && !row.limits.empty()) {
      hint = "allot limit show " + row.limits.front().limit.uuid;
    }
    banners.push_back({"warning", ReasonText(row.code), std::move(message), std::move(hint), job});
  }
  // The gravest first; what cannot start at all before what nobody is there for.
  const auto never = [](const Banner& banner) {
    return banner.code == ReasonText(ReasonCode::kLimitNever) ||
           banner.code == ReasonText(ReasonCode::kRequirementsNeverTrue);
  };
  const auto first =
      std::find_if(banners.begin(), banners.end(), [](const Banner& banner) { return banner.level == "warning"; });
  std::stable_partition(first, banners.end(), never);
  return banners;
}

// What stops them, where limits or ceilings do.
void AppendStops(const ReasonRow& row, wire::Writer<wire::kOverviewReason>& w) {
  if (!row.limits.empty()) {
    w.Each("limits", row.limits, [](const BlockedByLimit& stops, JsonWriter& json) {
      wire::Writer<wire::kBlockedByLimit> one(json);
      one.Text("uuid", stops.limit.uuid);
      one.Text("tag", stops.limit.tag);
      one.Text("name", stops.limit.name);
      one.Count("tasks", stops.tasks);
    });
  }
  if (row.ceilings.empty()) return;
  w.Each("ceilings", row.ceilings, [](const BlockedByCeiling& stops, JsonWriter& json) {
    wire::Writer<wire::kBlockedByCeiling> one(json);
    one.Text("of", stops.own ? "strategy" : "policy");
    one.Text("key", stops.key);
    AppendGroup(stops.value, one.Value("value"));
    one.Count("running", stops.running);
    one.Count("max", stops.max);
    one.Count("tasks", stops.tasks);
  });
}

template <typename Get>
void Column(const std::vector<QueueHistory::Sample>& samples, Get get, JsonWriter& json) {
  json.BeginArray();
  for (const QueueHistory::Sample& sample : samples) json.Int(static_cast<std::int64_t>(get(sample)));
  json.EndArray();
}

}  // namespace

void AppendOverview(const OverviewFacts& facts, std::string_view queue, bool names, std::string& out) {
  const EngineStats& stats = facts.stats;
  JsonWriter json(out);
  wire::Writer<wire::kOverview> w(json);
  w.Raw("queue", queue);
  {
    auto rates = w.Open<wire::kRates>("rates");
    rates.Real("submitted", Thousandths(facts.rates.submitted));
    rates.Real("started", Thousandths(facts.rates.started));
    rates.Real("done", Thousandths(facts.rates.done));
    rates.Real("failed", Thousandths(facts.rates.failed));
  }
  if (stats.oldest_waiting) {
    auto oldest = w.Open<wire::kOldestWaiting>("oldest_waiting");
    if (names) oldest.Id("job", stats.oldest_waiting.value);
    oldest.Time("since_at_ms", stats.oldest_waiting_since);
  } else {
    w.Null("oldest_waiting");
  }
  {
    auto workers = w.Open<wire::kWorkerCounts>("workers");
    workers.Count("registered", stats.workers);
    workers.Count("waiting", stats.workers_waiting);
    workers.Count("away", stats.workers_away);
    workers.Count("draining", stats.workers_draining);
    workers.Count("slots", stats.slots);
    workers.Count("busy", stats.tasks_running);
  }
  w.Value("reasons").BeginArray();
  for (std::size_t i = 0; i < std::min(facts.reasons.size(), kMaxReasons); ++i) {
    const ReasonRow& row = facts.reasons[i];
    wire::Writer<wire::kOverviewReason> reason(json);
    reason.Text("code", ReasonText(row.code));
    reason.Text("kind", UsualAdvice(row.code));
    reason.Count("tasks", row.tasks);
    reason.Count("jobs", row.jobs);
    reason.Count("classes", row.classes);
    reason.Time("since_at_ms", row.since);
    if (names) {
      reason.IdOrNull("job", row.job.value);
      reason.Texts("tags", row.tags);
      AppendStops(row, reason);
    }
  }
  json.EndArray();
  w.Value("banners").BeginArray();
  for (const Banner& banner : Banners(facts)) {
    wire::Writer<wire::kBanner> one(json);
    one.Text("level", banner.level);
    one.Text("code", banner.code);
    one.Text("message", banner.message);
    one.Text("hint", banner.job && !names ? "allot explain JOB" : banner.hint);
    if (banner.job && names) one.Id("job", banner.job->value);
  }
  json.EndArray();
}

Result<HistoryStep> ParseHistoryQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"step"};
  static_assert(wire::SameNames(wire::kHistoryQuery, kKnown));
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  const std::optional<std::string_view> step = query->Get("step");
  if (!step || *step == "second") return HistoryStep::kSecond;
  if (*step == "minute") return HistoryStep::kMinute;
  return Error{Code::kBadValue, "`step` must be second or minute", ""};
}

void AppendHistory(const QueueHistory::Series& series, std::string& out) {
  using Sample = QueueHistory::Sample;
  JsonWriter json(out);
  wire::Writer<wire::kHistory> w(json);
  w.Int("step_ms", series.step.count());
  w.Int("from_at_ms", ToMillis(series.from));
  Column(
      series.samples, [](const Sample& s) { return s.submitted; }, w.Value("submitted"));
  Column(
      series.samples, [](const Sample& s) { return s.started; }, w.Value("started"));
  Column(
      series.samples, [](const Sample& s) { return s.done; }, w.Value("done"));
  Column(
      series.samples, [](const Sample& s) { return s.failed; }, w.Value("failed"));
  Column(
      series.samples, [](const Sample& s) { return s.queued; }, w.Value("queued"));
  Column(
      series.samples, [](const Sample& s) { return s.retrying; }, w.Value("retrying"));
  Column(
      series.samples, [](const Sample& s) { return s.running; }, w.Value("running"));
  Column(
      series.samples, [](const Sample& s) { return s.oldest_ms; }, w.Value("oldest_ms"));
}

void AppendLimitHistory(const QueueHistory::LimitSeries& series, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kLimitHistory> w(json);
  w.Int("step_ms", QueueHistory::kLimitStep.count());
  w.Int("from_at_ms", ToMillis(series.from));
  w.Value("tokens").BeginArray();
  for (const QueueHistory::LimitSample& sample : series.samples) json.Real(static_cast<double>(sample.tokens));
  json.EndArray();
  w.Value("waiting").BeginArray();
  for (const QueueHistory::LimitSample& sample : series.samples) json.Uint(sample.waiting);
  json.EndArray();
}

}  // namespace allot
