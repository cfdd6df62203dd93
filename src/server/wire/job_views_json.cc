// SPDX-License-Identifier: Apache-2.0
#include "server/wire/job_views_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "base/try.h"
#include "engine/looks/view_bounds.h"
#include "server/wire/request_query.h"
#include "wire/jobs.h"
#include "wire/writer.h"

namespace allot {
namespace {

constexpr std::uint64_t kMaxErrors = 10'000;

using Part = TaskPicture::Part;

void Column(const std::vector<Part>& parts, std::uint32_t Part::*count, JsonWriter& json) {
  json.BeginArray();
  for (const Part& part : parts) json.Uint(part.*count);
  json.EndArray();
}

}  // namespace

Result<PictureQuery> ParsePictureQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"parts", "from", "to"};
  static_assert(wire::SameNames(wire::kPictureQuery, kKnown));
  TRY(const Query query, Query::Parse(text, kKnown));
  PictureQuery out;
  const auto parts = query.Number("parts", 1, kMaxPictureParts);
  if (!parts.ok()) return parts.error();
  if (*parts) out.parts = static_cast<std::size_t>(**parts);
  const auto from = query.Number("from", 0, bounds::kMaxTasksPerJob);
  if (!from.ok()) return from.error();
  out.from = static_cast<TaskIndex>(from->value_or(0));
  const auto to = query.Number("to", 1, bounds::kMaxTasksPerJob);
  if (!to.ok()) return to.error();
  out.to = static_cast<TaskIndex>(to->value_or(0));
  if (*to && out.to <= out.from) return Error{Code::kBadValue, "`to` must be above `from`", ""};
  return out;
}

void AppendPicture(JobId job, const TaskPicture& picture, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kPicture> w(json);
  w.Id("job", job.value);
  w.Count("count", picture.count);
  w.Count("from", picture.from);
  w.Count("to", picture.to);
  w.Count("width", picture.width);
  Column(picture.parts, &Part::queued, w.Value("queued"));
  Column(picture.parts, &Part::running, w.Value("running"));
  Column(picture.parts, &Part::retrying, w.Value("retrying"));
  Column(picture.parts, &Part::done, w.Value("done"));
  Column(picture.parts, &Part::failed, w.Value("failed"));
  Column(picture.parts, &Part::skipped, w.Value("skipped"));
}

Result<ErrorsQuery> ParseErrorsQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"from", "limit"};
  static_assert(wire::SameNames(wire::kErrorsQuery, kKnown));
  TRY(const Query query, Query::Parse(text, kKnown));
  ErrorsQuery out;
  const auto from = query.Number("from", 0, bounds::kMaxTasksPerJob);
  if (!from.ok()) return from.error();
  out.from = static_cast<TaskIndex>(from->value_or(0));
  const auto limit = query.Number("limit", 1, kMaxErrors);
  if (!limit.ok()) return limit.error();
  if (*limit) out.limit = static_cast<std::size_t>(**limit);
  return out;
}

void AppendErrorGroups(JobId job, const ErrorGroups& groups, std::optional<TaskIndex> next, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kErrorsPage> w(json);
  w.Id("job", job.value);
  w.Value("groups").BeginArray();
  for (const ErrorGroup& group : groups.Largest(kMaxErrorGroups)) {
    wire::Writer<wire::kErrorGroup> one(json);
    one.Text("text", group.text);
    one.Text("example", group.example);
    one.Count("tasks", group.tasks);
    one.Count("first", group.first);
    one.Count("last", group.last);
  }
  json.EndArray();
  w.Count("examined", groups.examined());
  w.Count("next", next);
}

}  // namespace allot
