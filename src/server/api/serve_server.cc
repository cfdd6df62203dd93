// What is of no queue: /livez, /readyz, /metrics, /v1/server.
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/net/call.h"
#include "server/ops/clock.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_query.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

void ShowAlive(Call call) { call.reply.Send(200, "{\"status\":\"ok\"}"); }

void ShowReady(Call call) {
  if (call.server.stopping.load(std::memory_order_relaxed)) return call.Fail(Stopping());
  for (const QueuePtr& queue : call.server.queues->All()) {
    if (const Stall stall = queue->stall(); stall != Stall::kNone) {
      // Not 507, the code's own status: whoever asks here looks at the status alone, and 503 means "not now" to all.
      std::string body;
      Error error = ErrorOf(stall);
      error.message =
          (stall == Stall::kDiskFull ? "no space for the queue " : "no database for the queue ") + queue->name();
      AppendError(error, body);
      return call.reply.Send(503, body);
    }
  }
  call.reply.Send(200, "{\"status\":\"ok\"}");
}

namespace {

// A reading of all metrics. It is answered when the last queue has let go of it, having told its numbers or, because it
// was just being deleted, not.
struct Scrape {
  explicit Scrape(Call c) : call(std::move(c)) {}
  ~Scrape() {
    NetThread& net = call.reply.net();
    net.Post(Closure(
        [held = std::move(call)]() mutable { held.reply.Send(200, held.server.metrics.Render(), kMetricsType); }));
  }
  Scrape(const Scrape&) = delete;
  Scrape& operator=(const Scrape&) = delete;
  Call call;
};

}  // namespace

void ShowMetrics(Call call) {
  if (call.principal().queue || call.principal().user) {
    return call.Fail({Code::kForbidden, "metrics speak of all queues, this token only of its own",
                      "use a token that is fixed to neither queue nor user"});
  }
  const auto scrape = std::make_shared<Scrape>(std::move(call));
  NetThread& net = scrape->call.reply.net();
  const AskerId asker = scrape->call.asker();
  for (const QueuePtr& queue : scrape->call.server.queues->All()) {
    if (queue->metrics() == nullptr) continue;
    // All of it on the engine thread: that one has ended before a queue's metrics go.
    net.Tell(queue, Command::Browse(asker, [scrape, queue](Round& round) {
               queue->PublishSteps();
               queue->metrics()->Update(round.engine.looks().Stats(), round.engine.looks().Reasons(), round.now.wall);
               const Result<Store::Usage> usage = queue->store().ReadUsage();
               if (usage.ok())
                 queue->metrics()->Update(*usage, round.stall == Stall::kDiskFull, round.stall == Stall::kUnavailable);
               round.Send(scrape->call.reply.net(), [scrape] {});
             }));
  }
}

namespace {

void AppendPrincipal(const Principal& you, bool tokens, JsonWriter& json) {
  wire::Writer<wire::kYou> w(json);
  w.Bool("tokens", tokens);
  w.Text("name", you.name);
  w.Text("user", you.user);
  w.Text("queue", you.queue);
  w.Value("scopes").BeginArray();
  for (const Scope scope : kAllScopes) {
    if (you.Has(scope)) json.String(ScopeText(scope));
  }
  json.EndArray();
}

void AppendServer(const Call& call, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kServerInfo> w(json);
  w.Text("name", "allotter");
  w.Text("version", Version());
  w.Int("protocol", kProtocol);
  w.Int("started_at_ms", ToMillis(call.server.started_at));
  w.Int("now_at_ms", ToMillis(ReadClock().wall));
  w.Count("queues", call.server.queues->size());
  AppendPrincipal(call.principal(), call.server.tokens->required(), w.Value("you"));
}

}  // namespace

void ShowServer(Call call) {
  std::string out;
  AppendServer(call, out);
  call.reply.Send(200, out);
}

}  // namespace allot
