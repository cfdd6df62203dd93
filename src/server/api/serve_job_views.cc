// SPDX-License-Identifier: Apache-2.0
// /v1/queues/Q/jobs/ID/picture and /errors: a job's tasks seen from afar.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/flow/places.h"
#include "server/ops/clock.h"
#include "server/wire/job_views_json.h"

namespace allot {
namespace {

// Looks at errors in pages: the engine says which tasks may have one, the store has the texts.
class ErrorWalk {
 public:
  explicit ErrorWalk(const ErrorsQuery& query) : query_(query) {}

  // On the engine thread: the tasks of the next page.
  Result<void> Collect(Round& round, const JobView& job) {
    job_ = job.id;
    tasks_.clear();
    next_.reset();
    if (query_.from >= job.count) return {};
    const std::size_t page = std::min(kPage, query_.limit - groups_.examined());
    for (const TaskState state : {TaskState::kFailed, TaskState::kRetrying}) {
      TRY(const TaskPage& found, round.engine.looks().Tasks({job_, query_.from, page, state}));
      for (const TaskView& task : found.tasks) tasks_.push_back(task.index);
      // Beyond, not all are known.
      if (found.next && (!next_ || *found.next < *next_)) next_ = found.next;
    }
    std::sort(tasks_.begin(), tasks_.end());
    if (tasks_.size() > page) next_ = std::min(next_.value_or(tasks_[page]), tasks_[page]);
    if (next_) tasks_.erase(std::lower_bound(tasks_.begin(), tasks_.end(), *next_), tasks_.end());
    return {};
  }

  // On the network thread: their texts. True: that was all, or enough.
  Result<bool> Read(Store& store) {
    const Instant began = ReadMonotonic();
    for (std::size_t i = 0; i < tasks_.size();) {
      if (spent_ + (ReadMonotonic() - began) >= kMostTime) {
        next_ = tasks_[i];
        return true;
      }
      std::size_t end = i + 1;
      while (end < tasks_.size() && tasks_[end] - tasks_[end - 1] <= kNear) ++end;
      Store::OutcomeQuery query;
      query.job = job_;
      query.from = tasks_[i];
      query.end = static_cast<std::uint64_t>(tasks_[end - 1]) + 1;
      query.max_bytes = kReadBytes;
      TRY(const std::vector<Outcome>& outcomes, store.ReadOutcomes(query));
      // An answer may end early: what is behind its last one is not known yet.
      const std::uint64_t known = outcomes.empty() ? query.end : outcomes.back().index + std::uint64_t{1};
      auto outcome = outcomes.begin();
      for (; i < end && tasks_[i] < known; ++i) {
        while (outcome != outcomes.end() && outcome->index < tasks_[i]) ++outcome;
        const bool has =
            outcome != outcomes.end() && outcome->index == tasks_[i] && outcome->kind == OutcomeKind::kError;
        groups_.Add(tasks_[i], has ? std::string_view(outcome->text) : std::string_view());
      }
    }
    spent_ += ReadMonotonic() - began;
    if (!next_ || groups_.examined() >= query_.limit || spent_ >= kMostTime) return true;
    query_.from = *next_;
    return false;
  }

  std::string Text() const {
    std::string out;
    AppendErrorGroups(job_, groups_, next_, out);
    return out;
  }

 private:
  static constexpr std::size_t kPage = 500;
  // A network thread has others to serve: what is not read by then is for the next request.
  static constexpr Duration kMostTime = milliseconds(50);
  // Tasks as near as this are read together, with what is between them.
  static constexpr TaskIndex kNear = 4;
  static constexpr std::size_t kReadBytes = 1 << 20;

  ErrorsQuery query_;
  JobId job_;
  std::vector<TaskIndex> tasks_;   // of this page, in order
  std::optional<TaskIndex> next_;  // behind it; none: that was all
  ErrorGroups groups_;
  Duration spent_{0};
};

}  // namespace

Flow ShowPicture(Call call) {
  CO_TRY(const JobName name, ParseJobName(call.part("job")));
  CO_TRY(const PictureQuery query, ParsePictureQuery(call.request.query));
  RoundHere round = co_await Browse(call);
  CO_TRY(const JobView& job, FindJob(*round, call, name));
  CO_TRY(const TaskPicture& picture, round->engine.looks().Picture(job.id, query.from, query.to, query.parts));
  co_await AfterCommit(round);
  std::string out;
  AppendPicture(job.id, picture, out);
  co_return Answer(200, std::move(out));
}

Flow ListErrors(Call call) {
  CO_TRY(JobName name, ParseJobName(call.part("job")));
  CO_TRY(const ErrorsQuery query, ParseErrorsQuery(call.request.query));
  ErrorWalk walk(query);
  for (bool all = false; !all;) {
    RoundHere round = co_await BrowseOn(call);
    CO_TRY(const JobView& job, FindJob(*round, call, name));
    name.id = job.id;  // `last` stays what it was
    CO_TRY_OK(walk.Collect(*round, job));
    co_await AfterCommit(round);
    CO_TRY(all, walk.Read(call.queue->store()));
  }
  co_return Answer(200, walk.Text());
}

}  // namespace allot
