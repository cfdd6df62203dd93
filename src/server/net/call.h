// One request on its way: from the network thread to the engine thread and back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "server/net/context.h"
#include "server/net/net_thread.h"
#include "server/net/path_pattern.h"
#include "server/net/request.h"
#include "server/ops/log.h"
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

// Runs `f(turn, call)` on the queue's engine thread.
template <typename F>
void OnEngine(Call call, F f) {
  NetThread& net = call.reply.net();
  const QueuePtr queue = call.queue;
  const AskerId asker = call.asker();
  net.Tell(queue, Command([call = std::move(call), f = std::move(f)](Round& round) mutable {
                    round.what = call.what();
                    f(round, std::move(call));
                  }).By(asker));
}

// The same for what only looks, at one thing, or refuses to change anything while the disk is full. With `light` it is
// surely short: it may run on this thread.
template <typename F>
void AskEngine(Call call, F f, bool light = false) {
  NetThread& net = call.reply.net();
  const QueuePtr queue = call.queue;
  const AskerId asker = call.asker();
  net.Tell(queue, Command::Look([call = std::move(call), f = std::move(f)](Round& round) mutable {
                    round.what = call.what();
                    f(round, std::move(call));
                  })
                      .By(asker)
                      .Light(light));
}

// The answer where too many looks of one asker wait.
Error Crowded();
// Where as many of something are under way as may be. REQUIRES: not kIn.
Error Busy(AtOnce::Entry entry, std::string_view others);

// The same for what looks at many things: it waits in line with what others ask, and has a fair part of the engine's
// time. kUnavailable where too many of the same asker wait already.
template <typename F>
void BrowseEngine(Call call, F f) {
  NetThread& net = call.reply.net();
  const QueuePtr queue = call.queue;
  const AskerId asker = call.asker();
  const bool patient = call.request.asker != 0;
  Command command = Command::Browse(asker, [call = std::move(call), f = std::move(f)](Round& round) mutable {
    if (round.crowded) {
      NetThread& home = call.reply.net();
      return round.Send(home, [c = std::move(call)]() mutable { c.Fail(Crowded()); });
    }
    round.what = call.what();
    f(round, std::move(call));
  });
  net.Tell(queue, patient ? std::move(command) : std::move(command).OrRefuse());
}

// From the engine thread: `render(call, body)` fills the answer, on the network thread, once everything so far is
// durable.
template <typename F>
void Answer(Round& round, Call call, int status, F render) {
  NetThread& net = call.reply.net();
  round.Send(net, [call = std::move(call), status, render = std::move(render)]() mutable {
    std::string body;
    render(call, body);
    call.reply.Send(status, body);
  });
}

// The same for an answer that may be large or take long: `render` runs on the thread for that, unless the client is
// gone. It may return a Result<void>, whose error is the answer then. kUnavailable where too many of the same asker
// wait to be put into words, unless what `render` holds meanwhile is `small`.
template <typename F>
void AnswerApart(Round& round, Call call, F render, bool small = false) {
  NetThread& net = call.reply.net();
  round.Send(net, [call = std::move(call), render = std::move(render), small]() mutable {
    if (!call.reply.alive()) return;
    RenderLane& lane = call.server.rendering;
    const AskerId asker = call.asker();
    // Views that are watched are bounded, and one look at each is under way.
    const bool unbounded = small || call.request.asker != 0;
    if (!unbounded && !lane.Enter(asker)) return call.Fail(Crowded());
    auto work = [call = std::move(call), render = std::move(render)]() mutable {
      std::string body;
      NetThread& home = call.reply.net();
      if constexpr (std::is_void_v<std::invoke_result_t<F&, Call&, std::string&>>) {
        render(call, body);
      } else {
        Result<void> rendered = render(call, body);
        if (!rendered.ok()) {
          return home.Post(Closure([c = std::move(call), rendered]() mutable { c.Fail(rendered.error()); }));
        }
      }
      home.Post(Closure([c = std::move(call), body = std::move(body)]() mutable { c.reply.Send(200, body); }));
    };
    lane.Post(asker, std::move(work), unbounded ? RenderLane::Place::kUnbounded : RenderLane::Place::kEntered);
  });
}

// For a body that may take long to parse: `parse(call)` runs on the thread for that, and gives a Result. Then
// `then(call, value)` runs on the network thread, or the error is the answer. kUnavailable where too many of the same
// asker wait.
template <typename Parse, typename Then>
void ParseApart(Call call, Parse parse, Then then) {
  RenderLane& lane = call.server.parsing;
  const AskerId asker = call.asker();
  if (!lane.Enter(asker)) return call.Fail(Crowded());
  auto work = [call = std::move(call), parse = std::move(parse), then = std::move(then)]() mutable {
    auto parsed = parse(call);
    NetThread& home = call.reply.net();
    home.Post(Closure([c = std::move(call), then = std::move(then), parsed = std::move(parsed)]() mutable {
      if (!parsed.ok()) return c.Fail(parsed.error());
      then(std::move(c), std::move(*parsed));
    }));
  };
  lane.Post(asker, std::move(work), RenderLane::Place::kEntered);
}

// The same, but `render` says itself what becomes of call.reply.
template <typename F>
void Return(Round& round, Call call, F finish) {
  NetThread& net = call.reply.net();
  round.Send(net, [call = std::move(call), finish = std::move(finish)]() mutable { finish(std::move(call)); });
}

// A line for the audit of what this turn changes: written once that is durable.
inline void AuditLater(Round& round, const Call& call, std::string action, std::string object) {
  round.Send(call.reply.net(), [who = call.request.principal, action = std::move(action), object = std::move(object)] {
    Audit(*who, action, object);
  });
}

inline void AnswerError(Round& round, Call call, Error error) {
  Return(round, std::move(call), [error = std::move(error)](Call c) { c.Fail(error); });
}

// A job's id in a path: a number, or `last`.
struct JobName {
  std::optional<JobId> id;
};
Result<JobName> ParseJobName(std::string_view text);
// The job as this caller may see it. kUnknownJob otherwise.
Result<JobView> FindJob(Round& round, const Call& call, const JobName& name);
// The same for changing it.
Result<JobView> FindOwnJob(Round& round, const Call& call, const JobName& name);

// How a job spec in this call's body is read.
SpecOptions OptionsOf(const Call& call);

// Nothing new is taken while stopping, or without space.
std::optional<Error> RefuseNew(const Round& round);
Error Stopping();

Error NoSuchPath(const Request& request);
Error WrongMethod(const Request& request, std::string_view allowed);
// kUnsupportedMedia for a body of another type than JSON.
Result<void> RequireJson(const Request& request);

}  // namespace allot
