// Jobs by filter, all at once or page by page, and users: nothing here looks at every job.
#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "base/bounds.h"
#include "base/check.h"
#include "dispatch/dispatcher.h"
#include "engine/engine.h"
#include "engine/errors.h"
#include "engine/hold_reasons.h"
#include "engine/job_sweep.h"
#include "engine/pace.h"

namespace allot {
namespace {

// What it costs to pass a block by, to look at a job, and to do something with one.
constexpr std::int64_t kBlockNanoseconds = 10;
constexpr std::int64_t kJobNanoseconds = 100;
constexpr std::int64_t kActionNanoseconds = 5000;
constexpr std::int64_t kLeaseNanoseconds = 500;
// And what it may cost while there is larger work in steps, of which each command does some.
constexpr std::int64_t kBusyNanoseconds = 2'000'000;
constexpr std::int64_t kPageNanoseconds = kJobNanoseconds * static_cast<std::int64_t>(bounds::kMaxJobsScannedPerPage);
constexpr std::int64_t kUsersNanoseconds = 500'000;
constexpr std::size_t kMostLooks = 100'000;  // at sorts of workers and limits, for a page

using JobKeyList = boost::container::small_vector<JobBlocks::Key, 16>;

void AppendKeys(const JobTerms& terms, JobKeyList& keys) {
  keys.push_back(JobBlocks::UserKey(terms.user));
  for (const std::string& tag : terms.tags) keys.push_back(JobBlocks::TagKey(tag));
}

}  // namespace

// Refers to what whoever asks holds.
class JobFilter {
 public:
  JobFilter(std::optional<JobState> state, std::string_view tag, std::string_view user, bool open = false)
      : tag_(tag), user_(user) {
    want_.state = state;
    want_.open = open;
    if (!user.empty()) want_.keys.push_back(JobBlocks::UserKey(user));
    if (!tag.empty()) want_.keys.push_back(JobBlocks::TagKey(tag));
  }
  // The jobs of one user, the one without a name too.
  static JobFilter OpenOf(const UserTable::Entry& user) {
    JobFilter filter(std::nullopt, {}, user.name, true);
    filter.entry_ = &user;
    return filter;
  }
  const JobBlocks::Want& want() const { return want_; }
  bool Finds(const EngineJob& job) {
    if (want_.open && !job.open) return false;
    if (want_.state && job.state != *want_.state) return false;
    if (entry_ != nullptr) return job.user == entry_;
    if (user_.empty() && tag_.empty()) return true;
    // Many jobs have their terms in common.
    if (job.terms.get() != seen_) {
      seen_ = job.terms.get();
      found_ = (user_.empty() || seen_->user == user_) &&
               (tag_.empty() || std::binary_search(seen_->tags.begin(), seen_->tags.end(), tag_));
    }
    return found_;
  }

 private:
  const std::string_view tag_, user_;
  const UserTable::Entry* entry_ = nullptr;
  JobBlocks::Want want_;
  const JobTerms* seen_ = nullptr;
  bool found_ = false;
};

std::size_t Engine::PlaceOf(JobId from) const {
  const auto place = std::lower_bound(by_id_.begin(), by_id_.end(), from,
                                      [](const auto& entry, JobId key) { return entry.first < key; });
  return static_cast<std::size_t>(place - by_id_.begin());
}

std::size_t Engine::EndOf(std::size_t block) const {
  return block + 1 < blocks_.size() ? blocks_.begin(block + 1) : by_id_.size();
}

void Engine::ListJob(const EngineJob& job, std::size_t place) {
  JobKeyList keys;
  // Jobs that come one after the other often have their terms in common.
  if (job.terms != listed_ || blocks_.Full(place)) {
    AppendKeys(*job.terms, keys);
    listed_ = job.terms;
  }
  blocks_.Append(job.id(), place, job.state, keys);
  job.block = static_cast<std::uint32_t>(blocks_.size() - 1);
}

void Engine::NoteKeys(const EngineJob& job) {
  JobKeyList keys;
  AppendKeys(*job.terms, keys);
  blocks_.AddKeys(job.id(), keys, job.block);
}

void Engine::RenewBlock(std::size_t block) const {
  JobKeyList keys;
  const JobTerms* last = nullptr;
  for (std::size_t place = blocks_.begin(block); place < EndOf(block); ++place) {
    const EngineJob* job = by_id_[place].second;
    if (job == nullptr || job->terms.get() == last) continue;
    last = job->terms.get();
    AppendKeys(*last, keys);
  }
  blocks_.Renew(block, keys);
  listed_.reset();
}

template <typename Visit>
std::size_t Engine::Ascend(JobFilter& filter, std::size_t from, std::size_t to, std::int64_t& nanoseconds,
                           Visit visit) const {
  std::size_t place = from;
  for (std::size_t block = place < to ? blocks_.BlockAt(place) : 0; place < to; ++block) {
    if (nanoseconds <= 0) return place;
    const std::size_t end = EndOf(block);
    nanoseconds -= kBlockNanoseconds;
    if (!blocks_.May(block, filter.want())) {
      place = std::min(end, to);
      continue;
    }
    const bool whole = place == blocks_.begin(block) && end <= to;
    bool found = false;
    for (; place < std::min(end, to); ++place) {
      EngineJob* job = by_id_[place].second;
      nanoseconds -= kJobNanoseconds;
      if (job == nullptr || !filter.Finds(*job)) continue;
      found = true;
      if (!visit(*job)) return place + 1;
    }
    if (whole && !found && blocks_.stale(block)) RenewBlock(block);
  }
  return place;
}

template <typename Visit>
std::size_t Engine::Descend(JobFilter& filter, std::size_t from, std::size_t to, std::int64_t& nanoseconds,
                            Visit visit) const {
  std::size_t place = to;
  for (std::size_t block = place > from ? blocks_.BlockAt(place - 1) : 0; place > from; --block) {
    if (nanoseconds <= 0) return place;
    const std::size_t begin = blocks_.begin(block);
    nanoseconds -= kBlockNanoseconds;
    if (!blocks_.May(block, filter.want())) {
      place = std::max(begin, from);
      continue;
    }
    const bool whole = place == EndOf(block) && begin >= from;
    bool found = false;
    while (place > std::max(begin, from)) {
      EngineJob* job = by_id_[--place].second;
      nanoseconds -= kJobNanoseconds;
      if (job == nullptr || !filter.Finds(*job)) continue;
      found = true;
      if (!visit(*job)) return place;
    }
    if (whole && !found && blocks_.stale(block)) RenewBlock(block);
  }
  return place;
}

// --- Lists.

std::optional<JobId> Engine::LastJob(std::string_view user) const {
  JobFilter filter(std::nullopt, {}, user);
  std::optional<JobId> last;
  std::int64_t nanoseconds = kPageNanoseconds;
  Descend(filter, 0, by_id_.size(), nanoseconds, [&](const EngineJob& job) {
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
  const std::size_t place =
      Descend(filter, 0, query.before ? PlaceOf(*query.before) : by_id_.size(), nanoseconds, [&](const EngineJob& job) {
        const std::size_t looks = holds_->looks();
        page.jobs.push_back(View(job));
        // Where many limits apply to each, the page is shorter.
        looked += holds_->looks() - looks;
        return page.jobs.size() < limit && looked < kMostLooks;
      });
  if (place > 0) page.next = by_id_[place].first;
  return page;
}

const EngineJob* Engine::Oldest() const {
  // The block is what is known; within it there are few.
  oldest_block_ = blocks_.NextOpen(oldest_block_);
  if (oldest_block_ >= blocks_.size()) return nullptr;
  for (std::size_t place = blocks_.begin(oldest_block_); place < EndOf(oldest_block_); ++place) {
    if (const EngineJob* job = by_id_[place].second; job != nullptr && job->open) return job;
  }
  CHECK(false);  // the block has one
  return nullptr;
}

// --- Users.

const EngineJob* Engine::Oldest(UserTable::Entry& user, std::int64_t& nanoseconds) const {
  if (user.open == 0) return nullptr;
  const EngineJob* oldest = nullptr;
  JobFilter filter = JobFilter::OpenOf(user);
  const std::size_t place =
      Ascend(filter, PlaceOf(user.oldest_from), by_id_.size(), nanoseconds, [&](const EngineJob& job) {
        oldest = &job;
        return false;
      });
  if (oldest != nullptr) {
    user.oldest_from = oldest->id();
  } else if (place < by_id_.size()) {
    user.oldest_from = by_id_[place].first;  // the next look goes on there
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
                    TimersToSweep();
  if (busy) nanoseconds -= kBusyNanoseconds;
  return acted;
}

bool Engine::Collect(const Now& now, JobSweep& sweep, std::size_t budget) {
  const SweepRequest& request = sweep.request_;
  sweep.touched_.clear();
  if (!sweep.begun_) {
    sweep.begun_ = true;
    const JobId newest = by_id_.empty() ? JobId{} : by_id_.back().first;
    sweep.up_to_ = request.up_to.value_or(newest);
    // Whatever comes later is left alone, also where the caller names an id that nobody has yet.
    sweep.last_ = std::min(sweep.up_to_, newest);
  }
  if (sweep.complete_) return true;
  JobFilter filter(request.state, request.tag, request.user);
  auto nanoseconds = static_cast<std::int64_t>(budget) * 1000;
  const std::size_t to = PlaceOf(JobId{sweep.last_.value + 1});
  // No command takes a job out of the vector, or puts one in.
  const std::size_t place =
      Ascend(filter, PlaceOf(JobId{sweep.seen_to_.value + 1}), to, nanoseconds, [&](EngineJob& job) {
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
  if (place > 0) sweep.seen_to_ = by_id_[place - 1].first;
  return sweep.complete_;
}

}  // namespace allot
