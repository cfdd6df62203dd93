// SPDX-License-Identifier: Apache-2.0
#include "server/net/wait_connection.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/bounds.h"
#include "base/json.h"
#include "server/net/context.h"
#include "server/ops/access.h"
#include "server/queue/asker.h"
#include "server/queue/wait_table.h"
#include "server/wire/reply_json.h"
#include "server/wire/results_json.h"
#include "wire/workers.h"
#include "wire/writer.h"

namespace allot {
namespace {

// Waits that are taken, or forgotten, in one step.
constexpr std::size_t kWaitsInAStep = 500;
constexpr std::size_t kResultsInAStep = 1000;
// A message of results is not made longer than this by another one.
constexpr std::size_t kGoodResultsBytes = 256 * 1024;
// Of what a client has already, no more than so many pages are looked at: what lies behind comes again.
constexpr std::uint32_t kMostPagesKnown = 4096;

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TaskSet SetOf(const Ranges& ranges) {
  TaskSet set;
  std::uint32_t pages = 0;
  for (const auto& [from, to] : ranges) {
    for (std::uint64_t at = from; at < to && pages < kMostPagesKnown; ++pages) {
      const auto page = static_cast<std::uint32_t>(at / kPageTasks);
      const std::uint64_t first = static_cast<std::uint64_t>(page) * kPageTasks;
      const std::uint64_t end = std::min(to, first + kPageTasks);
      if (end - at == 1) {
        set.Add(static_cast<TaskIndex>(at));
      } else {
        PageBits bits{}, before{};
        SetPrefix(bits.data(), static_cast<std::uint32_t>(end - first));
        SetPrefix(before.data(), static_cast<std::uint32_t>(at - first));
        for (std::uint32_t w = 0; w < kPageWords; ++w) bits[w] &= ~before[w];
        set.AddPage(page, bits);
      }
      at = end;
    }
  }
  return set;
}

class EndNotice final : public JobWatcher {
 public:
  EndNotice(Executor& executor, std::shared_ptr<WaitConnection> to) : executor_(executor), to_(std::move(to)) {}
  Next Look(Round& round, JobId job, News news) override {
    if (news != News::kEnded) return Next::kStay;
    Result<JobView> view = round.engine.looks().Describe(job);
    if (view.ok()) {
      round.Send(executor_, [to = to_, view = std::move(*view)] { to->OnEnded(view); });
    } else {
      round.Send(executor_, [to = to_, job] { to->OnUnknown({job}); });  // it was not kept
    }
    return Next::kGo;
  }

 private:
  Executor& executor_;
  std::shared_ptr<WaitConnection> to_;
};

class ResultsNotice final : public JobWatcher {
 public:
  explicit ResultsNotice(std::shared_ptr<WaitConnection> to) : to_(std::move(to)) {}
  Next Look(Round& round, JobId job, News news) override {
    if (news == News::kDeadline) return Next::kStay;
    if (news == News::kEnded) to_->Unwatched(job);
    to_->PushResults(round, job, true);
    return news == News::kEnded ? Next::kGo : Next::kStay;
  }

 private:
  std::shared_ptr<WaitConnection> to_;
};

Error TooManyWaits(std::string_view what, std::size_t most) {
  return {Code::kTooManyWaits, fmt::format("one connection {} at most {} jobs", what, most), "open another one"};
}

}  // namespace

WaitConnection::WaitConnection(NetThread& net, ServerContext& server, QueuePtr queue, PrincipalPtr principal,
                               std::string_view peer)
    : WsConnection(net, server),
      queue_(std::move(queue)),
      principal_(std::move(principal)),
      id_(server.next_connection.fetch_add(1)),
      asker_(AskerOf(*principal_, peer)) {}

WsConnection::Reading WaitConnection::OnMessage(std::string_view text) {
  Result<WaitMessage> message = ParseWaitMessage(text);
  if (!message.ok()) {
    Say(message.error());
    return Reading::kPause;
  }
  const auto asked = std::make_shared<Asked>();
  asked->wait = std::move(message->wait);
  for (const FollowEntry& entry : message->results)
    asked->results.push_back({entry.job, entry.credit, SetOf(entry.have)});
  net().Post(queue_, Command::Browse(asker_, [self = std::static_pointer_cast<WaitConnection>(shared_from_this()),
                                              asked](Round& round) { self->Take(round, asked, 0); }));
  // One message at a time: what it asks for is bounded before the next is read.
  return Reading::kPause;
}

void WaitConnection::Take(Round& round, const AskedPtr& asked, std::size_t from) {
  if (left_.load()) return;
  const auto self = std::static_pointer_cast<WaitConnection>(shared_from_this());
  Executor& executor = net();
  const std::vector<JobId>& jobs = asked->wait;
  const auto refuse = [&](Error error) {
    round.Send(executor, [self, error = std::move(error)] { self->Say(error); });
  };
  if (from == 0) {
    if (round.waits.CountOf(id_) + jobs.size() > bounds::kMaxWaitsPerConnection)
      return refuse(TooManyWaits("waits for", bounds::kMaxWaitsPerConnection));
    for (Asked::Results& results : asked->results) {
      if (!TakeResults(round, results)) return;
    }
  }
  std::vector<JobId> unknown;
  const std::size_t end = std::min(jobs.size(), from + kWaitsInAStep);
  for (std::size_t i = from; i < end; ++i) {
    const JobId job = jobs[i];
    Result<JobView> view = round.engine.looks().Describe(job);
    if (!view.ok() || !Sees(*principal_, view->user)) {
      unknown.push_back(job);
    } else if (Ended(view->state)) {
      round.DependsOn(job);
      round.Send(executor, [self, view = std::move(*view)] { self->OnEnded(view); });
    } else {
      Result<void> admitted = round.waits.Admit(round, job);
      if (!admitted.ok()) return refuse(admitted.error());
      round.waits.Add(round, job, id_, std::make_unique<EndNotice>(executor, self), false);
    }
  }
  const bool all = end == jobs.size();
  round.Send(executor, [self, unknown = std::move(unknown), all] {
    if (!unknown.empty()) self->OnUnknown(unknown);
    if (all) self->ResumeReading();
  });
  if (!all) queue_->Post(Command::Browse(asker_, [self, asked, end](Round& next) { self->Take(next, asked, end); }));
}

bool WaitConnection::TakeResults(Round& round, Asked::Results& asked) {
  const auto self = std::static_pointer_cast<WaitConnection>(shared_from_this());
  Executor& executor = net();
  const auto refuse = [&](Error error) {
    round.Send(executor, [self, error = std::move(error)] { self->Say(error); });
    return false;
  };
  const JobId job = asked.job;
  const Result<JobView> view = round.engine.looks().Describe(job);
  if (!view.ok() || !Sees(*principal_, view->user)) {
    readers_.erase(job);
    round.Send(executor, [self, job] { self->OnUnknown({job}); });
    return true;
  }
  auto reader = readers_.find(job);
  if (reader == readers_.end()) {
    if (readers_.size() == bounds::kMaxFollowsPerConnection)
      return refuse(TooManyWaits("reads results of", bounds::kMaxFollowsPerConnection));
    reader = readers_.try_emplace(job).first;
    reader->second.at.sent = std::move(asked.have);
  }
  reader->second.credit = std::min(reader->second.credit + asked.credit, bounds::kMaxCredit);
  if (!Ended(view->state) && !reader->second.watched) {
    const Result<void> admitted = round.waits.Admit(round, job);
    if (!admitted.ok()) return refuse(admitted.error());
    reader->second.watched = true;
    round.waits.Add(round, job, id_, std::make_unique<ResultsNotice>(self), true);
  }
  PushResults(round, job, true);
  return true;
}

void WaitConnection::Unwatched(JobId job) {
  const auto reader = readers_.find(job);
  if (reader != readers_.end()) reader->second.watched = false;
}

void WaitConnection::PushResults(Round& round, JobId job, bool news) {
  const auto found = readers_.find(job);
  if (left_.load() || found == readers_.end()) return;
  const auto self = std::static_pointer_cast<WaitConnection>(shared_from_this());
  Executor& executor = net();
  Reader& reader = found->second;
  const std::size_t most = std::min<std::size_t>(reader.credit, kResultsInAStep);
  Result<FollowLooks::Ends> found_ends = round.engine.follow_looks().TakeEnds(job, reader.at, most, news);
  if (!found_ends.ok()) {
    readers_.erase(found);
    round.Send(executor, [self, job] { self->OnUnknown({job}); });  // it was not kept
    return;
  }
  const FollowLooks::More more = found_ends->more;
  reader.credit -= static_cast<std::uint32_t>(found_ends->tasks.size());
  const bool end = more == FollowLooks::More::kEnd;
  if (!found_ends->tasks.empty() || end) {
    round.DependsOn(job);
    round.Send(executor, [self, ends = Ends{job, std::move(found_ends->tasks), 0, end}]() mutable {
      self->OnResults(std::move(ends));
    });
  }
  if (end) {
    readers_.erase(found);
  } else if (more == FollowLooks::More::kMaybe && reader.credit > 0 && !reader.going) {
    reader.going = true;
    queue_->Post(Command::Browse(asker_, [self, job](Round& next) {
      const auto it = self->readers_.find(job);
      if (it == self->readers_.end()) return;
      it->second.going = false;
      self->PushResults(next, job, false);
    }));
  }
}

void WaitConnection::Forget(Round& round, const QueuePtr& queue, std::uint64_t id) {
  if (round.waits.RemoveOwner(round.engine, id, kWaitsInAStep)) return;
  queue->Post(Command::Look([queue, id](Round& next) { Forget(next, queue, id); }).By(round.asker));
}

void WaitConnection::OnEnded(const JobView& job) {
  if (gone()) return;
  if (!ended_.empty()) ended_.push_back(',');
  AppendEnded(job, ended_);
  net().MarkDirty(*this);
}

void WaitConnection::OnUnknown(const std::vector<JobId>& jobs) {
  if (gone()) return;
  for (const JobId job : jobs) {
    if (!unknown_.empty()) unknown_.push_back(',');
    unknown_.append("\"" + ToText(job) + "\"");
  }
  net().MarkDirty(*this);
}

void WaitConnection::OnResults(Ends ends) {
  if (gone()) return;
  results_.push_back(std::move(ends));
  net().MarkDirty(*this);
}

void WaitConnection::WriteResults(std::string& out) {
  Ends& ends = results_.front();
  std::string items;
  const Result<std::size_t> written =
      AppendResultItems(queue_->store(), ends.job, std::span(ends.tasks).subspan(ends.next), kGoodResultsBytes, items);
  if (!written.ok()) {
    results_.clear();
    const bool away = written.error().code == Code::kUnavailable;
    if (!away && !queue_->finished()) queue_->Fatal(written.error());
    AppendError(away ? written.error() : queue_->WhyFinished(), out);
    return CloseSoon();
  }
  ends.next += *written;
  const bool all = ends.next == ends.tasks.size();
  {
    JsonWriter json(out);
    wire::Writer<wire::kWaitNews> w(json);
    w.Value("results").BeginArray();
    {
      wire::Writer<wire::kFollowed> one(json);
      one.Id("job", ends.job.value);
      one.Raw("results", "[" + items + "]");
      one.Bool("end", all && ends.end);
    }
    json.EndArray();
  }
  if (all) results_.pop_front();
}

void WaitConnection::Say(const Error& error) {
  AppendError(error, error_);
  CloseSoon();
}

bool WaitConnection::NextMessage(std::string& out) {
  if (!results_.empty()) {
    WriteResults(out);
    return true;
  }
  if (!ended_.empty() || !unknown_.empty()) {
    out.push_back('{');
    if (!ended_.empty()) out.append("\"ended\":[").append(ended_).append("]");
    if (!unknown_.empty()) out.append(ended_.empty() ? "" : ",").append("\"unknown\":[").append(unknown_).append("]");
    out.push_back('}');
    ended_.clear();
    unknown_.clear();
    return true;
  }
  if (error_.empty()) return false;
  out.append(error_);
  std::string().swap(error_);
  return true;
}

void WaitConnection::OnSweep() {
  // What it waits for will not come.
  if (queue_->gone() && !closes_soon()) Say(queue_->WhyFinished());
}

void WaitConnection::OnGone() {
  left_.store(true);
  net().Post(queue_, Command::Look([queue = queue_, id = id_](Round& round) { Forget(round, queue, id); }).By(asker_));
}

}  // namespace allot
