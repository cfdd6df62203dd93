#include "server/wire/demand_json.h"

#include <algorithm>

#include "base/bounds.h"
#include "base/json.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

void AppendOldest(std::optional<WallTime> oldest, WallTime now, JsonWriter& w) {
  w.Key("oldest_at_ms");
  oldest ? w.Int(ToMillis(*oldest)) : w.Null();
  w.Key("oldest_age_ms");
  oldest ? w.Int(std::max<std::int64_t>(0, (now - *oldest).count())) : w.Null();
}

void AppendRow(const DemandRow& row, WallTime now, JsonWriter& w) {
  w.BeginObject();
  w.Key("user").String(row.user);
  w.Key("tags").BeginArray();
  for (const std::string& tag : row.tags) w.String(tag);
  w.EndArray();
  w.Key("constraints").BeginArray();
  for (const Properties& alternative : row.constraints) {
    w.BeginObject();
    for (const auto& [key, value] : alternative) w.OpenKey(key).String(value);
    w.EndObject();
  }
  w.EndArray();
  w.Key("constraint_tags").BeginArray();
  for (const std::string& tag : row.constraint_tags) w.String(tag);
  w.EndArray();
  w.Key("requirements");
  row.requirements.empty() ? w.Null() : w.String(row.requirements);
  w.Key("jobs").Uint(row.jobs).Key("waiting").Uint(row.waiting);
  w.Key("startable").Uint(row.startable).Key("running").Uint(row.running);
  AppendOldest(row.oldest, now, w);
  w.Key("limits").BeginArray();
  for (const LimitName& limit : row.limits) {
    w.BeginObject().Key("uuid").String(limit.uuid);
    w.Key("tag").String(limit.tag).Key("name").String(limit.name).EndObject();
  }
  w.EndArray();
  w.EndObject();
}

}  // namespace

Result<DemandQuery> ParseDemandQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"user", "tag", "limit"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  DemandQuery out;
  if (const auto user = query->Get("user")) {
    if (const auto check = CheckPlainText("user", *user, bounds::kMaxUserBytes); !check.ok()) return check.error();
    out.request.user = std::string(*user);
  }
  if (const auto tag = query->Get("tag")) {
    if (const auto check = CheckTag("tag", *tag); !check.ok()) return check.error();
    out.request.tag = std::string(*tag);
  }
  const auto limit = query->Number("limit", 1, bounds::kMaxDemandRows);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendDemand(const DemandWalk& walk, std::size_t limit, WallTime now, Duration took, std::string& out) {
  std::uint64_t jobs = 0, waiting = 0, startable = 0;
  std::optional<WallTime> oldest;
  for (const DemandRow& row : walk.rows()) {
    jobs += row.jobs;
    waiting += row.waiting;
    startable += row.startable;
    if (!oldest || row.oldest < *oldest) oldest = row.oldest;
  }
  const std::size_t shown = std::min(limit, walk.rows().size());
  JsonWriter w(out);
  w.BeginObject();
  w.Key("totals").BeginObject();
  w.Key("waiting").Uint(waiting).Key("startable").Uint(startable).Key("running").Uint(walk.running());
  w.Key("wanted").Uint(startable + walk.running());
  w.Key("jobs").Uint(jobs).Key("rows").Uint(walk.rows().size());
  AppendOldest(oldest, now, w);
  w.EndObject();
  w.Key("paused").Bool(walk.paused()).Key("complete").Bool(walk.complete());
  w.Key("lookahead_ms").Int(ToMillis(walk.request().lookahead));
  w.Key("rows").BeginArray();
  for (std::size_t i = 0; i < shown; ++i) AppendRow(walk.rows()[i], now, w);
  w.EndArray();
  w.Key("took_ms").Int(ToMillis(took));
  w.EndObject();
}

}  // namespace allot
