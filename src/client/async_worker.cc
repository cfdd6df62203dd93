// SPDX-License-Identifier: Apache-2.0
#include "allotter/async_worker.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/bounds.h"
#include "base/json.h"
#include "base/rng.h"
#include "client/codec.h"
#include "client/ws_link.h"

namespace allotter {
namespace {

namespace asio = boost::asio;

// Well below the protocol's bounds, so that a full message still leaves soon.
constexpr std::size_t kReportsPerMessage = 2'000;
constexpr std::size_t kBytesPerMessage = 4u << 20;
static_assert(kReportsPerMessage <= allot::bounds::kMaxReportsPerMessage);
static_assert(kBytesPerMessage + allot::bounds::kMaxResultBytes < allot::bounds::kMaxMessageBytes);

constexpr milliseconds kDefaultHeartbeat{15'000};
constexpr milliseconds kShortestBeat{200};
constexpr milliseconds kProgressEvery{250};

std::string DefaultName() {
  char host[256] = "worker";
  ::gethostname(host, sizeof host - 1);
  host[sizeof host - 1] = '\0';
  return std::string(host).substr(0, 100) + "-" + std::to_string(::getpid());
}

// Trying again cannot mend these.
bool Permanent(Code code, bool welcomed_before) {
  switch (code) {
    case Code::kUnauthorized:
    case Code::kForbidden:
    case Code::kUnknownQueue:
      return true;
    case Code::kForeignOrigin:
    case Code::kBadRequest:
    case Code::kBadJson:
    case Code::kBadValue:
    case Code::kUnknownField:
    case Code::kNotFound:
    case Code::kMethodNotAllowed:
      return !welcomed_before;
    default:
      return false;
  }
}

}  // namespace

class AsyncWorker::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(asio::io_context& context, WorkerOptions options, WorkerEvents events)
      : context_(context),
        options_(std::move(options)),
        events_(std::move(events)),
        capacity_(options_.capacity == 0 ? options_.slots : options_.capacity),
        beat_timer_(context),
        retry_timer_(context),
        progress_timer_(context),
        rng_(std::random_device()() * 0x9E3779B97F4A7C15ull + reinterpret_cast<std::uintptr_t>(this)) {
    if (options_.name.empty()) options_.name = DefaultName();
  }

  Result<void> Start() {
    auto target = TargetOf(options_.connection);
    if (!target) return target.error();
    endpoint_ = std::move(target->endpoint);
    tls_ = std::move(target->tls);
    Connect();
    return {};
  }

  void Finish(const TaskRef& task, Outcome outcome) {
    if (held_.erase(task.lease) == 0) return;
    progress_.erase(task.lease);
    if (!Has("retry_in_ms")) outcome.retry_in.reset();
    pending_.push_back({task, std::move(outcome)});
    FlushSoon();
  }

  void Progress(const TaskRef& task, TaskProgress progress) {
    if (!held_.contains(task.lease)) return;
    progress_[task.lease] = std::move(progress);
    if (progress_armed_) return;
    progress_armed_ = true;
    progress_timer_.expires_after(kProgressEvery);
    progress_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      auto self = weak.lock();
      if (ec || !self) return;
      self->progress_armed_ = false;
      self->progress_due_ = true;
      self->Flush();
    });
  }

  void SetCapacity(std::uint32_t capacity) {
    if (capacity == capacity_) return;
    capacity_ = capacity;
    FlushSoon();
  }

  void Change(const WorkerChange& change) {
    if (change.empty()) return;
    Add(change, change_);
    FlushSoon();
  }

  void Drain() {
    if (draining_) return;
    draining_ = true;
    FlushSoon();
  }

  void Abandon() {
    stopped_ = true;
    Disconnect();
    retry_timer_.cancel();
    progress_timer_.cancel();
  }

  bool connected() const { return up_; }
  std::size_t in_hand() const { return held_.size(); }

 private:
  struct Held {
    std::string job;
    std::uint32_t index = 0;
  };
  struct Sent {
    std::uint64_t seq = 0;
    std::vector<Report> reports;
  };

  // --- Connecting.

  void Connect() {
    WsLink::Callbacks callbacks;
    const std::weak_ptr<Impl> weak = weak_from_this();
    callbacks.on_open = [weak] {
      if (auto self = weak.lock()) self->SayHello();
    };
    callbacks.on_message = [weak](std::string_view text) {
      if (auto self = weak.lock()) self->HandleMessage(text);
    };
    callbacks.on_written = [weak] {
      if (auto self = weak.lock()) self->Written();
    };
    callbacks.on_control = [weak] {
      if (auto self = weak.lock()) self->heard_ = true;
    };
    callbacks.on_closed = [weak](const Error& error) {
      if (auto self = weak.lock()) self->Lost(error);
    };
    link_ = MakeWsLink(context_, endpoint_, tls_, "/v1/queues/" + UrlEncode(options_.connection.queue) + "/work",
                       options_.connection.token, std::move(callbacks));
    link_->Open();
    // No welcome in time is as good as no connection.
    ArmBeat(options_.connection.timeout);
  }

  void Disconnect() {
    // What was not acknowledged is said again, before what was wanted since.
    if (change_seq_ != 0) {
      Add(change_, sent_change_);
      change_ = std::move(sent_change_);
      sent_change_ = {};
      change_seq_ = 0;
    }
    up_ = false;
    writing_ = false;
    credit_ = 0;
    beat_timer_.cancel();
    if (link_) link_->Close();
    link_.reset();
  }

  void Lost(const Error& error) {
    const bool was_up = up_;
    Disconnect();
    if (stopped_) return;
    if (!was_up && Permanent(error.code, welcomed_)) return Stop(error);
    if (error.code == Code::kUnknownWorker) ForgetIdentity();
    if (draining_ && Idle()) return Stop({});
    // The first attempt after a loss comes soon, but not from all workers of a fallen server at once.
    const double unit = rng_.Unit();
    const double base =
        static_cast<double>(options_.reconnect_first.count()) * static_cast<double>(1u << std::min(attempts_, 20u));
    const double bounded = std::min(base, static_cast<double>(options_.reconnect_max.count()));
    const milliseconds delay(static_cast<std::int64_t>(was_up ? bounded * unit : bounded * (0.5 + 0.5 * unit)));
    ++attempts_;
    if (events_.on_disconnected) events_.on_disconnected(error, delay);
    retry_timer_.expires_after(delay);
    retry_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      auto self = weak.lock();
      if (!ec && self && !self->stopped_) self->Connect();
    });
  }

  // The server does not know this worker any more: what it holds is not its own.
  void ForgetIdentity() {
    identity_ = {};
    LoseHeldExcept({});
  }

  void LoseHeldExcept(const std::unordered_set<std::string_view>& kept) {
    std::vector<CancelOrder> lost;
    for (auto it = held_.begin(); it != held_.end();) {
      if (kept.contains(it->first)) {
        ++it;
        continue;
      }
      lost.push_back({{it->second.job, it->second.index, it->first}, "lost"});
      it = held_.erase(it);
    }
    for (const CancelOrder& order : lost) {
      if (events_.on_cancel) events_.on_cancel(order);
    }
  }

  void SayHello() {
    Hello hello;
    hello.name = options_.name;
    hello.tags = options_.tags;
    hello.properties = options_.properties;
    hello.attributes = options_.attributes;
    hello.requirements = options_.requirements;
    hello.rank = options_.rank;
    hello.strategy = options_.strategy;
    hello.slots = options_.slots;
    hello.worker = identity_.worker;
    hello.key = identity_.key;
    if (!identity_.worker.empty()) {
      // Reports that were not acknowledged are still to be taken: their leases go on too.
      for (const auto& [lease, held] : held_) hello.resume.push_back({held.job, held.index, lease});
      for (const Sent& sent : unacknowledged_) {
        for (const Report& report : sent.reports) hello.resume.push_back(report.task);
      }
      for (const Report& report : pending_) hello.resume.push_back(report.task);
      for (const Report& report : alone_) hello.resume.push_back(report.task);
    }
    std::string text = "{\"hello\":";
    AppendHello(hello, text);
    text.push_back('}');
    writing_ = true;
    link_->Write(std::move(text));
  }

  void Welcomed(Welcome&& welcome) {
    std::unordered_set<std::string_view> kept;
    for (const TaskRef& task : welcome.resumed) kept.insert(task.lease);
    LoseHeldExcept(kept);
    identity_.worker = std::move(welcome.worker);
    identity_.key = std::move(welcome.key);
    heartbeat_ = welcome.heartbeat.count() > 0 ? welcome.heartbeat : kDefaultHeartbeat;
    // What was sent on the old connection and not acknowledged goes out again, in its order.
    for (auto sent = unacknowledged_.rbegin(); sent != unacknowledged_.rend(); ++sent) {
      if (suspicious_) {
        alone_.insert(alone_.begin(), std::make_move_iterator(sent->reports.begin()),
                      std::make_move_iterator(sent->reports.end()));
        continue;
      }
      pending_.insert(pending_.begin(), std::make_move_iterator(sent->reports.begin()),
                      std::make_move_iterator(sent->reports.end()));
    }
    unacknowledged_.clear();
    suspicious_ = false;
    features_ = std::move(welcome.features);
    headers_due_ = options_.job_headers && Has("job_headers");
    up_ = true;
    welcomed_ = true;
    attempts_ = 0;
    silence_ = milliseconds(0);
    ArmBeat(Beat());
    if (events_.on_connected) events_.on_connected(identity_.worker);
  }

  // --- Signs of life.

  // Often enough for the connection, and for the shortest lease seen.
  milliseconds Beat() const {
    milliseconds beat = heartbeat_ / 2;
    if (shortest_lease_.count() > 0) beat = std::min(beat, shortest_lease_ / 3);
    return std::max(beat, kShortestBeat);
  }

  void ArmBeat(milliseconds after) {
    armed_ = after;
    beat_timer_.expires_after(after);
    beat_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& ec) {
      auto self = weak.lock();
      if (!ec && self) self->OnBeat();
    });
  }

  void OnBeat() {
    if (stopped_ || !link_) return;
    if (!up_) return Lost({Code::kUnavailable, "the server did not answer in time", "is it busy, or stopped?"});
    silence_ = heard_ ? milliseconds(0) : silence_ + armed_;
    heard_ = false;
    if (silence_ > 3 * heartbeat_) return Lost({Code::kUnavailable, "the server fell silent", "is the network up?"});
    if (!spoke_) {
      // Any message extends the leases; a ping is answered, and shows that the server is there.
      if (!held_.empty() && !writing_) {
        writing_ = true;
        link_->Write("{}");
      }
      link_->Ping();
    }
    spoke_ = false;
    ArmBeat(Beat());
  }

  // --- What comes.

  void HandleMessage(std::string_view text) {
    heard_ = true;
    if (auto parsed = ParseMessage(text, message_); !parsed) return Lost(parsed.error());
    busy_ = true;
    if (message_.welcome) Welcomed(std::move(*message_.welcome));
    if (message_.error) {
      if (!message_.error_seq) {
        busy_ = false;
        if (up_ && message_.error->code != Code::kUnknownWorker) {
          Suspect(*message_.error);
          message_.error->code = Code::kUnavailable;
        }
        return Lost(*message_.error);
      }
      Refused(*message_.error_seq, *message_.error);
    }
    for (std::size_t i = 0; i < message_.stale.size() && events_.on_refused; ++i) {
      events_.on_refused(message_.stale[i], {allot::CodeFromText(message_.stale_codes[i]), "the lease was over", ""});
    }
    if (message_.ack) Acknowledged(*message_.ack);
    if (!message_.jobs.empty() && events_.on_jobs) events_.on_jobs(std::move(message_.jobs));
    // A task may come together with the order to stop it.
    if (!message_.tasks.empty()) Take(std::move(message_.tasks));
    for (const CancelOrder& order : message_.cancel) {
      if (held_.contains(order.task.lease) && events_.on_cancel) events_.on_cancel(order);
    }
    if (message_.set) {
      Adopt(*message_.set);
      if (events_.on_changed) events_.on_changed(*message_.set);
    }
    if (message_.drain && !draining_) {
      draining_ = true;
      if (events_.on_drain) events_.on_drain();
    }
    busy_ = false;
    Flush();
  }

  void Take(std::vector<Assignment>&& tasks) {
    credit_ -= std::min<std::uint32_t>(credit_, static_cast<std::uint32_t>(tasks.size()));
    // A pull may cross an assignment on its way; what comes in excess is better off with another worker.
    while (!tasks.empty() && (draining_ || held_.size() + tasks.size() > capacity_)) {
      pending_.push_back({std::move(tasks.back().task), Outcome::Released()});
      tasks.pop_back();
    }
    if (tasks.empty()) return;
    for (const Assignment& assignment : tasks) {
      held_.insert_or_assign(assignment.task.lease, Held{assignment.task.job, assignment.task.index});
      if (assignment.lease.count() > 0 && (shortest_lease_.count() == 0 || assignment.lease < shortest_lease_)) {
        shortest_lease_ = assignment.lease;
        if (Beat() < armed_) ArmBeat(Beat());
      }
    }
    events_.on_tasks(std::move(tasks));
  }

  // What it is from now on, and says when it has to introduce itself again.
  void Adopt(const WorkerChange& change) {
    if (change.tags) options_.tags = *change.tags;
    if (change.properties) options_.properties = *change.properties;
    if (change.attributes) options_.attributes = *change.attributes;
    if (change.requirements) options_.requirements = *change.requirements;
    if (change.rank) options_.rank = *change.rank;
    if (change.strategy) options_.strategy = *change.strategy;
  }

  void EndChange(bool taken) {
    const WorkerChange change = std::exchange(sent_change_, {});
    change_seq_ = 0;
    if (taken) Adopt(change);
  }

  void Acknowledged(std::uint64_t seq) {
    if (change_seq_ != 0 && change_seq_ <= seq) EndChange(true);
    std::size_t reports = 0;
    // The server works a connection's messages off in order, and durable is durable: so are all before.
    while (!unacknowledged_.empty() && unacknowledged_.front().seq <= seq) {
      reports += unacknowledged_.front().reports.size();
      unacknowledged_.pop_front();
    }
    if (reports > 0 && events_.on_acknowledged) events_.on_acknowledged(reports);
  }

  // A message that changed nothing. One bad report must not take the others with it: they go again, each alone.
  void Refused(std::uint64_t seq, const Error& error) {
    if (change_seq_ != 0 && change_seq_ == seq) {
      EndChange(false);
      if (events_.on_change_refused) events_.on_change_refused(error);
      return;
    }
    const auto found =
        std::find_if(unacknowledged_.begin(), unacknowledged_.end(), [&](const Sent& sent) { return sent.seq == seq; });
    if (found == unacknowledged_.end()) return;
    std::vector<Report> reports = std::move(found->reports);
    unacknowledged_.erase(found);
    if (reports.size() > 1) {
      for (Report& report : reports) alone_.push_back(std::move(report));
      return;
    }
    for (Report& report : reports) {
      if (report.outcome.kind == Outcome::Kind::kDone) {
        report.outcome = Outcome::Rejected("the result was refused: " + error.message);
        alone_.push_back(std::move(report));
      } else if (events_.on_refused) {
        events_.on_refused(report.task, error);
      }
    }
  }

  // The server could not even read a message. If it was one of reports, it must not break every connection from now on:
  // the reports go again one at a time, and one that is refused alone is replaced by its failure.
  void Suspect(const Error& error) {
    if (error.code == Code::kStopping || error.code == Code::kUnavailable || error.code == Code::kTimedOut) return;
    suspicious_ = true;
    if (unacknowledged_.size() != 1 || unacknowledged_.front().reports.size() != 1) return;
    Outcome& outcome = unacknowledged_.front().reports.front().outcome;
    if (outcome.kind == Outcome::Kind::kDone && !outcome.text.empty()) {
      outcome = Outcome::Rejected("the result was refused: " + error.message);
    }
  }

  // --- What goes.

  void FlushSoon() {
    if (busy_ || flush_posted_) return;
    flush_posted_ = true;
    asio::post(context_, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      self->flush_posted_ = false;
      self->Flush();
    });
  }

  void Written() {
    writing_ = false;
    if (said_bye_) return Stop({});
    Flush();
  }

  bool Idle() const { return held_.empty() && pending_.empty() && alone_.empty() && unacknowledged_.empty(); }

  void Flush() {
    if (stopped_) return;
    if (!up_) {
      // Nothing to tell to a server that is away.
      if (draining_ && Idle()) Stop({});
      return;
    }
    if (writing_) return;
    // Alone, so that a refusal is about nothing else; and one at a time.
    if (!change_.empty() && change_seq_ == 0) {
      sent_change_ = std::exchange(change_, {});
      change_seq_ = ++last_seq_;
      std::string set = "{\"seq\":" + std::to_string(change_seq_) + ",\"set\":";
      AppendWorkerChange(sent_change_, set);
      set.push_back('}');
      spoke_ = true;
      writing_ = true;
      return link_->Write(std::move(set));
    }
    const std::size_t room = held_.size() >= capacity_ ? 0 : capacity_ - held_.size();
    const auto want =
        draining_ ? 0u : static_cast<std::uint32_t>(std::min<std::size_t>(room, allot::bounds::kMaxCredit));
    Sent sent;
    if (!alone_.empty()) {
      if (!unacknowledged_.empty()) return;  // so that an error has one cause
      sent.reports.push_back(std::move(alone_.front()));
      alone_.pop_front();
    } else if (!pending_.empty()) {
      TakePending(sent.reports);
    }
    const std::vector<std::pair<TaskRef, TaskProgress>> progress = TakeProgress();
    if (sent.reports.empty() && want == credit_ && progress.empty()) {
      if (draining_ && Idle()) {
        said_bye_ = true;
        writing_ = true;
        link_->Write("{\"bye\":true}");
      }
      return;
    }
    std::string text = link_->TakeBuffer();
    text.clear();
    text.push_back('{');
    if (!sent.reports.empty()) {
      sent.seq = ++last_seq_;
      text.append("\"seq\":").append(std::to_string(sent.seq)).push_back(',');
      AppendReports(sent.reports, text);
    }
    if (want != credit_) {
      if (text.size() > 1) text.push_back(',');
      text.append("\"pull\":").append(std::to_string(want));
      credit_ = want;
    }
    if (!progress.empty()) {
      if (text.size() > 1) text.push_back(',');
      AppendExtend(progress, text);
    }
    if (std::exchange(headers_due_, false)) text.append(",\"job_headers\":true");
    text.push_back('}');
    if (!sent.reports.empty()) unacknowledged_.push_back(std::move(sent));
    spoke_ = true;
    writing_ = true;
    link_->Write(std::move(text));
  }

  bool Has(std::string_view feature) const {
    return std::find(features_.begin(), features_.end(), feature) != features_.end();
  }

  // What is to be told of it now.
  std::vector<std::pair<TaskRef, TaskProgress>> TakeProgress() {
    std::vector<std::pair<TaskRef, TaskProgress>> out;
    if (!std::exchange(progress_due_, false)) return out;
    for (auto& [lease, progress] : std::exchange(progress_, {})) {
      const auto held = held_.find(lease);
      if (held == held_.end() || !Has("progress") || out.size() == kReportsPerMessage) continue;
      out.emplace_back(TaskRef{held->second.job, held->second.index, lease}, std::move(progress));
    }
    return out;
  }

  void TakePending(std::vector<Report>& out) {
    std::size_t bytes = 0;
    std::size_t n = 0;
    while (n < pending_.size() && n < kReportsPerMessage && bytes < kBytesPerMessage)
      bytes += pending_[n++].outcome.text.size() + 100;
    if (n == pending_.size()) {
      out.swap(pending_);
      return;
    }
    const auto end = pending_.begin() + static_cast<std::ptrdiff_t>(n);
    out.assign(std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
    pending_.erase(pending_.begin(), end);
  }

  void Stop(const Result<void>& why) {
    if (stopped_) return;
    Abandon();
    // Not from within a call of the user's own.
    asio::post(context_, [weak = weak_from_this(), why] {
      auto self = weak.lock();
      if (self && self->events_.on_stopped) self->events_.on_stopped(why);
    });
  }

  asio::io_context& context_;
  WorkerOptions options_;
  const WorkerEvents events_;
  Endpoint endpoint_;
  std::shared_ptr<SSL_CTX> tls_;
  std::shared_ptr<WsLink> link_;
  ServerMessage message_;  // kept for its memory

  struct Identity {
    std::string worker, key;
  } identity_;
  std::uint32_t capacity_;
  std::uint32_t credit_ = 0;                    // of the last pull, not used up as far as known
  std::unordered_map<std::string, Held> held_;  // by lease
  std::vector<Report> pending_;                 // finished, not sent
  std::deque<Report> alone_;                    // to be sent one by one
  std::deque<Sent> unacknowledged_;             // in order of seq
  std::uint64_t last_seq_ = 0;
  WorkerChange change_;           // wanted, not sent
  WorkerChange sent_change_;      // under way
  std::uint64_t change_seq_ = 0;  // its message; 0: none is under way

  asio::steady_timer beat_timer_;
  asio::steady_timer retry_timer_;
  asio::steady_timer progress_timer_;
  std::unordered_map<std::string, TaskProgress> progress_;  // not told; by lease
  std::vector<std::string> features_;                       // of the server
  milliseconds heartbeat_ = kDefaultHeartbeat;
  milliseconds shortest_lease_{0};
  milliseconds armed_{0};
  milliseconds silence_{0};
  unsigned attempts_ = 0;
  allot::Rng rng_;
  bool up_ = false;              // welcomed
  bool welcomed_ = false;        // ever
  bool headers_due_ = false;     // to be asked for, with the next message
  bool progress_armed_ = false;  // its timer runs
  bool progress_due_ = false;    // it has
  bool writing_ = false;
  bool busy_ = false;  // in HandleMessage, which flushes at its end
  bool flush_posted_ = false;
  bool heard_ = false;  // since the last beat
  bool spoke_ = false;
  bool draining_ = false;
  bool said_bye_ = false;
  bool suspicious_ = false;  // one of the unacknowledged reports may be unreadable
  bool stopped_ = false;
};

AsyncWorker::AsyncWorker(asio::io_context& context, WorkerOptions options, WorkerEvents events)
    : impl_(std::make_shared<Impl>(context, std::move(options), std::move(events))) {}
AsyncWorker::~AsyncWorker() { impl_->Abandon(); }
Result<void> AsyncWorker::Start() { return impl_->Start(); }
void AsyncWorker::Finish(const TaskRef& task, Outcome outcome) { impl_->Finish(task, std::move(outcome)); }
void AsyncWorker::Progress(const TaskRef& task, TaskProgress progress) { impl_->Progress(task, std::move(progress)); }
void AsyncWorker::SetCapacity(std::uint32_t capacity) { impl_->SetCapacity(capacity); }
void AsyncWorker::Change(const WorkerChange& change) { impl_->Change(change); }
void AsyncWorker::Drain() { impl_->Drain(); }
void AsyncWorker::Abandon() { impl_->Abandon(); }
bool AsyncWorker::connected() const { return impl_->connected(); }
std::size_t AsyncWorker::in_hand() const { return impl_->in_hand(); }

}  // namespace allotter
