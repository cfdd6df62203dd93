// SPDX-License-Identifier: Apache-2.0
// What the server sends to workers: its own file, since this is the path that a load of 10^5 tasks a second takes.
#include "client/codec.h"
#include "client/fields.h"
#include "client/task_fields.h"
#include "wire/workers.h"

namespace allotter {
namespace json_in {

template <>
struct FieldsOf<TaskRef> {
  static constexpr bool kHot = true;
  static constexpr auto kRows = RowsOf<TaskRef, wire::kTaskRef>(In<&TaskRef::job>("job"), In<&TaskRef::index>("index"),
                                                                In<&TaskRef::lease>("lease"));
};

template <>
struct FieldsOf<Assignment> {
  static constexpr bool kHot = true;
  static constexpr auto kRows = RowsOf<Assignment, wire::kAssignment>(
      In<&Assignment::task, &TaskRef::job>("job"), In<&Assignment::task, &TaskRef::index>("index"),
      In<&Assignment::task, &TaskRef::lease>("lease"), In<&Assignment::attempt>("attempt"),
      In<&Assignment::count>("count"), In<&Assignment::lease>("lease_ms"), In<&Assignment::timeout>("timeout_ms"),
      InRaw<&Assignment::payload>("payload"), InRaw<&Assignment::job_payload>("job_payload"),
      In<&Assignment::payload_prefix>("payload_prefix"), In<&Assignment::trace>("trace"));
};

template <>
struct FieldsOf<JobHeader> {
  static constexpr auto kRows =
      RowsOf<JobHeader, wire::kJobHeader>(In<&JobHeader::id>("id"), In<&JobHeader::tags>("tags"),
                                          In<&JobHeader::meta>("meta"), In<&JobHeader::user>("user"));
};

template <>
struct FieldsOf<ServerMessage::Results> {
  using Followed = ServerMessage::Results;
  static constexpr auto kRows = RowsOf<Followed, wire::kFollowed>(
      In<&Followed::job>("job"), In<&Followed::results>("results"), In<&Followed::end>("end"));
};

template <>
struct FieldsOf<StopRequest> {
  static constexpr auto kRows = RowsOf<StopRequest, wire::kCancel>(
      In<&StopRequest::task, &TaskRef::job>("job"), In<&StopRequest::task, &TaskRef::index>("index"),
      In<&StopRequest::task, &TaskRef::lease>("lease"), In<&StopRequest::reason>("reason"));
};

template <>
struct FieldsOf<Welcome> {
  static constexpr auto kRows = RowsOf<Welcome, wire::kWelcome>(
      In<&Welcome::worker>("worker"), In<&Welcome::key>("key"), In<&Welcome::heartbeat>("heartbeat_ms"),
      In<&Welcome::resumed>("resumed"), In<&Welcome::lost>("lost"), In<&Welcome::features>("features"));
};

void ReadCode(Value& value, Error& out) { out.code = allot::CodeFromText(Text(value)); }
template <>
struct FieldsOf<Error> {
  static constexpr auto kRows = RowsOf<Error, wire::kError>(By<Error>("code", ReadCode), In<&Error::message>("message"),
                                                            In<&Error::hint>("hint"));
};

template <>
struct FieldsOf<JobWaiter::Ended> {
  static constexpr auto kRows = RowsOf<JobWaiter::Ended, wire::kEnded>(
      In<&JobWaiter::Ended::id>("id"), In<&JobWaiter::Ended::state>("state"), In<&JobWaiter::Ended::done>("done"),
      In<&JobWaiter::Ended::failed>("failed"));
};

// null empties.
template <auto kMember>
consteval auto Change(std::string_view name) {
  return By<WorkerChange>(name, [](Value& value, WorkerChange& out) { ReadOrEmpty(value, (out.*kMember).emplace()); });
}
template <>
struct FieldsOf<WorkerChange> {
  static constexpr auto kRows = RowsOf<WorkerChange, wire::kWorkerChange>(
      Change<&WorkerChange::tags>("tags"), Change<&WorkerChange::properties>("properties"),
      Change<&WorkerChange::attributes>("attributes"), Change<&WorkerChange::requirements>("requirements"),
      Change<&WorkerChange::rank>("rank"), Change<&WorkerChange::strategy>("strategy"));
};

// Its two parts stand apart.
struct Stale {
  TaskRef task;
  std::string code;
};
template <>
struct FieldsOf<Stale> {
  static constexpr auto kRows =
      RowsOf<Stale, wire::kStale>(In<&Stale::task, &TaskRef::job>("job"), In<&Stale::task, &TaskRef::index>("index"),
                                  In<&Stale::task, &TaskRef::lease>("lease"), In<&Stale::code>("code"));
};

void ReadStale(Value& value, ServerMessage& out) {
  Each(value, [&](Value item) {
    Stale stale;
    Read(item, stale);
    out.stale.push_back(std::move(stale.task));
    out.stale_codes.push_back(std::move(stale.code));
  });
}

constexpr auto kNews = RowsOf<ServerMessage, wire::kWorkerNews>(
    In<&ServerMessage::ack>("ack"), By<ServerMessage>("stale", ReadStale), In<&ServerMessage::cancel>("cancel"),
    In<&ServerMessage::drain>("drain"), In<&ServerMessage::set>("set"), In<&ServerMessage::tasks>("tasks"),
    In<&ServerMessage::jobs>("jobs"), In<&ServerMessage::welcome>("welcome"), In<&ServerMessage::error>("error"),
    In<&ServerMessage::error_seq>("seq"));

// The answer to a pull has nothing that a message has not.
static_assert(wire::Includes(wire::kWorkerNews, wire::kPullAnswer));

void ReadUnknown(Value& value, ServerMessage& out) {
  Each(value, [&](Value item) { Read(item, out.ended.emplace_back().id); });
}

constexpr auto kWaits = RowsOf<ServerMessage, wire::kWaitNews>(
    In<&ServerMessage::results>("results"), In<&ServerMessage::ended>("ended"),
    By<ServerMessage>("unknown", ReadUnknown), In<&ServerMessage::error>("error"));

// A worker's message, or one of those that wait for jobs.
void ReadMessage(Value value, ServerMessage& out) {
  std::size_t next = 0;
  EachField(value, [&](std::string_view key, Value field) {
    std::size_t begin = 0;
    if (!kNews.Take(key, field, next, out)) kWaits.Take(key, field, begin, out);
  });
}

}  // namespace json_in

void ServerMessage::Clear() {
  ack.reset();
  stale.clear();
  stale_codes.clear();
  tasks.clear();
  cancel.clear();
  drain = false;
  set.reset();
  welcome.reset();
  error.reset();
  error_seq.reset();
  jobs.clear();
  ended.clear();
  results.clear();
}

Result<void> ParseMessage(std::string_view text, ServerMessage& message) {
  message.Clear();
  return json_in::Document(
      simdjson::padded_string_view(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING),
      [&](json_in::Value root) { json_in::ReadMessage(root, message); });
}

template Result<Welcome> Parse<Welcome>(const std::string& json);

}  // namespace allotter
