// SPDX-License-Identifier: Apache-2.0
#include "server/wire/demand_json.h"

#include <algorithm>

#include "base/bounds.h"
#include "base/json.h"
#include "base/try.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "wire/limits.h"
#include "wire/writer.h"

namespace allot {
namespace {

template <const wire::Object& kObject>
void AppendOldest(std::optional<WallTime> oldest, WallTime now, wire::Writer<kObject>& w) {
  w.Time("oldest_at_ms", oldest);
  std::optional<std::int64_t> age;
  if (oldest) age = std::max<std::int64_t>(0, (now - *oldest).count());
  w.Int("oldest_age_ms", age);
}

void AppendRow(const DemandRow& row, WallTime now, JsonWriter& json) {
  wire::Writer<wire::kDemandRow> w(json);
  w.Text("user", row.user);
  w.Texts("tags", row.tags);
  w.Value("constraints").BeginArray();
  for (const Properties& alternative : row.constraints) {
    json.BeginObject();
    for (const auto& [key, value] : alternative) json.OpenKey(key).String(value);
    json.EndObject();
  }
  json.EndArray();
  w.Texts("constraint_tags", row.constraint_tags);
  w.TextOrNull("requirements", row.requirements);
  w.Count("jobs", row.jobs);
  w.Count("queued", row.queued);
  w.Count("startable", row.startable);
  w.Count("running", row.running);
  AppendOldest(row.oldest, now, w);
  w.Value("limits").BeginArray();
  for (const LimitName& limit : row.limits) {
    wire::Writer<wire::kLimitName> one(json);
    one.Text("uuid", limit.uuid);
    one.Text("tag", limit.tag);
    one.Text("name", limit.name);
  }
  json.EndArray();
}

}  // namespace

Result<DemandQuery> ParseDemandQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"user", "tag", "limit"};
  static_assert(wire::SameNames(wire::kDemandQuery, kKnown));
  TRY(const Query query, Query::Parse(text, kKnown));
  DemandQuery out;
  if (const auto user = query.Get("user")) {
    TRY_OK(CheckPlainText("user", *user, bounds::kMaxUserBytes));
    out.request.user = std::string(*user);
  }
  if (const auto tag = query.Get("tag")) {
    TRY_OK(CheckTag("tag", *tag));
    out.request.tag = std::string(*tag);
  }
  const auto limit = query.Number("limit", 1, bounds::kMaxDemandRows);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendDemand(const DemandWalk& walk, std::size_t limit, WallTime now, Duration took, std::string& out) {
  std::uint64_t jobs = 0, queued = 0, startable = 0;
  std::optional<WallTime> oldest;
  for (const DemandRow& row : walk.rows()) {
    jobs += row.jobs;
    queued += row.queued;
    startable += row.startable;
    if (!oldest || row.oldest < *oldest) oldest = row.oldest;
  }
  const std::size_t shown = std::min(limit, walk.rows().size());
  JsonWriter json(out);
  wire::Writer<wire::kDemand> w(json);
  {
    auto totals = w.Open<wire::kDemandTotals>("totals");
    totals.Count("queued", queued);
    totals.Count("startable", startable);
    totals.Count("running", walk.running());
    totals.Count("wanted", startable + walk.running());
    totals.Count("jobs", jobs);
    totals.Count("rows", walk.rows().size());
    AppendOldest(oldest, now, totals);
  }
  w.Bool("paused", walk.paused());
  w.Bool("complete", walk.complete());
  w.Int("lookahead_ms", ToMillis(walk.request().lookahead));
  w.Value("rows").BeginArray();
  for (std::size_t i = 0; i < shown; ++i) AppendRow(walk.rows()[i], now, json);
  json.EndArray();
  w.Int("took_ms", ToMillis(took));
}

}  // namespace allot
