// SPDX-License-Identifier: Apache-2.0
// Workers, waits and queues; jobs are in request_job.cc.
#include "server/wire/request_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/text.h"
#include "base/words.h"
#include "match/constraints.h"
#include "server/wire/json_fields.h"
#include "server/wire/json_reader.h"
#include "server/wire/strategy_fields.h"
#include "wire/nodes.h"
#include "wire/queues.h"
#include "wire/server.h"
#include "wire/workers.h"

namespace allot {
namespace {

using Value = JsonReader::Value;

bool SameWithoutCase(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

// Those of kDescriptionNames first.
constexpr std::size_t kDescribed = std::size(kDescriptionNames);
constexpr std::string_view kHelloNames[] = {"name", "tags",     "slots",  "properties", "attributes", "requirements",
                                            "rank", "strategy", "worker", "key",        "resume"};
static_assert(std::equal(std::begin(kDescriptionNames), std::end(kDescriptionNames), kHelloNames));
constexpr FieldSet kHelloFields{"hello", kHelloNames};
static_assert(wire::SameNames(wire::kHello, kHelloFields.names));
constexpr std::string_view kWrapNames[] = {"hello"};
constexpr FieldSet kWrapFields{"a first message", kWrapNames};
static_assert(wire::SameNames(wire::kFirstMessage, kWrapFields.names));

// The key, which only a request of its own has, stands last.
constexpr std::string_view kWorkerNames[] = {"tags", "properties", "attributes", "requirements",
                                             "rank", "strategy",   "key"};
constexpr FieldSet kPatchFields{"a change of a worker", kWorkerNames};
static_assert(wire::SameNames(wire::kWorkerPatch, kPatchFields.names));
constexpr FieldSet kSetFields{"a change of a worker", std::span(kWorkerNames).first(6)};
static_assert(wire::SameNames(wire::kWorkerChange, kSetFields.names));

// Fields that only the one or the other has stand last, so that both are a beginning or an end of one list.
enum MessageField : std::size_t {
  kSeq,
  kBye,
  kDone,
  kFailed,
  kReleased,
  kExtend,
  kPull,
  kStrategy,
  kSet,
  kJobHeaders,
  kKey,
  kWait
};
constexpr std::string_view kMessageNames[] = {"seq",  "bye",      "done", "failed",      "released", "extend",
                                              "pull", "strategy", "set",  "job_headers", "key",      "wait_ms"};
constexpr FieldSet kSocketFields{"a worker's message", std::span(kMessageNames).first(kKey)};
static_assert(wire::SameNames(wire::kWorkerMessage, kSocketFields.names));
constexpr FieldSet kHttpFields{"a pull", std::span(kMessageNames).subspan(kDone)};
static_assert(wire::SameNames(wire::kPull, kHttpFields.names));

// The first three are those of every entry.
enum EntryField : std::size_t { kEntryJob, kEntryIndex, kEntryLease, kEntryFirst, kEntrySecond, kEntryThird };
constexpr std::string_view kRefNames[] = {"job", "index", "lease"};
constexpr std::string_view kDoneNames[] = {"job", "index", "lease", "result"};
constexpr std::string_view kFailedNames[] = {"job", "index", "lease", "error", "final", "retry_in_ms"};
constexpr std::string_view kExtendNames[] = {"job", "index", "lease", "progress"};
constexpr std::string_view kProgressNames[] = {"done", "of", "note"};
constexpr FieldSet kRefFields{"an entry", kRefNames};
static_assert(wire::SameNames(wire::kTaskRef, kRefFields.names));
constexpr FieldSet kDoneFields{"an entry of `done`", kDoneNames};
static_assert(wire::SameNames(wire::kDone, kDoneFields.names));
constexpr FieldSet kFailedFields{"an entry of `failed`", kFailedNames};
static_assert(wire::SameNames(wire::kFailed, kFailedFields.names));
constexpr FieldSet kExtendFields{"an entry of `extend`", kExtendNames};
static_assert(wire::SameNames(wire::kExtend, kExtendFields.names));
constexpr FieldSet kProgressFields{"progress", kProgressNames};
static_assert(wire::SameNames(wire::kProgress, kProgressFields.names));

constexpr std::string_view kKeyNames[] = {"key"};
constexpr FieldSet kKeyFields{"this request", kKeyNames};
static_assert(wire::SameNames(wire::kKeyBody, kKeyFields.names));
constexpr std::string_view kWaitNames[] = {"wait", "results"};
constexpr FieldSet kWaitFields{"a message", kWaitNames};
static_assert(wire::SameNames(wire::kWait, kWaitFields.names));
constexpr std::string_view kFollowNames[] = {"job", "credit", "have"};
constexpr FieldSet kFollowFields{"an entry of `results`", kFollowNames};
static_assert(wire::SameNames(wire::kFollow, kFollowFields.names));
constexpr std::string_view kRangeNames[] = {"from", "to"};
constexpr FieldSet kRangeFields{"a range of tasks", kRangeNames};
static_assert(wire::SameNames(wire::kRange, kRangeFields.names));
constexpr std::string_view kQueueNames[] = {"name", "settings"};
constexpr FieldSet kQueueFields{"a queue", kQueueNames};
static_assert(wire::SameNames(wire::kQueueCreate, kQueueFields.names));
constexpr FieldSet kQueueChangeFields{"a change of a queue", std::span(kQueueNames).subspan(1)};
static_assert(wire::SameNames(wire::kQueueChange, kQueueChangeFields.names));
constexpr std::string_view kSettingNames[] = {"max_finished_jobs",
                                              "worker_grace_ms",
                                              "max_result_bytes",
                                              "property_keys",
                                              "max_property_keys",
                                              "policy",
                                              "weights",
                                              "max_limit_expiration_ms",
                                              "dispatch",
                                              "balance",
                                              "memory_budget_bytes",
                                              "limit_ban_window_ms",
                                              "demand_lookahead_ms"};
constexpr FieldSet kSettingFields{"a queue's settings", kSettingNames};
static_assert(wire::SameNames(wire::kQueueSettingsChange, kSettingFields.names));
constexpr std::string_view kCheckNames[] = {"strategy", "policy"};
constexpr FieldSet kCheckFields{"this request", kCheckNames};
static_assert(wire::SameNames(wire::kStrategyQuestion, kCheckFields.names));
constexpr FieldSet kNoFields{"this request", {}};
constexpr std::string_view kMoveNames[] = {"to"};
constexpr FieldSet kMoveFields{"a move", kMoveNames};
static_assert(wire::SameNames(wire::kMove, kMoveNames));

// One entry: its task, and whatever `on_rest` makes of fields beyond the first three.
template <typename F>
bool ReadEntry(JsonReader& reader, Value& item, const FieldSet& fields, TaskRef& task, F&& on_rest) {
  std::uint32_t seen = 0;
  const bool read = reader.Object(item, fields, [&](std::size_t field, Value value) {
    seen |= 1u << field;
    switch (field) {
      case kEntryJob:
        return ReadId(reader, value, "a job's id", task.job.value);
      case kEntryIndex:
        return reader.IntTo(value, 0, static_cast<std::int64_t>(bounds::kMaxTasksPerJob) - 1, task.index);
      case kEntryLease: {
        std::string_view text;
        if (!reader.Text(value, text)) return false;
        const auto lease = ParseLeaseId(text);
        if (!lease) return reader.Bad("is not a lease", "give the lease of the assignment, as it came");
        task.lease = *lease;
        return true;
      }
      default:
        return on_rest(field, value);
    }
  });
  if (!read) return false;
  for (std::size_t i = 0; i < std::size(kRefNames); ++i) {
    if ((seen >> i & 1) == 0) return Missing(reader, kRefNames[i]);
  }
  return true;
}

bool ReadRefs(JsonReader& reader, Value& value, std::vector<TaskRef>& out) {
  return reader.Array(value, bounds::kMaxReportsPerMessage, Code::kTooLarge, [&](std::size_t, Value& item) {
    return ReadEntry(reader, item, kRefFields, out.emplace_back(), [](std::size_t, Value&) { return true; });
  });
}

bool ReadDone(JsonReader& reader, Value& value, std::uint64_t max_result_bytes, std::vector<DoneEntry>& out) {
  return reader.Array(value, bounds::kMaxReportsPerMessage, Code::kTooLarge, [&](std::size_t, Value& item) {
    DoneEntry& entry = out.emplace_back();
    return ReadEntry(reader, item, kDoneFields, entry.task, [&](std::size_t, Value& inner) {
      if (!reader.Raw(inner, entry.result)) return false;
      if (entry.result.size() <= max_result_bytes) return true;
      return reader.Fail(Code::kTooLarge,
                         fmt::format("`{}` has {} bytes; this queue takes {}", reader.Path(),
                                     FormatCount(entry.result.size()), FormatCount(max_result_bytes)),
                         "keep large results elsewhere and report where, or raise the queue's max_result_bytes");
    });
  });
}

// At most kMaxErrorBytes, not ending inside a character.
std::string_view Cut(std::string_view text) {
  if (text.size() <= bounds::kMaxErrorBytes) return text;
  std::size_t end = bounds::kMaxErrorBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

bool ReadFailed(JsonReader& reader, Value& value, std::vector<FailedEntry>& out) {
  return reader.Array(value, bounds::kMaxReportsPerMessage, Code::kTooLarge, [&](std::size_t, Value& item) {
    FailedEntry& entry = out.emplace_back();
    const bool read = ReadEntry(reader, item, kFailedFields, entry.task, [&](std::size_t field, Value& inner) {
      if (field == kEntrySecond) return reader.Bool(inner, entry.final);
      if (field == kEntryThird)
        return ReadMillis(reader, inner, Duration(0), bounds::kMaxBackoff, entry.retry_in.emplace());
      std::string_view text;
      if (!reader.Text(inner, text)) return false;
      entry.error.assign(Cut(text));
      return true;
    });
    if (!read) return false;
    if (!entry.final || !entry.retry_in) return true;
    return reader.Bad("has both `final` and `retry_in_ms`", "what failed for good has no further attempt");
  });
}

bool ReadProgress(JsonReader& reader, Value& value, TaskProgress& out) {
  constexpr double kMost = 1e15;  // far from where doubles are no whole numbers any more
  bool done = false;
  const bool read = reader.Object(value, kProgressFields, [&](std::size_t field, Value inner) {
    switch (field) {
      case 0:
        done = true;
        return reader.Real(inner, 0, kMost, out.done);
      case 1:
        return reader.Real(inner, 0, kMost, out.of.emplace());
      default:
        return ReadPlainText(reader, inner, bounds::kMaxProgressNoteBytes, out.note);
    }
  });
  return read && (done || Missing(reader, "done"));
}

bool ReadExtend(JsonReader& reader, Value& value, WorkerMessage& out) {
  return reader.Array(value, bounds::kMaxReportsPerMessage, Code::kTooLarge, [&](std::size_t, Value& item) {
    TaskRef task;
    std::optional<TaskProgress> progress;
    if (!ReadEntry(reader, item, kExtendFields, task,
                   [&](std::size_t, Value& inner) { return ReadProgress(reader, inner, progress.emplace()); })) {
      return false;
    }
    out.extend.push_back(task);
    if (progress) out.progress.push_back({task, std::move(*progress)});
    return true;
  });
}

bool ReadRange(JsonReader& reader, Value& value, std::pair<std::uint64_t, std::uint64_t>& out) {
  constexpr auto kMost = static_cast<std::int64_t>(bounds::kMaxTasksPerJob);
  const bool read = reader.Object(value, kRangeFields, [&](std::size_t field, Value inner) {
    return reader.IntTo(inner, 0, kMost, field == 0 ? out.first : out.second);
  });
  return read && (out.first < out.second ||
                  reader.Bad("must have a `from` below its `to`", "`to` is the first index behind the range"));
}

bool ReadFollow(JsonReader& reader, Value& value, FollowEntry& out) {
  const bool read = reader.Object(value, kFollowFields, [&](std::size_t field, Value inner) {
    if (field == 0) return ReadId(reader, inner, "a job's id", out.job.value);
    if (field == 1) return reader.IntTo(inner, 1, bounds::kMaxCredit, out.credit);
    return reader.Array(inner, bounds::kMaxRangesPerFollow, Code::kTooLarge,
                        [&](std::size_t, Value& item) { return ReadRange(reader, item, out.have.emplace_back()); });
  });
  if (!read) return false;
  if (!out.job) return Missing(reader, "job");
  return out.credit > 0 || Missing(reader, "credit");
}

bool ReadHello(JsonReader& reader, std::size_t field, Value& value, const Vocabulary& words, Hello& out) {
  if (field < kDescribed) return ReadDescription(reader, field, value, words, out);
  switch (field - kDescribed) {
    case 0:
      return ReadStrategy(reader, value, words.strategies, out.strategy);
    case 1:
      return ReadId(reader, value, "a worker's id", out.worker.value);
    case 2:
      return ReadKey(reader, value, out.key.emplace());
    default:
      return ReadRefs(reader, value, out.resume);
  }
}

// One of kSetFields. null empties.
bool ReadWorkerField(JsonReader& reader, std::size_t field, Value& value, const Vocabulary& words, WorkerChange& out) {
  switch (field) {
    case 0:
      out.tags.emplace();
      return reader.IsNull(value) || ReadTags(reader, value, false, bounds::kMaxTagsPerWorker, *out.tags);
    case 1:
      out.properties.emplace();
      return reader.IsNull(value) || ReadProperties(reader, value, words.property_keys, *out.properties);
    case 2:
      out.attributes.emplace();
      return reader.IsNull(value) || ReadAttributes(reader, value, *out.attributes);
    case 3:
      return ReadRequirements(reader, value, out.requirements.emplace());
    case 4:
      return ReadRank(reader, value, out.rank.emplace());
    default:
      return ReadStrategy(reader, value, words.strategies, out.strategy.emplace());
  }
}

// What the fields of a change mean together.
bool FinishWorkerChange(JsonReader& reader, const WorkerChange& change) {
  if (!change.tags && !change.properties && !change.attributes && !change.requirements && !change.rank &&
      !change.strategy) {
    return reader.Fail(Code::kBadValue, "nothing to change",
                       "its fields are tags, properties, attributes, requirements, rank, strategy");
  }
  return !change.attributes || !change.properties ||
         reader.Take(CheckAttributeNames(*change.attributes, *change.properties));
}

// One of the words, by its number; null is the first.
template <typename E>
bool ReadWord(JsonReader& reader, Value& value, std::span<const std::string_view> words, std::optional<E>& out) {
  out = E{};
  if (reader.IsNull(value)) return true;
  std::string_view text;
  if (!reader.Text(value, text)) return false;
  out = ParseWord<E>(text, words);
  return out || reader.Bad(MustBeOneOf(words), MeantWord(text, words));
}

bool ReadSettings(JsonReader& reader, std::size_t field, Value& value, const NamedStrategies* names,
                  QueueSettingsChange& out) {
  switch (field) {
    case 0:
      return reader.IntTo(value, 0, bounds::kMaxJobsPerQueue, out.max_finished_jobs.emplace());
    case 1: {
      milliseconds grace{0};
      if (!ReadMillis(reader, value, Duration(0), bounds::kMaxWorkerGrace, grace)) return false;
      out.worker_grace = grace;
      return true;
    }
    case 2:
      return reader.IntTo(value, 0, bounds::kMaxResultBytes, out.max_result_bytes.emplace());
    case 3: {
      PropertyKeys& keys = out.property_keys.emplace();
      if (!reader.Array(value, bounds::kMaxPropertyKeys, Code::kBadValue, [&](std::size_t, Value& item) {
            std::string_view key;
            if (!reader.Text(item, key)) return false;
            keys.emplace_back(key);
            return true;
          }))
        return false;
      // How many this queue may have is known where its other settings are.
      const Result<void> check = CheckPropertyKeys(keys, bounds::kMaxPropertyKeys);
      return check.ok() ||
             reader.Fail(check.error().code, fmt::format("`{}`: {}", reader.Path(), check.error().message),
                         check.error().hint);
    }
    case 4:
      return reader.IntTo(value, 0, bounds::kMaxPropertyKeys, out.max_property_keys.emplace());
    case 5: {
      StrategyPtr policy;
      if (!ReadPolicy(reader, value, names, policy)) return false;
      out.policy = PrintStrategy(policy == nullptr ? *DefaultPolicy() : *policy);
      return true;
    }
    case 6:
      return ReadWeights(reader, value, out.weights);
    case 7: {
      milliseconds most{0};
      if (!ReadMillis(reader, value, std::chrono::seconds(1), bounds::kMaxLimitExpiration, most)) return false;
      out.max_limit_expiration = most;
      return true;
    }
    case 8:
      return ReadWord(reader, value, kDispatchWords, out.dispatch);
    case 9:
      return ReadWord(reader, value, kBalanceWords, out.balance);
    case 11:
    case 12: {
      milliseconds window{0};
      if (!ReadMillis(reader, value, milliseconds(0), bounds::kMaxDemandWindow, window)) return false;
      (field == 11 ? out.limit_ban_window : out.demand_lookahead) = window;
      return true;
    }
    default: {
      std::uint64_t& bytes = out.memory_budget.emplace(0);
      if (reader.IsNull(value)) return true;
      if (!reader.IntTo(value, 0, std::uint64_t{1} << 50, bytes)) return false;
      return bytes == 0 || bytes >= bounds::kMinMemoryBudget ||
             reader.Bad(fmt::format("must be 0 or at least {}", FormatCount(bounds::kMinMemoryBudget)),
                        "0 is as much as the server has for all of its queues");
    }
  }
}

bool ReadSettingsObject(JsonReader& reader, Value& value, const NamedStrategies* names, QueueSettingsChange& out) {
  return reader.Object(value, kSettingFields,
                       [&](std::size_t field, Value inner) { return ReadSettings(reader, field, inner, names, out); });
}

}  // namespace

Result<Hello> ParseHello(std::string_view json, bool wrapped, const Vocabulary& vocabulary) {
  JsonReader& reader = ThreadReader();
  Hello hello;
  bool seen = !wrapped;
  const auto on_field = [&](std::size_t field, Value value) {
    return ReadHello(reader, field, value, vocabulary, hello);
  };
  if (!reader.Begin(json)) return reader.error();
  const bool read = wrapped ? reader.Root(kWrapFields,
                                          [&](std::size_t, Value value) {
                                            seen = true;
                                            return reader.Object(value, kHelloFields, on_field);
                                          })
                            : reader.Root(kHelloFields, on_field);
  if (!read) return reader.error();
  if (!seen)
    return Error{Code::kBadRequest, "the first message must be a hello",
                 R"({"hello": {"name": "…", "tags": [], "slots": 1}})"};
  if (hello.worker && !hello.key) return Error{Code::kBadValue, "`worker` needs `key`", ""};
  if (!hello.worker && hello.key) return Error{Code::kBadValue, "`key` needs `worker`", ""};
  if (!hello.worker && !hello.resume.empty()) return Error{Code::kBadValue, "`resume` needs `worker` and `key`", ""};
  const Result<void> names = CheckAttributeNames(hello.attributes, hello.properties);
  if (!names.ok()) return names.error();
  return hello;
}

Result<WorkerPatch> ParseWorkerPatch(std::string_view json, const Vocabulary& vocabulary) {
  JsonReader& reader = ThreadReader();
  WorkerPatch patch;
  const auto on_field = [&](std::size_t field, Value value) {
    if (field == kSetFields.names.size()) return ReadKey(reader, value, patch.key.emplace());
    return ReadWorkerField(reader, field, value, vocabulary, patch.change);
  };
  if (!reader.Begin(json) || !reader.Root(kPatchFields, on_field) || !FinishWorkerChange(reader, patch.change))
    return reader.error();
  return patch;
}

Result<void> CheckAttributeNames(const Meta& attributes, const Properties& properties) {
  for (const auto& [key, unused] : properties) {
    const auto same = std::find_if(attributes.begin(), attributes.end(),
                                   [&k = key](const auto& attribute) { return SameWithoutCase(attribute.first, k); });
    if (same == attributes.end()) continue;
    return Error{Code::kBadValue,
                 fmt::format("`{}` is a property of this worker, and cannot be an attribute too", same->first),
                 "expressions see both under their names"};
  }
  return {};
}

void WorkerMessage::Clear() {
  seq.reset();
  done.clear();
  failed.clear();
  released.clear();
  extend.clear();
  progress.clear();
  pull.reset();
  strategy.reset();
  job_headers = false;
  set.reset();
  bye = false;
  key.reset();
  wait = milliseconds(0);
}

Result<void> ParseWorkerMessage(std::string_view json, const MessageOptions& options, WorkerMessage& message) {
  JsonReader& reader = ThreadReader();
  message.Clear();
  const std::size_t first = options.http ? kDone : kSeq;
  const auto on_field = [&](std::size_t field, Value value) {
    switch (field + first) {
      case kSeq:
        return reader.IntTo(value, 0, INT64_MAX, message.seq.emplace());
      case kBye:
        return reader.Bool(value, message.bye);
      case kDone:
        return ReadDone(reader, value, options.max_result_bytes, message.done);
      case kFailed:
        return ReadFailed(reader, value, message.failed);
      case kReleased:
        return ReadRefs(reader, value, message.released);
      case kExtend:
        return ReadExtend(reader, value, message);
      case kPull:
        return reader.IntTo(value, 0, bounds::kMaxCredit, message.pull.emplace());
      case kStrategy:
        return ReadStrategy(reader, value, options.vocabulary.strategies, message.strategy);
      case kSet: {
        WorkerChange& change = message.set.emplace();
        return reader.Object(value, kSetFields, [&](std::size_t inner, Value item) {
          return ReadWorkerField(reader, inner, item, options.vocabulary, change);
        }) && FinishWorkerChange(reader, change);
      }
      case kJobHeaders:
        return reader.Bool(value, message.job_headers);
      case kKey:
        return ReadKey(reader, value, message.key.emplace());
      default:
        return ReadMillis(reader, value, Duration(0), bounds::kMaxWait, message.wait);
    }
  };
  bool read = reader.Begin(json) && reader.Root(options.http ? kHttpFields : kSocketFields, on_field);
  if (read && message.done.size() + message.failed.size() + message.released.size() + message.extend.size() >
                  bounds::kMaxReportsPerMessage) {
    read = reader.Fail(Code::kTooLarge,
                       fmt::format("a message may have {} entries in all", FormatCount(bounds::kMaxReportsPerMessage)));
  }
  if (read && message.strategy != nullptr && !message.pull)
    read = reader.Fail(Code::kBadValue, "`strategy` needs `pull`", "what a worker pulls by otherwise is in `set`");
  if (read && options.http && !message.key) read = Missing(reader, "key");
  if (read) return {};
  message.seq = options.http ? std::nullopt : reader.Find(json, "seq");
  return reader.error();
}

Result<std::uint64_t> ParseKeyBody(std::string_view json) {
  JsonReader& reader = ThreadReader();
  std::optional<std::uint64_t> key;
  if (!reader.Begin(json) ||
      !reader.Root(kKeyFields, [&](std::size_t, Value value) { return ReadKey(reader, value, key.emplace()); }) ||
      (!key && !Missing(reader, "key"))) {
    return reader.error();
  }
  return *key;
}

std::string KeyText(std::uint64_t key) { return fmt::format("{:016x}", key); }

Result<WaitMessage> ParseWaitMessage(std::string_view json) {
  JsonReader& reader = ThreadReader();
  WaitMessage message;
  const auto on_field = [&](std::size_t field, Value value) {
    if (field == 0) {
      return reader.Array(value, bounds::kMaxWaitsPerConnection, Code::kTooManyWaits, [&](std::size_t, Value& item) {
        return ReadId(reader, item, "a job's id", message.wait.emplace_back().value);
      });
    }
    return reader.Array(value, bounds::kMaxFollowsPerConnection, Code::kTooManyWaits, [&](std::size_t, Value& item) {
      return ReadFollow(reader, item, message.results.emplace_back());
    });
  };
  if (!reader.Begin(json) || !reader.Root(kWaitFields, on_field)) return reader.error();
  return message;
}

Result<QueueCreate> ParseQueueCreate(std::string_view json, const NamedStrategies* names) {
  JsonReader& reader = ThreadReader();
  QueueCreate create;
  bool named = false;
  const auto on_field = [&](std::size_t field, Value value) {
    if (field == 1) return ReadSettingsObject(reader, value, names, create.settings);
    std::string_view name;
    if (!reader.Text(value, name) || !reader.Take(CheckQueueName("name", name))) return false;
    create.name.assign(name);
    named = true;
    return true;
  };
  if (!reader.Begin(json) || !reader.Root(kQueueFields, on_field) || (!named && !Missing(reader, "name"))) {
    return reader.error();
  }
  return create;
}

Result<QueueSettingsChange> ParseQueueChange(std::string_view json, const NamedStrategies* names) {
  JsonReader& reader = ThreadReader();
  QueueSettingsChange change;
  bool seen = false;
  const auto on_field = [&](std::size_t, Value value) {
    seen = true;
    return ReadSettingsObject(reader, value, names, change);
  };
  if (!reader.Begin(json) || !reader.Root(kQueueChangeFields, on_field) || (!seen && !Missing(reader, "settings"))) {
    return reader.error();
  }
  return change;
}

Result<QueueSettingsChange> ParseQueueSettings(std::string_view json) {
  JsonReader& reader = ThreadReader();
  QueueSettingsChange change;
  if (!reader.Begin(json) || !reader.Root(kSettingFields, [&](std::size_t field, Value value) {
        return ReadSettings(reader, field, value, nullptr, change);
      })) {
    return reader.error();
  }
  return change;
}

Result<StrategyCheck> ParseStrategyCheck(std::string_view json, const NamedStrategies* names) {
  JsonReader& reader = ThreadReader();
  StrategyCheck check;
  const auto on_field = [&](std::size_t field, Value value) {
    if (check.strategy != nullptr) return reader.Fail(Code::kBadValue, "`strategy` and `policy` exclude each other");
    check.policy = field == 1;
    return check.policy ? ReadPolicy(reader, value, names, check.strategy)
                        : ReadStrategy(reader, value, names, check.strategy);
  };
  if (!reader.Begin(json) || !reader.Root(kCheckFields, on_field) ||
      (check.strategy == nullptr && !Missing(reader, "strategy"))) {
    return reader.error();
  }
  return check;
}

Result<std::string> ParseMove(std::string_view json) {
  JsonReader& reader = ThreadReader();
  std::optional<std::string> to;
  const auto on_field = [&](std::size_t, Value value) {
    return ReadPlainText(reader, value, bounds::kMaxNameBytes, to.emplace());
  };
  if (!reader.Begin(json) || !reader.Root(kMoveFields, on_field) || (!to && !Missing(reader, "to"))) {
    return reader.error();
  }
  return *to;
}

Result<void> ParseEmptyBody(std::string_view json) {
  if (json.empty()) return {};
  JsonReader& reader = ThreadReader();
  if (!reader.Begin(json) || !reader.Root(kNoFields, [](std::size_t, Value) { return true; })) return reader.error();
  return {};
}

}  // namespace allot
