// Jobs by filter, all at once or page by page, and users: nothing here looks at every job.
#include <algorithm>

#include "base/bounds.h"
#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/job_sweep.h"
#include "engine/pace.h"
#include "engine/tallies/hold_reasons.h"

namespace allot {
namespace {

// What it costs to do something with a job.
constexpr std::int64_t kActionNanoseconds = 5000;
constexpr std::int64_t kLeaseNanoseconds = 500;
// And what it may cost while there is larger work in steps, of which each command does some.
constexpr std::int64_t kBusyNanoseconds = 2'000'000;
constexpr std::int64_t kPageNanoseconds =
    JobLists::kJobNanoseconds * static_cast<std::int64_t>(bounds::kMaxJobsScannedPerPage);
constexpr std::int64_t kUsersNanoseconds = 500'000;
constexpr std::size_t kMostLooks = 100'000;  // at sorts of workers and limits, for a page

}  // namespace

// --- Lists.

std::optional<JobId> Engine::LastJob(std::string_view user) const {
  JobFilter filter(std::nullopt, {}, user);
  std::optional<JobId> last;
  std::int64_t nanoseconds = kPageNanoseconds;
  lists_.Descend(filter, 0, jobs_.places(), nanoseconds, [&](const EngineJob& job) {
    last = job.id();
    return false;
  });
  return last;
}

JobPage Engine::List(const JobQuery& query) const {
  JobFilter filter(query.state, query.tag, query.user);
  JobPage page;
  const std::size_t limit = std::max<std::size_t>(1, query.limit);
  std::int64_t nanoseconds = kPageNanoseconds;
  std::size_t looked = 0;
  const std::size_t place = lists_.Descend(filter, 0, query.before ? jobs_.PlaceOf(*query.before) : jobs_.places(),
                                           nanoseconds, [&](const EngineJob& job) {
                                             const std::size_t looks = holds_->looks();
                                             page.jobs.push_back(View(job));
                                             // Where many limits apply to each, the page is shorter.
                                             looked += holds_->looks() - looks;
                                             return page.jobs.size() < limit && looked < kMostLooks;
                                           });
  if (place > 0) page.next = jobs_.IdAt(place);
  return page;
}

// --- Users.

const EngineJob* Engine::Oldest(UserTable::Entry& user, std::int64_t& nanoseconds) const {
  if (user.open == 0) return nullptr;
  const EngineJob* oldest = nullptr;
  JobFilter filter = JobFilter::OpenOf(user);
  const std::size_t place =
      lists_.Ascend(filter, jobs_.PlaceOf(user.oldest_from), jobs_.places(), nanoseconds, [&](const EngineJob& job) {
        oldest = &job;
        return false;
      });
  if (oldest != nullptr) {
    user.oldest_from = oldest->id();
  } else if (place < jobs_.places()) {
    user.oldest_from = jobs_.IdAt(place);  // the next look goes on there
  }
  return oldest;
}

UserPage Engine::Users(const UserQuery& query) const {
  UserPage page;
  page.active = users_.active();
  page.weights = users_.weights();
  page.running = users_.running();
  page.recent = users_.Rate(users_.recent(), engine_time_);
  std::int64_t nanoseconds = kUsersNanoseconds;
  const auto add = [&](UserTable::Entry& user) {
    UserView& view = page.users.emplace_back();
    view.user = user.name;
    view.weight = user.weight;
    view.jobs = user.jobs;
    view.ready = user.ready;
    view.waiting = user.waiting;
    view.running = user.running;
    view.started = user.started;
    view.recent = users_.Rate(user.recent, engine_time_);
    if (const EngineJob* oldest = Oldest(user, nanoseconds)) {
      view.oldest = std::max(oldest->submitted_at, oldest->key.scheduled_for);
    }
    if (user.waited) view.waited = *user.waited;
  };
  if (query.only) {
    if (UserTable::Entry* user = users_.Find(*query.only)) add(*user);
    return page;
  }
  users_.ForEach(query.after, [&](UserTable::Entry& user) {
    // A page does not end with the user without a name: to go on after that is to begin.
    if (page.users.size() >= query.limit && !page.users.empty() && !page.users.back().user.empty()) {
      page.next = page.users.back().user;
      return false;
    }
    add(user);
    return true;
  });
  return page;
}

// --- All that a filter finds.

bool Engine::Act(const Now& now, EngineJob& job, SweepAction action, std::int64_t& nanoseconds) {
  const JobId id = job.id();
  bool acted = false;
  switch (action) {
    case SweepAction::kCount:
      return false;
    case SweepAction::kCancel:
      if (Ended(job.state)) return false;
      nanoseconds -= kLeaseNanoseconds * job.leased;
      acted = Cancel(now, id).ok();
      break;
    case SweepAction::kPause:
      if (Ended(job.state) || job.state == JobState::kPaused) return false;
      acted = Pause(now, id).ok();
      break;
    case SweepAction::kResume:
      if (job.state != JobState::kPaused) return false;
      acted = Resume(now, id).ok();
      break;
    case SweepAction::kRetry: {
      if (!Ended(job.state)) return false;
      const Result<std::uint32_t> retried = Retry(now, id);
      acted = retried.ok() && *retried > 0;
      break;
    }
  }
  nanoseconds -= kActionNanoseconds + kOrderNanoseconds * static_cast<std::int64_t>(orders_.cost());
  const bool busy = orders_.Building() || orders_.Cleaning() || grouped_epoch_ != classes_.epoch() ||
                    limit_epoch_ != limits_.epoch() || dispatcher_->Busy() || dealing_ || !unstaged_.empty() ||
                    timers_.ToSweep(jobs_);
  if (busy) nanoseconds -= kBusyNanoseconds;
  return acted;
}

bool Engine::Collect(const Now& now, JobSweep& sweep, std::size_t budget) {
  const SweepRequest& request = sweep.request_;
  sweep.touched_.clear();
  if (!sweep.begun_) {
    sweep.begun_ = true;
    const JobId newest = jobs_.newest();
    sweep.up_to_ = request.up_to.value_or(newest);
    // Whatever comes later is left alone, also where the caller names an id that nobody has yet.
    sweep.last_ = std::min(sweep.up_to_, newest);
  }
  if (sweep.complete_) return true;
  JobFilter filter(request.state, request.tag, request.user);
  auto nanoseconds = static_cast<std::int64_t>(budget) * 1000;
  const std::size_t to = jobs_.PlaceOf(JobId{sweep.last_.value + 1});
  // No command takes a job out of the vector, or puts one in.
  const std::size_t place =
      lists_.Ascend(filter, jobs_.PlaceOf(JobId{sweep.seen_to_.value + 1}), to, nanoseconds, [&](EngineJob& job) {
        ++sweep.matching_;
        const JobTasks& tasks = job.tasks;
        sweep.tasks_ += Ended(job.state) ? tasks.out() : tasks.count() - tasks.done() - tasks.failed();
        if (Act(now, job, request.action, nanoseconds)) {
          ++sweep.changed_;
          sweep.touched_.push_back(job.id());
        }
        return nanoseconds > 0;
      });
  sweep.complete_ = place >= to;
  if (place > 0) sweep.seen_to_ = jobs_.IdAt(place - 1);
  return sweep.complete_;
}

}  // namespace allot
