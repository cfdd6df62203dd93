// SPDX-License-Identifier: Apache-2.0
// The job's half of request_json.h.
#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <iterator>

#include <fmt/format.h>

#include "base/text.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "server/wire/request_json.h"
#include "wire/jobs.h"

namespace allot {
namespace {

using Value = JsonReader::Value;

enum SpecField : std::size_t {
  kTags,
  kTag,
  kCount,
  kPayload,
  kPayloads,
  kPriority,
  kUser,
  kAsync,
  kDelay,
  kScheduledAt,
  kMeta,
  kConstraints,
  kRequirements,
  kRank,
  kMaxAttempts,
  kBackoff,
  kLease,
  kTimeout,
  kMaxFailedTasks,
  kRetention,
  kFirstDetail,  // here those of base/job_details.h begin
};
// In the order of SpecField.
constexpr std::string_view kOwnNames[] = {
    "tags",         "tag",      "count",           "payload",    "payloads",         "priority",     "user",
    "async",        "delay_ms", "scheduled_at_ms", "meta",       "constraints",      "requirements", "rank",
    "max_attempts", "backoff",  "lease_ms",        "timeout_ms", "max_failed_tasks", "retention_ms",
};
static_assert(std::size(kOwnNames) == kFirstDetail);
constexpr auto kSpecNames = [] {
  std::array<std::string_view, kFirstDetail + kJobDetailCount> names;
  auto to = std::copy(std::begin(kOwnNames), std::end(kOwnNames), names.begin());
  ForEach(kJobDetails, [&](const auto& detail) { *to++ = detail.name; });
  return names;
}();
static_assert(kSpecNames.size() <= 32);
constexpr FieldSet kSpecFields{"a job", kSpecNames};
static_assert(wire::SameNames(wire::kJobSpec, kSpecFields.names));

constexpr std::string_view kBackoffNames[] = {"first_ms", "factor", "max_ms", "jitter"};
constexpr FieldSet kBackoffFields{"backoff", kBackoffNames};
static_assert(wire::SameNames(wire::kBackoffSpec, kBackoffFields.names));

constexpr std::string_view kChangeNames[] = {"priority", "tags",        "tag",          "delay_ms", "scheduled_at_ms",
                                             "meta",     "constraints", "requirements", "rank"};
constexpr FieldSet kChangeFields{"a change of a job", kChangeNames};
static_assert(wire::SameNames(wire::kJobChange, kChangeFields.names));

constexpr std::string_view kBatchNames[] = {"jobs"};
constexpr FieldSet kBatchFields{"a batch", kBatchNames};
static_assert(wire::SameNames(wire::kBatch, kBatchFields.names));

bool ReadPriority(JsonReader& reader, Value& value, std::optional<std::int64_t>& out) {
  if (reader.IsNull(value)) {
    out.reset();
    return true;
  }
  std::int64_t number = 0;
  if (!reader.Int(value, INT64_MIN, INT64_MAX, number)) return false;
  out = number;
  return true;
}

bool ReadScheduledAt(JsonReader& reader, Value& value, WallTime now, std::optional<WallTime>& out) {
  std::int64_t ms = 0;
  // A time that is past means now; one too far ahead is surely a mistake of units.
  if (!reader.Int(value, 0, ToMillis(now) + ToMillis(bounds::kMaxDelay), ms)) return false;
  out = FromMillis(ms);
  return true;
}

bool ReadBackoff(JsonReader& reader, Value& value, Backoff& out) {
  return reader.Object(value, kBackoffFields, [&](std::size_t field, Value inner) {
    switch (field) {
      case 0:
        return ReadMillis(reader, inner, Duration(0), bounds::kMaxBackoff, out.first);
      case 1:
        return reader.Real(inner, 1, 100, out.factor);
      case 2:
        return ReadMillis(reader, inner, Duration(0), bounds::kMaxBackoff, out.max);
      default:
        return reader.Real(inner, 0, 1, out.jitter);
    }
  });
}

// A number, or a percentage as `"5%"`.
bool ReadAllowance(JsonReader& reader, Value& value, Allowance& out) {
  if (!reader.IsString(value))
    return reader.IntTo(value, 0, static_cast<std::int64_t>(bounds::kMaxTasksPerJob), out.number);
  std::string_view text;
  if (!reader.Text(value, text)) return false;
  double percent = -1;
  if (text.size() > 1 && text.size() <= 16 && text.back() == '%') {
    text.remove_suffix(1);
    const bool plain = text.find_first_not_of("0123456789.") == std::string_view::npos;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    if (!plain || error != std::errc() || end != text.data() + text.size()) percent = -1;
  }
  if (!(percent >= 0 && percent <= 100))
    return reader.Bad("must be an integer, or a percentage from \"0%\" to \"100%\"");
  out.percent = percent;
  return true;
}

bool ReadPayload(JsonReader& reader, Value& value, std::string_view& out) {
  if (!reader.Raw(value, out)) return false;
  if (out.size() > bounds::kMaxPayloadBytes) {
    return reader.Fail(Code::kTooLarge, fmt::format("`{}` has {} bytes; a payload may have {}", reader.Path(),
                                                    FormatCount(out.size()), FormatCount(bounds::kMaxPayloadBytes)));
  }
  return true;
}

template <typename T>
bool ReadDetail(JsonReader& reader, Value& value, std::int64_t most, T& out) {
  if constexpr (std::same_as<T, std::string>) {
    return ReadPlainText(reader, value, static_cast<std::size_t>(most), out);
  } else if constexpr (std::same_as<T, bool>) {
    return reader.Bool(value, out);
  } else if constexpr (std::same_as<T, milliseconds>) {
    return ReadMillis(reader, value, Duration(0), milliseconds(most), out);
  } else {
    return reader.IntTo(value, 0, most, out);
  }
}

// Reads the fields of one spec as they come, then settles what they mean together.
class SpecReader {
 public:
  SpecReader(JsonReader& reader, const SpecOptions& options, JobRequest& out)
      : reader_(reader), options_(options), out_(out) {
    out_.spec.retention = options.default_retention;
  }

  bool Field(std::size_t field, Value& value) {
    seen_ |= 1u << field;
    JobSpec& spec = out_.spec;
    switch (field) {
      case kTags:
        return ReadTags(reader_, value, false, bounds::kMaxTagsPerJob, spec.tags);
      case kTag:
        return ReadTags(reader_, value, true, bounds::kMaxTagsPerJob, spec.tags);
      case kCount:
        return reader_.IntTo(value, 0, static_cast<std::int64_t>(bounds::kMaxTasksPerJob), spec.count);
      case kPayload:
        return ReadPayload(reader_, value, out_.payload);
      case kPayloads:
        return reader_.Array(value, bounds::kMaxTasksPerJob, Code::kTooLarge, [&](std::size_t, Value& item) {
          return ReadPayload(reader_, item, out_.payloads.emplace_back());
        });
      case kPriority:
        return ReadPriority(reader_, value, spec.priority);
      case kUser:
        out_.user_given = true;
        return ReadPlainText(reader_, value, bounds::kMaxUserBytes, spec.user);
      case kAsync:
        return reader_.Bool(value, spec.async);
      case kDelay: {
        milliseconds delay{0};
        if (!ReadMillis(reader_, value, Duration(0), bounds::kMaxDelay, delay)) return false;
        spec.delay = delay;
        return true;
      }
      case kScheduledAt:
        return ReadScheduledAt(reader_, value, options_.now, spec.scheduled_for);
      case kMeta:
        return ReadMeta(reader_, value, spec.meta);
      case kConstraints:
        return ReadConstraints(reader_, value, options_.property_keys, spec.constraints);
      case kRequirements:
        return ReadRequirements(reader_, value, spec.requirements);
      case kRank:
        return ReadRank(reader_, value, spec.rank);
      case kMaxAttempts:
        return reader_.IntTo(value, 1, bounds::kMaxAttempts, spec.max_attempts);
      case kBackoff:
        return ReadBackoff(reader_, value, spec.backoff);
      case kLease:
        return ReadMillis(reader_, value, bounds::kMinLease, bounds::kMaxLease, spec.lease);
      case kTimeout:
        return ReadMillis(reader_, value, Duration(0), bounds::kMaxTimeout, spec.timeout);
      case kMaxFailedTasks:
        return ReadAllowance(reader_, value, spec.max_failed_tasks);
      case kRetention:
        return ReadMillis(reader_, value, Duration(0), bounds::kMaxRetention, spec.retention);
      default:
        return ReadDetailAt(field - kFirstDetail, value);
    }
  }

  bool Finish() {
    JobSpec& spec = out_.spec;
    if (Seen(kTags) && Seen(kTag)) return Both("tags", "tag");
    if (Seen(kDelay) && Seen(kScheduledAt)) return Both("delay_ms", "scheduled_at_ms");
    if (options_.stream) {
      for (const SpecField field : {kCount, kPayloads}) {
        if (!Seen(field) || (field == kCount && spec.count == 0)) continue;
        return reader_.Fail(Code::kBadValue,
                            fmt::format("`{}` does not go with a stream: its lines are the tasks", kSpecNames[field]));
      }
      spec.count = 0;
      spec.payload.per_task = !Seen(kCount);
    } else if (Seen(kPayloads)) {
      if (Seen(kCount)) return Both("count", "payloads");
      spec.count = static_cast<std::uint32_t>(out_.payloads.size());
      spec.payload.per_task = !out_.payloads.empty();
    }
    spec.payload.common = Seen(kPayload);
    return true;
  }

 private:
  bool ReadDetailAt(std::size_t at, Value& value) {
    std::size_t i = 0;
    bool read = false;
    ForEach(kJobDetails, [&](const auto& detail) {
      if (i++ == at) read = ReadDetail(reader_, value, detail.most, out_.spec.*detail.member);
    });
    return read;
  }
  bool Seen(SpecField field) const { return (seen_ >> field & 1) != 0; }
  bool Both(std::string_view a, std::string_view b) {
    const std::string at = reader_.Path();
    return reader_.Fail(Code::kBadValue,
                        fmt::format("`{}` and `{}` do not go together{}", a, b, at.empty() ? "" : " (in " + at + ")"));
  }

  JsonReader& reader_;
  const SpecOptions& options_;
  JobRequest& out_;
  std::uint32_t seen_ = 0;
};

}  // namespace

Result<JobRequest> ParseJobSpec(std::string_view json, const SpecOptions& options) {
  JsonReader& reader = ThreadReader();
  JobRequest request;
  SpecReader spec(reader, options, request);
  if (!reader.Begin(json) ||
      !reader.Root(kSpecFields, [&](std::size_t field, Value value) { return spec.Field(field, value); }) ||
      !spec.Finish()) {
    return reader.error();
  }
  return request;
}

Result<std::vector<JobRequest>> ParseBatch(std::string_view json, const SpecOptions& options) {
  JsonReader& reader = ThreadReader();
  std::vector<JobRequest> requests;
  bool seen = false;
  const auto on_job = [&](std::size_t, Value& item) {
    SpecReader spec(reader, options, requests.emplace_back());
    return reader.Object(item, kSpecFields, [&](std::size_t field, Value value) { return spec.Field(field, value); }) &&
           spec.Finish();
  };
  const auto on_field = [&](std::size_t, Value value) {
    seen = true;
    return reader.Array(value, bounds::kMaxBatchJobs, Code::kTooLarge, on_job);
  };
  if (!reader.Begin(json) || !reader.Root(kBatchFields, on_field)) return reader.error();
  if (!seen) {
    Missing(reader, "jobs");
    return reader.error();
  }
  return requests;
}

Result<JobChange> ParseJobChange(std::string_view json, WallTime now, const KeySource& property_keys) {
  JsonReader& reader = ThreadReader();
  JobChange change;
  std::uint32_t seen = 0;
  const auto on_field = [&](std::size_t field, Value value) {
    seen |= 1u << field;
    switch (field) {
      case 0:
        return ReadPriority(reader, value, change.priority.emplace());
      case 1:
      case 2:
        return ReadTags(reader, value, field == 2, bounds::kMaxTagsPerJob, change.tags.emplace());
      case 3: {
        milliseconds delay{0};
        if (!ReadMillis(reader, value, Duration(0), bounds::kMaxDelay, delay)) return false;
        change.delay = delay;
        return true;
      }
      case 4:
        return ReadScheduledAt(reader, value, now, change.scheduled_for);
      case 5:
        return ReadMeta(reader, value, change.meta.emplace());
      case 6:
        return ReadConstraints(reader, value, property_keys, change.constraints.emplace());
      case 7:
        return ReadRequirements(reader, value, change.requirements.emplace());
      default:
        return ReadRank(reader, value, change.rank.emplace());
    }
  };
  if (!reader.Begin(json) || !reader.Root(kChangeFields, on_field)) return reader.error();
  if ((seen & 6) == 6) return Error{Code::kBadValue, "`tags` and `tag` do not go together", ""};
  if ((seen & 24) == 24) return Error{Code::kBadValue, "`delay_ms` and `scheduled_at_ms` do not go together", ""};
  if (seen == 0)
    return Error{Code::kBadValue, "nothing to change",
                 "its fields are priority, tags, delay_ms, scheduled_at_ms, meta, constraints, requirements, rank"};
  return change;
}

Result<std::string_view> ValidateJsonLine(std::string_view line) {
  if (line.size() > bounds::kMaxPayloadBytes) {
    return Error{Code::kTooLarge,
                 fmt::format("a line has {} bytes; a payload may have {}", FormatCount(line.size()),
                             FormatCount(bounds::kMaxPayloadBytes)),
                 ""};
  }
  JsonReader& reader = ThreadReader();
  std::string_view json;
  if (!reader.Whole(line, json)) return reader.error();
  return json;
}

}  // namespace allot
