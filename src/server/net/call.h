// SPDX-License-Identifier: Apache-2.0
// One request: what was asked, the duty to answer, and what its handler needs of the server. How it goes from thread to
// thread is in flow/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "server/net/context.h"
#include "server/net/net_thread.h"
#include "server/net/path_pattern.h"
#include "server/net/request.h"
#include "server/queue/admission.h"
#include "server/queue/asker.h"
#include "server/queue/round.h"
#include "server/wire/request_json.h"

namespace allot {

struct Call {
  ServerContext& server;
  Request request;
  Reply reply;
  QueuePtr queue;                     // null where the request is of no queue
  const PathPattern* path = nullptr;  // of the route that serves it
  // What was made of the request, where it is large: it goes with the call, not on the engine thread.
  std::shared_ptr<void> parsed = nullptr;

  const Principal& principal() const { return *request.principal; }
  // The part of the path that its pattern calls so. REQUIRES: there is one.
  const std::string& part(std::string_view name) const { return request.parts[path->IndexOf(name)]; }
  // The path of its route; names in it are of the pattern, not of the request.
  std::string_view what() const { return path != nullptr ? path->text() : std::string_view(); }
  AskerId asker() const { return request.asker != 0 ? request.asker : AskerOf(*request.principal, request.peer); }
  void Fail(const Error& error) { reply.Fail(error); }
};

// The answer where too many looks of one asker wait.
Error Crowded();
// A place for something of which few may be under way at once. kUnavailable where there is none; `others` says so where
// others have them all.
Result<Admission::Entry> Admit(Admission& few, const Call& call, std::string_view others);

// A job's id in a path: a number, or `last`.
struct JobName {
  std::optional<JobId> id;
};
Result<JobName> ParseJobName(std::string_view text);
// The part of a path that is the index of a task. kUnknownTask if it cannot be one.
Result<TaskIndex> ParseTaskIndex(std::string_view text);
// The job as this caller may see it. kUnknownJob otherwise.
Result<JobView> FindJob(Round& round, const Call& call, const JobName& name);
// The job's id, if it has such a task. kUnknownJob, kUnknownTask.
Result<JobId> FindTask(Round& round, const Call& call, const JobName& name, TaskIndex index);
// As FindJob(), for changing it.
Result<JobView> FindOwnJob(Round& round, const Call& call, const JobName& name);

// How a job spec in this call's body is read.
SpecOptions OptionsOf(const Call& call);

// Nothing new is taken while stopping, or without space.
Result<void> RefuseNew(const Round& round);
Error Stopping();

Error NoSuchPath(const Request& request);
Error WrongMethod(const Request& request, std::string_view allowed);
// kUnsupportedMedia for a body of another type than JSON.
Result<void> RequireJson(const Request& request);

}  // namespace allot
