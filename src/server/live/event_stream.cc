// SPDX-License-Identifier: Apache-2.0
#include "server/live/event_stream.h"

#include <memory>
#include <utility>

#include "server/flow/places.h"
#include "server/live/event_writer.h"
#include "server/queue/on_drop.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLeastProgressPause = 250ms;  // four events a second

// The network thread's side.
class EventStream {
 public:
  EventStream(std::shared_ptr<OpenResponse> connection, QueuePtr queue, AskerId asker)
      : connection_(std::move(connection)), queue_(std::move(queue)), asker_(asker) {}

  void Begin() {
    writer_ = EventWriter::Open(
        connection_,
        Closure([queue = queue_, &net = connection_->home(), owner = connection_->owner(), asker = asker_] {
          net.Post(queue,
                   Command::Look([owner](Round& round) { round.waits.RemoveOwner(round.engine, owner); }).By(asker));
        }));
  }
  void Send(const JobView& job, bool last) {
    std::string data;
    AppendJob(job, queue_->name(), data);
    auto text = std::make_shared<const std::string>(EventText(last ? "end" : "job", data));
    if (last) {
      writer_->End(std::move(text));
    } else {
      writer_->Send(std::move(text));
    }
  }
  void Fail(const Error& error) {
    std::string data;
    AppendError(error, data);
    writer_->End(std::make_shared<const std::string>(EventText("error", data)));
  }
  void Ping() { writer_->Ping(); }

 private:
  const std::shared_ptr<OpenResponse> connection_;
  std::shared_ptr<EventWriter> writer_;  // from Begin()
  const QueuePtr queue_;
  const AskerId asker_;
};

// The engine thread's side.
class EventsWatcher final : public JobWatcher {
 public:
  EventsWatcher(Executor& executor, std::shared_ptr<EventStream> stream, Instant now)
      : executor_(executor), stream_(std::move(stream)), last_(now) {}

  Next Look(Round& round, JobId job, News news) override {
    if (news == News::kProgress && round.now.mono - last_ < kLeastProgressPause) {
      due_ = true;
      return Next::kStay;
    }
    if (news == News::kDeadline && !due_) {
      last_ = round.now.mono;
      round.Send(executor_, [stream = stream_] { stream->Ping(); });
      return Next::kStay;
    }
    Result<JobView> view = round.engine.looks().Describe(job);
    if (!view.ok()) {  // it was not kept
      round.Send(executor_, [stream = stream_, error = view.error()] { stream->Fail(error); });
      return Next::kGo;
    }
    const bool last = Ended(view->state);
    last_ = round.now.mono;
    due_ = false;
    round.Send(executor_, [stream = stream_, view = std::move(*view), last] { stream->Send(view, last); });
    return last ? Next::kGo : Next::kStay;
  }
  void OnQueueGone(Round& round, const Error& why) override {
    round.Send(executor_, [stream = stream_, why] { stream->Fail(why); });
  }
  std::optional<Instant> deadline() const override { return last_ + (due_ ? kLeastProgressPause : kPingEvery); }

 private:
  Executor& executor_;
  const std::shared_ptr<EventStream> stream_;
  Instant last_;
  bool due_ = false;
};

}  // namespace

Flow ServeEvents(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY_OK(ParseNoQuery(call.request.query));
  RoundHere round = co_await Look(call);
  CO_TRY(const JobView& job, FindJob(*round, call, name));
  CO_TRY_OK(round->waits.Admit(*round, job.id));
  const JobId id = job.id;
  // Only the network thread can tell whether someone is still there: it takes the connection over, and then asks the
  // engine thread to watch.
  co_await AfterCommit(round);
  const std::shared_ptr<OpenResponse> connection = call.reply.Hijack();
  if (connection == nullptr) co_return kAnswered;
  const auto stream = std::make_shared<EventStream>(connection, call.queue, call.asker());
  stream->Begin();
  Executor& executor = connection->home();
  OnDrop gone(executor, [stream, queue = call.queue] { stream->Fail(queue->WhyFinished()); });
  round = co_await Look(call);
  gone.Release();
  const Result<JobView> view = round->engine.looks().Describe(id);
  if (!view.ok()) {
    round->Send(executor, [stream, error = view.error()] { stream->Fail(error); });
    co_return kAnswered;
  }
  round->DependsOn(id);
  const bool ended = Ended(view->state);
  round->Send(executor, [stream, view = *view, ended] { stream->Send(view, ended); });
  if (!ended) {
    auto watcher = std::make_unique<EventsWatcher>(executor, stream, round->now.mono);
    round->waits.Add(*round, id, connection->owner(), std::move(watcher), true);
  }
  co_return kAnswered;
}

}  // namespace allot
