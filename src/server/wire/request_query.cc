// SPDX-License-Identifier: Apache-2.0
#include "server/wire/request_query.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "server/wire/percent.h"
#include "server/wire/request_json.h"
#include "wire/jobs.h"
#include "wire/queues.h"
#include "wire/workers.h"

namespace allot {
namespace {

// A name from outside, short and harmless.
std::string ShortName(std::string_view name) {
  const std::string shown = JsonString(name.substr(0, 64));
  return shown.substr(1, shown.size() - 2);
}

Result<std::size_t> Limit(const Query& query) {
  TRY(const auto limit, query.Number("limit", 1, bounds::kMaxPageItems));
  return static_cast<std::size_t>(limit.value_or(kDefaultPageItems));
}

Result<TaskIndex> From(const Query& query) {
  TRY(const auto from, query.Number("from", 0, bounds::kMaxTasksPerJob));
  return static_cast<TaskIndex>(from.value_or(0));
}

Result<milliseconds> Wait(const Query& query) {
  TRY(const auto wait, query.Number("wait_ms", 0, static_cast<std::uint64_t>(ToMillis(bounds::kMaxWait))));
  return milliseconds(wait.value_or(0));
}

Result<std::optional<std::uint64_t>> Id(const Query& query, std::string_view name) {
  const auto text = query.Get(name);
  if (!text) return std::optional<std::uint64_t>();
  const auto id = ParseId(*text);
  if (!id) return BadValue(name, "must be an id, in decimal digits");
  return id;
}

constexpr std::string_view kJobStates = "must be scheduled, active, paused, done, failed or cancelled";
constexpr std::string_view kTaskStates = "must be queued, running, retrying, done, failed or skipped";
// What servers called the states at first, and what they are called now.
constexpr std::pair<std::string_view, std::string_view> kFormerTaskStates[] = {
    {"ready", "queued"}, {"leased", "running"}, {"waiting", "retrying"}};

Error NoTaskState(std::string_view word) {
  Error error = BadValue("state", kTaskStates);
  for (const auto& [former, now] : kFormerTaskStates)
    if (word == former) error.hint = fmt::format("`{}` is called `{}` now", former, now);
  return error;
}

}  // namespace

Result<std::vector<std::string>> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  if (path.empty() || path[0] != '/') return Error{Code::kBadRequest, "a path begins with `/`", ""};
  path.remove_prefix(1);
  while (true) {
    const std::size_t slash = path.find('/');
    auto part = PercentDecode(path.substr(0, slash), false);
    if (!part) return Error{Code::kBadRequest, "the path is not percent-encoded UTF-8", ""};
    parts.push_back(std::move(*part));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

Result<Query> Query::Parse(std::string_view text, std::span<const std::string_view> known) {
  Query query;
  std::vector<std::string> seen;
  while (!text.empty()) {
    const std::size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto name = PercentDecode(pair.substr(0, equals), true);
    auto value = PercentDecode(equals == std::string_view::npos ? "" : pair.substr(equals + 1), true);
    if (!name || !value) return Error{Code::kBadRequest, "the query is not percent-encoded UTF-8", ""};
    if (std::find(known.begin(), known.end(), *name) == known.end()) {
      const std::string_view nearest = Nearest(*name, known);
      std::string hint;
      if (!nearest.empty()) {
        hint = fmt::format("did you mean `{}`?", nearest);
      } else {
        hint = known.empty() ? "it has none" : fmt::format("it has {}", fmt::join(known, ", "));
      }
      return Error{Code::kUnknownField, fmt::format("`{}` is not a parameter of this request", ShortName(*name)), hint};
    }
    if (std::find(seen.begin(), seen.end(), *name) != seen.end()) return BadValue(*name, "is there twice");
    seen.push_back(*name);
    if (!value->empty()) query.values_.emplace_back(std::move(*name), std::move(*value));
  }
  return query;
}

std::optional<std::string_view> Query::Get(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  return std::nullopt;
}

Result<std::optional<std::uint64_t>> Query::Number(std::string_view name, std::uint64_t min, std::uint64_t max) const {
  const auto text = Get(name);
  if (!text) return std::optional<std::uint64_t>();
  std::uint64_t value = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || rest != end || value < min || value > max) {
    return BadValue(name, fmt::format("must be an integer from {} to {}", FormatCount(min), FormatCount(max)));
  }
  return std::optional<std::uint64_t>(value);
}

Result<bool> Query::Flag(std::string_view name) const {
  const auto text = Get(name);
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  return BadValue(name, "must be true or false");
}

Result<JobQuery> ParseJobQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"state", "tag", "user", "before", "limit"};
  static_assert(wire::SameNames(wire::kJobsQuery, kKnown));
  const auto query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  JobQuery out;
  TRY(out.limit, Limit(*query));
  const auto before = Id(*query, "before");
  if (!before.ok()) return before.error();
  if (*before) out.before = JobId{**before};
  if (const auto state = query->Get("state")) {
    out.state = ParseJobState(*state);
    if (!out.state) return BadValue("state", kJobStates);
  }
  if (const auto tag = query->Get("tag")) {
    TRY_OK(CheckTag("tag", *tag));
    out.tag = *tag;
  }
  if (const auto user = query->Get("user")) {
    TRY_OK(CheckPlainText("user", *user, bounds::kMaxUserBytes));
    out.user = *user;
  }
  return out;
}

Result<TaskQuery> ParseTaskQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"state", "from", "limit"};
  static_assert(wire::SameNames(wire::kTasksQuery, kKnown));
  const auto query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  TaskQuery out;
  TRY(out.limit, Limit(*query));
  TRY(out.from, From(*query));
  if (const auto state = query->Get("state")) {
    out.state = ParseTaskState(*state);
    if (!out.state) return NoTaskState(*state);
  }
  return out;
}

Result<ResultsQuery> ParseResultsQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"from", "limit", "wait_ms"};
  static_assert(wire::SameNames(wire::kResultsQuery, kKnown));
  const auto query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  TRY(const auto from, From(*query));
  TRY(const auto limit, Limit(*query));
  TRY(const auto wait, Wait(*query));
  return ResultsQuery{from, limit, wait};
}

Result<WorkersQuery> ParseWorkersQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"after", "limit"};
  static_assert(wire::SameNames(wire::kWorkersQuery, kKnown));
  const auto query = Query::Parse(text, kKnown);
  if (!query.ok()) return query.error();
  WorkersQuery out;
  TRY(out.limit, Limit(*query));
  const auto after = Id(*query, "after");
  if (!after.ok()) return after.error();
  if (*after) out.after = WorkerId{**after};
  return out;
}

Result<ShowQuery> ParseShowQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"wait_ms", "payload"};
  static_assert(wire::SameNames(wire::kShowQuery, kKnown));
  TRY(const auto query, Query::Parse(text, kKnown));
  ShowQuery show;
  TRY(show.wait, Wait(query));
  TRY(show.payload, query.Flag("payload"));
  return show;
}

Result<bool> ParseForceQuery(std::string_view text) {
  constexpr std::string_view kKnown[] = {"force"};
  static_assert(wire::SameNames(wire::kForceQuery, kKnown));
  TRY(const auto query, Query::Parse(text, kKnown));
  return query.Flag("force");
}

Result<void> ParseNoQuery(std::string_view text) {
  const auto query = Query::Parse(text, {});
  if (!query.ok()) return query.error();
  return {};
}

}  // namespace allot
