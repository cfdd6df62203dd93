#include "server/live/event_stream.h"

#include <memory>
#include <utility>

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

void ServeEvents(Call call, JobName name) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  AskEngine(std::move(call), [name](Round& round, Call c) {
    const Result<JobView> job = FindJob(round, c, name);
    if (!job.ok()) return AnswerError(round, std::move(c), job.error());
    const Result<void> admitted = round.waits.Admit(round, job->id);
    if (!admitted.ok()) return AnswerError(round, std::move(c), admitted.error());
    // Only the network thread can tell whether someone is still there: it takes the connection over, and then asks the
    // engine thread to watch.
    Return(round, std::move(c), [id = job->id](Call there) {
      const QueuePtr queue = there.queue;
      const AskerId asker = there.asker();
      const std::shared_ptr<OpenResponse> connection = there.reply.Hijack();
      if (connection == nullptr) return;
      const auto stream = std::make_shared<EventStream>(connection, queue, asker);
      stream->Begin();
      Executor& executor = connection->home();
      connection->home().Post(
          queue,
          Command::Look([id, stream, &executor, owner = connection->owner(), gone = OnDrop(executor, [stream, queue] {
                                                                               stream->Fail(queue->WhyFinished());
                                                                             })](Round& now) mutable {
            gone.Release();
            Result<JobView> view = now.engine.looks().Describe(id);
            if (!view.ok()) return now.Send(executor, [stream, error = view.error()] { stream->Fail(error); });
            now.DependsOn(id);
            const bool ended = Ended(view->state);
            now.Send(executor, [stream, view = std::move(*view), ended] { stream->Send(view, ended); });
            if (ended) return;
            now.waits.Add(now, id, owner, std::make_unique<EventsWatcher>(executor, stream, now.now.mono), true);
          }).By(asker));
    });
  });
}

}  // namespace allot
