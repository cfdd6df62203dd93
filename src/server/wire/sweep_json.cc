// SPDX-License-Identifier: Apache-2.0
#include "server/wire/sweep_json.h"

#include "base/bounds.h"
#include "base/json.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "wire/jobs.h"
#include "wire/writer.h"

namespace allot {
namespace {

using Value = JsonReader::Value;

constexpr std::string_view kSweepNames[] = {"state", "tag", "user", "up_to", "dry_run", "all"};
constexpr FieldSet kSweepFields{"a change of many jobs", kSweepNames};
static_assert(wire::SameNames(wire::kJobsFilter, kSweepFields.names));

bool ReadState(JsonReader& reader, Value& value, std::optional<JobState>& out) {
  std::string_view text;
  if (!reader.Text(value, text)) return false;
  out = ParseJobState(text);
  return out || reader.Bad("must be scheduled, active, paused, done, failed or cancelled");
}

}  // namespace

Result<ManyJobs> ParseManyJobs(std::string_view json) {
  JsonReader& reader = ThreadReader();
  ManyJobs many;
  bool all = false;
  const auto on_field = [&](std::size_t field, Value value) {
    switch (field) {
      case 0:
        return ReadState(reader, value, many.request.state);
      case 1: {
        std::string_view tag;
        if (!reader.Text(value, tag) || !reader.Take(CheckTag("tag", tag))) return false;
        many.request.tag = tag;
        return true;
      }
      case 2:
        return ReadPlainText(reader, value, bounds::kMaxUserBytes, many.request.user);
      case 3:
        return ReadId(reader, value, "a job's id", many.request.up_to.emplace().value);
      case 4:
        return reader.Bool(value, many.dry_run);
      default:
        return reader.Bool(value, all);
    }
  };
  if (!reader.Begin(json) || !reader.Root(kSweepFields, on_field)) return reader.error();
  if (!all && !many.request.state && many.request.tag.empty() && many.request.user.empty()) {
    return Error{Code::kBadValue, "nothing says which jobs",
                 "give `state`, `tag` or `user`, or `\"all\": true` for every job"};
  }
  return many;
}

void AppendSweep(const JobSweep& sweep, bool dry_run, Duration took, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kBulkAnswer> w(json);
  w.Count("matching", sweep.matching());
  w.Count("tasks", sweep.tasks());
  w.Count("changed", sweep.changed());
  w.Id("up_to", sweep.up_to().value);
  w.Bool("complete", sweep.complete());
  w.Bool("dry_run", dry_run);
  w.Int("took_ms", ToMillis(took));
}

}  // namespace allot
