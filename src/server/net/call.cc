// SPDX-License-Identifier: Apache-2.0
#include "server/net/call.h"

#include <charconv>

#include "base/try.h"
#include "engine/errors.h"
#include "server/ops/access.h"
#include "server/ops/clock.h"

namespace allot {

Error NoSuchPath(const Request& request) {
  return {Code::kNotFound, "there is nothing at " + request.path.substr(0, 200), "see docs/reference/protocol"};
}

Error WrongMethod(const Request& request, std::string_view allowed) {
  return {Code::kMethodNotAllowed, request.path.substr(0, 200) + " does not have this method",
          "it has " + std::string(allowed)};
}

Error Crowded() {
  return {Code::kUnavailable, "too many requests of this token or address wait for the queue's attention",
          "ask fewer at a time"};
}

Result<Admission::Entry> Admit(Admission& few, const Call& call, std::string_view others) {
  Admission::Entry entry = few.Enter(call.asker());
  if (entry) return entry;
  return Error{Code::kUnavailable,
               entry.full() == Admission::Full::kOwn
                   ? "this token or address does the same already, as often as it may at a time"
                   : std::string(others),
               "try again in a few seconds"};
}

Error Stopping() { return {Code::kStopping, "the server is going down", "try again soon"}; }

Result<void> RequireJson(const Request& request) {
  if (request.body.empty() || request.media == kJsonType) return {};
  return Error{Code::kUnsupportedMedia,
               request.media.empty() ? "the body has no Content-Type"
                                     : "a body of the type " + request.media.substr(0, 100) + " is not taken here",
               "send Content-Type: application/json"};
}

Result<JobName> ParseJobName(std::string_view text) {
  if (text == "last") return JobName{};
  const std::optional<std::uint64_t> id = ParseId(text);
  if (!id)
    return Error{Code::kUnknownJob, "there is no job " + std::string(text.substr(0, 100)),
                 "ids are decimal numbers; `last` is the newest job"};
  return JobName{JobId{*id}};
}

Result<TaskIndex> ParseTaskIndex(std::string_view text) {
  TaskIndex index = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (ec == std::errc() && end == text.data() + text.size()) return index;
  return Error{Code::kUnknownTask, "there is no task " + std::string(text.substr(0, 100)),
               "an index is a number from 0 on"};
}

Result<JobView> FindJob(Round& round, const Call& call, const JobName& name) {
  std::optional<JobId> id = name.id;
  if (!id) {
    id = round.engine.looks().LastJob(LastOf(call.principal()));
    if (!id) return Error{Code::kUnknownJob, "there is no job yet", ""};
  }
  Result<JobView> view = round.engine.looks().Describe(*id);
  round.DependsOn(*id);
  if (!view.ok()) return UnknownJob(*id);
  TRY_OK(RequireSeen(call.principal(), *id, view->user));
  return view;
}

Result<JobId> FindTask(Round& round, const Call& call, const JobName& name, TaskIndex index) {
  TRY(const JobView& job, FindJob(round, call, name));
  TRY_OK(round.engine.looks().Task(job.id, index));
  return job.id;
}

Result<JobView> FindOwnJob(Round& round, const Call& call, const JobName& name) {
  Result<JobView> view = FindJob(round, call, name);
  if (!view.ok()) return view;
  TRY_OK(RequireChange(call.principal(), view->id, view->user));
  return view;
}

SpecOptions OptionsOf(const Call& call) {
  SpecOptions options;
  options.now = ReadClock().wall;
  options.default_retention = call.server.config.default_retention;
  options.property_keys = call.queue->property_keys();
  return options;
}

Result<void> RefuseNew(const Round& round) {
  if (round.stopping) return Stopping();
  if (round.stall != Stall::kNone) return ErrorOf(round.stall);
  return {};
}

}  // namespace allot
