// /v1/queues/Q/jobs/ID/picture and /errors: a job's tasks seen from afar.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "server/net/call.h"
#include "server/ops/clock.h"
#include "server/wire/job_views_json.h"

namespace allot {
namespace {

// Looks at errors in pages: the engine says which tasks may have one, the store has the texts.
class ErrorWalk : public std::enable_shared_from_this<ErrorWalk> {
 public:
  ErrorWalk(Call call, JobName name, const ErrorsQuery& query)
      : call_(std::move(call)),
        net_(call_.reply.net()),
        queue_(call_.queue),
        asker_(call_.asker()),
        name_(name),
        query_(query) {}

  void Begin() { Ask(); }

 private:
  static constexpr std::size_t kPage = 500;
  // A network thread has others to serve: what is not read by then is for the next request.
  static constexpr Duration kMostTime = milliseconds(50);
  // Tasks as near as this are read together, with what is between them.
  static constexpr TaskIndex kNear = 4;
  static constexpr std::size_t kReadBytes = 1 << 20;

  void Ask() {
    net_.Tell(queue_, Command::Browse(asker_, [self = shared_from_this()](Round& round) { self->Collect(round); }));
  }

  // On the engine thread.
  void Collect(Round& round) {
    const Result<JobView> job = FindJob(round, call_, name_);
    if (!job.ok()) return AnswerError(round, std::move(call_), job.error());
    job_ = job->id;
    name_.id = job->id;  // `last` stays what it was
    tasks_.clear();
    next_.reset();
    if (query_.from < job->count) {
      const std::size_t page = std::min(kPage, query_.limit - groups_.examined());
      for (const TaskState state : {TaskState::kFailed, TaskState::kRetrying}) {
        const Result<TaskPage> found = round.engine.looks().Tasks({job_, query_.from, page, state});
        if (!found.ok()) return AnswerError(round, std::move(call_), found.error());
        for (const TaskView& task : found->tasks) tasks_.push_back(task.index);
        // Beyond, not all are known.
        if (found->next && (!next_ || *found->next < *next_)) next_ = found->next;
      }
      std::sort(tasks_.begin(), tasks_.end());
      if (tasks_.size() > page) next_ = std::min(next_.value_or(tasks_[page]), tasks_[page]);
      if (next_) tasks_.erase(std::lower_bound(tasks_.begin(), tasks_.end(), *next_), tasks_.end());
    }
    round.Send(net_, [self = shared_from_this()] { self->Read(); });
  }

  // On the network thread.
  void Read() {
    const Instant began = ReadMonotonic();
    for (std::size_t i = 0; i < tasks_.size();) {
      if (spent_ + (ReadMonotonic() - began) >= kMostTime) {
        next_ = tasks_[i];
        return Finish();
      }
      std::size_t end = i + 1;
      while (end < tasks_.size() && tasks_[end] - tasks_[end - 1] <= kNear) ++end;
      Store::OutcomeQuery query;
      query.job = job_;
      query.from = tasks_[i];
      query.end = static_cast<std::uint64_t>(tasks_[end - 1]) + 1;
      query.max_bytes = kReadBytes;
      const Result<std::vector<Outcome>> outcomes = queue_->store().ReadOutcomes(query);
      if (!outcomes.ok()) return call_.Fail(outcomes.error());
      // An answer may end early: what is behind its last one is not known yet.
      const std::uint64_t known = outcomes->empty() ? query.end : outcomes->back().index + std::uint64_t{1};
      auto outcome = outcomes->begin();
      for (; i < end && tasks_[i] < known; ++i) {
        while (outcome != outcomes->end() && outcome->index < tasks_[i]) ++outcome;
        const bool has =
            outcome != outcomes->end() && outcome->index == tasks_[i] && outcome->kind == OutcomeKind::kError;
        groups_.Add(tasks_[i], has ? std::string_view(outcome->text) : std::string_view());
      }
    }
    spent_ += ReadMonotonic() - began;
    if (!next_ || groups_.examined() >= query_.limit || spent_ >= kMostTime) return Finish();
    query_.from = *next_;
    Ask();
  }

  void Finish() {
    std::string out;
    AppendErrorGroups(job_, groups_, next_, out);
    call_.reply.Send(200, out);
  }

  Call call_;
  NetThread& net_;
  const QueuePtr queue_;
  const AskerId asker_;
  JobName name_;
  ErrorsQuery query_;
  JobId job_;
  std::vector<TaskIndex> tasks_;   // of this page, in order
  std::optional<TaskIndex> next_;  // behind it; none: that was all
  ErrorGroups groups_;
  Duration spent_{0};
};

}  // namespace

void ShowPicture(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  const Result<PictureQuery> query = ParsePictureQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  BrowseEngine(std::move(call), [name = *name, query = *query](Round& round, Call c) {
    const Result<JobView> job = FindJob(round, c, name);
    if (!job.ok()) return AnswerError(round, std::move(c), job.error());
    Result<TaskPicture> picture = round.engine.looks().Picture(job->id, query.from, query.to, query.parts);
    if (!picture.ok()) return AnswerError(round, std::move(c), picture.error());
    Answer(round, std::move(c), 200,
           [id = job->id, picture = std::move(*picture)](Call&, std::string& out) { AppendPicture(id, picture, out); });
  });
}

void ListErrors(Call call) {
  const Result<JobName> name = ParseJobName(call.part("job"));
  if (!name.ok()) return call.Fail(name.error());
  const Result<ErrorsQuery> query = ParseErrorsQuery(call.request.query);
  if (!query.ok()) return call.Fail(query.error());
  std::make_shared<ErrorWalk>(std::move(call), *name, *query)->Begin();
}

}  // namespace allot
