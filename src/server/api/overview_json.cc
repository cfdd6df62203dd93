#include "server/api/overview_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/text.h"
#include "match/start_command.h"
#include "server/wire/preview_json.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

struct Banner {
  std::string_view level, code;
  std::string message, hint;
  std::optional<JobId> job;
};

std::vector<Banner> Banners(const OverviewFacts& facts) {
  std::vector<Banner> banners;
  if (facts.disk_full) {
    banners.push_back({"error", "disk_full", "the disk is full: nothing new is taken, and nothing is handed out",
                       "free some space; the server recovers by itself", std::nullopt});
  }
  const std::uint64_t held = facts.stats.tasks_ready + facts.stats.tasks_waiting;
  if (facts.stats.paused) {
    banners.push_back(
        {held > 0 ? "warning" : "info", ReasonText(ReasonCode::kQueuePaused),
         held > 0 ? fmt::format("the queue is paused, and {} {}", Counted(held, "task"), held == 1 ? "waits" : "wait")
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
void AppendStops(const ReasonRow& row, JsonWriter& w) {
  if (!row.limits.empty()) {
    w.Key("limits").BeginArray();
    for (const BlockedByLimit& held : row.limits) {
      w.BeginObject().Key("uuid").String(held.limit.uuid).Key("tag").String(held.limit.tag);
      w.Key("name").String(held.limit.name).Key("tasks").Uint(held.tasks).EndObject();
    }
    w.EndArray();
  }
  if (row.ceilings.empty()) return;
  w.Key("ceilings").BeginArray();
  for (const BlockedByCeiling& held : row.ceilings) {
    w.BeginObject().Key("of").String(held.own ? "strategy" : "policy").Key("key").String(held.key);
    AppendGroup(held.value, w.Key("value"));
    w.Key("running").Uint(held.running).Key("max").Uint(held.max).Key("tasks").Uint(held.tasks).EndObject();
  }
  w.EndArray();
}

template <typename Get>
void Column(std::string_view key, const std::vector<QueueHistory::Sample>& samples, Get get, JsonWriter& w) {
  w.Key(key).BeginArray();
  for (const QueueHistory::Sample& sample : samples) w.Int(static_cast<std::int64_t>(get(sample)));
  w.EndArray();
}

}  // namespace

void AppendOverview(const OverviewFacts& facts, std::string_view queue, bool names, std::string& out) {
  const EngineStats& stats = facts.stats;
  JsonWriter w(out);
  w.BeginObject();
  w.Key("queue").Raw(queue);
  w.Key("rates").BeginObject();
  w.Key("submitted").Real(Thousandths(facts.rates.submitted)).Key("started").Real(Thousandths(facts.rates.started));
  w.Key("done").Real(Thousandths(facts.rates.done)).Key("failed").Real(Thousandths(facts.rates.failed));
  w.EndObject();
  w.Key("oldest_waiting");
  if (stats.oldest_waiting) {
    w.BeginObject();
    if (names) w.Key("job").Id(stats.oldest_waiting.value);
    w.Key("since_at_ms").Int(ToMillis(stats.oldest_waiting_since)).EndObject();
  } else {
    w.Null();
  }
  w.Key("workers").BeginObject();
  w.Key("registered").Uint(stats.workers).Key("waiting").Uint(stats.workers_waiting);
  w.Key("away").Uint(stats.workers_away).Key("draining").Uint(stats.workers_draining);
  w.Key("slots").Uint(stats.slots).Key("busy").Uint(stats.tasks_leased);
  w.EndObject();
  w.Key("reasons").BeginArray();
  for (std::size_t i = 0; i < std::min(facts.reasons.size(), kMaxReasons); ++i) {
    const ReasonRow& row = facts.reasons[i];
    w.BeginObject();
    w.Key("code").String(ReasonText(row.code)).Key("kind").String(UsualAdvice(row.code));
    w.Key("tasks").Uint(row.tasks).Key("jobs").Uint(row.jobs).Key("classes").Uint(row.classes);
    w.Key("since_at_ms");
    row.since ? w.Int(ToMillis(*row.since)) : w.Null();
    if (names) {
      w.Key("job");
      row.job ? w.Id(row.job.value) : w.Null();
      w.Key("tags").BeginArray();
      for (const std::string& tag : row.tags) w.String(tag);
      w.EndArray();
      AppendStops(row, w);
    }
    w.EndObject();
  }
  w.EndArray();
  w.Key("banners").BeginArray();
  for (const Banner& banner : Banners(facts)) {
    w.BeginObject().Key("level").String(banner.level).Key("code").String(banner.code);
    w.Key("message").String(banner.message);
    w.Key("hint").String(banner.job && !names ? "allot explain JOB" : banner.hint);
    if (banner.job && names) w.Key("job").Id(banner.job->value);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
}

Result<HistoryStep> ParseHistoryQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"step"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  const std::optional<std::string_view> step = query->Get("step");
  if (!step || *step == "second") return HistoryStep::kSecond;
  if (*step == "minute") return HistoryStep::kMinute;
  return Error{Code::kBadValue, "`step` must be second or minute", ""};
}

void AppendHistory(const QueueHistory::Series& series, std::string& out) {
  using Sample = QueueHistory::Sample;
  JsonWriter w(out);
  w.BeginObject();
  w.Key("step_ms").Int(series.step.count()).Key("from_at_ms").Int(ToMillis(series.from));
  Column(
      "submitted", series.samples, [](const Sample& s) { return s.submitted; }, w);
  Column(
      "started", series.samples, [](const Sample& s) { return s.started; }, w);
  Column(
      "done", series.samples, [](const Sample& s) { return s.done; }, w);
  Column(
      "failed", series.samples, [](const Sample& s) { return s.failed; }, w);
  Column(
      "ready", series.samples, [](const Sample& s) { return s.ready; }, w);
  Column(
      "waiting", series.samples, [](const Sample& s) { return s.waiting; }, w);
  Column(
      "leased", series.samples, [](const Sample& s) { return s.leased; }, w);
  Column(
      "oldest_ms", series.samples, [](const Sample& s) { return s.oldest_ms; }, w);
  w.EndObject();
}

void AppendLimitHistory(const QueueHistory::LimitSeries& series, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("step_ms").Int(QueueHistory::kLimitStep.count()).Key("from_at_ms").Int(ToMillis(series.from));
  w.Key("tokens").BeginArray();
  for (const QueueHistory::LimitSample& sample : series.samples) w.Real(static_cast<double>(sample.tokens));
  w.EndArray();
  w.Key("waiting").BeginArray();
  for (const QueueHistory::LimitSample& sample : series.samples) w.Uint(sample.waiting);
  w.EndArray();
  w.EndObject();
}

}  // namespace allot
