#include "server/wire/job_views_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "engine/looks/view_bounds.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

constexpr std::uint64_t kMaxErrors = 10'000;

using Part = TaskPicture::Part;

void Column(std::string_view key, const std::vector<Part>& parts, std::uint32_t Part::*count, JsonWriter& w) {
  w.Key(key).BeginArray();
  for (const Part& part : parts) w.Uint(part.*count);
  w.EndArray();
}

}  // namespace

Result<PictureQuery> ParsePictureQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"parts", "from", "to"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  PictureQuery out;
  const auto parts = query->Number("parts", 1, kMaxPictureParts);
  if (!parts.ok()) return parts.error();
  if (*parts) out.parts = static_cast<std::size_t>(**parts);
  const auto from = query->Number("from", 0, bounds::kMaxTasksPerJob);
  if (!from.ok()) return from.error();
  out.from = static_cast<TaskIndex>(from->value_or(0));
  const auto to = query->Number("to", 1, bounds::kMaxTasksPerJob);
  if (!to.ok()) return to.error();
  out.to = static_cast<TaskIndex>(to->value_or(0));
  if (*to && out.to <= out.from) return Error{Code::kBadValue, "`to` must be above `from`", ""};
  return out;
}

void AppendPicture(JobId job, const TaskPicture& picture, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("job").Id(job.value).Key("count").Uint(picture.count);
  w.Key("from").Uint(picture.from).Key("to").Uint(picture.to).Key("width").Uint(picture.width);
  Column("ready", picture.parts, &Part::ready, w);
  Column("leased", picture.parts, &Part::leased, w);
  Column("waiting", picture.parts, &Part::waiting, w);
  Column("done", picture.parts, &Part::done, w);
  Column("failed", picture.parts, &Part::failed, w);
  Column("skipped", picture.parts, &Part::skipped, w);
  w.EndObject();
}

Result<ErrorsQuery> ParseErrorsQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"from", "limit"};
  const Result<Query> query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  ErrorsQuery out;
  const auto from = query->Number("from", 0, bounds::kMaxTasksPerJob);
  if (!from.ok()) return from.error();
  out.from = static_cast<TaskIndex>(from->value_or(0));
  const auto limit = query->Number("limit", 1, kMaxErrors);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendErrorGroups(JobId job, const ErrorGroups& groups, std::optional<TaskIndex> next, std::string& out) {
  JsonWriter w(out);
  w.BeginObject();
  w.Key("job").Id(job.value);
  w.Key("groups").BeginArray();
  for (const ErrorGroup& group : groups.Largest(kMaxErrorGroups)) {
    w.BeginObject().Key("text").String(group.text).Key("example").String(group.example);
    w.Key("tasks").Uint(group.tasks).Key("first").Uint(group.first).Key("last").Uint(group.last).EndObject();
  }
  w.EndArray();
  w.Key("examined").Uint(groups.examined());
  w.Key("next");
  next ? w.Uint(*next) : w.Null();
  w.EndObject();
}

}  // namespace allot
