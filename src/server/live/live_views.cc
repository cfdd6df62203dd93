// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_views.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "server/live/event_writer.h"
#include "server/net/http_text.h"
#include "server/net/serve.h"
#include "server/ops/clock.h"
#include "server/queue/asker.h"
#include "server/wire/percent.h"
#include "server/wire/reply_json.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr Duration kLeastPause = 1s;
// A look that takes longer is costly: then looking must take no more than a twentieth of the time.
constexpr Duration kCostly = 50ms;
constexpr int kCostlyPause = 20;
// A comment, which tells those who care how often the view is looked at, where that is not once a second.
std::string PingText(Duration pause) {
  if (pause <= kLeastPause) return ": ping\n\n";
  return ": ping every_ms=" + std::to_string(std::chrono::duration_cast<milliseconds>(pause).count()) + "\n\n";
}

// What the principal may see, and nothing of who it is.
PrincipalPtr Rights(const Principal& principal) {
  auto rights = std::make_shared<Principal>();
  rights->scopes = principal.scopes;
  rights->user = principal.user;
  rights->queue = principal.queue;
  return rights;
}

// Each part in its own brackets, so that no two can be confused.
std::string KeyOf(const Request& request, const Principal& rights) {
  std::string key = request.path + "?" + request.query + " " + rights.scopes.Text();
  for (const std::optional<std::string>& fixed : {rights.user, rights.queue}) {
    key.push_back(' ');
    if (fixed) key.append(JsonString(*fixed));
  }
  return key;
}

// By its decoded name, as the handlers read it.
bool HasParameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (PercentDecode(pair.substr(0, pair.find('=')), true) == name) return true;
  }
  return false;
}

}  // namespace

// A connection that watches. Its own thread's, but for `view`.
class LiveViews::Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(LiveViews& views, NetThread& net, ViewPtr its_view, std::string its_who)
      : view(std::move(its_view)), who(std::move(its_who)), views_(views), net_(net) {}

  NetThread& net() const { return net_; }

  // `text` is null where there is no view yet: the answer waits for it.
  void Begin(Reply reply, const SharedText& text) {
    if (!reply.alive()) return Gone();
    reply_ = std::move(reply);
    reply_->OnAbort(Closure([self = shared_from_this()] {
      self->reply_.reset();
      self->Gone();
    }));
    if (text != nullptr) Send(text);
  }

  void Send(const SharedText& text) {
    if (reply_) BeginEvents();
    if (writer_ != nullptr) writer_->Send(text);
  }

  // An error instead of the answer, or as the last event. A reader in the middle of a view does not get it: nobody
  // would count what it still holds.
  void End(int status, const std::string& error_json, const SharedText& event) {
    if (reply_) {
      reply_->Send(status, error_json);
      reply_.reset();
      return;
    }
    const std::shared_ptr<EventWriter> writer = std::exchange(writer_, nullptr);
    if (writer == nullptr) return;
    if (writer->sending() != nullptr) return writer->Break();
    writer->End(event);
  }

  void Ping(const std::string& text) {
    if (writer_ != nullptr) writer_->Ping(text);
  }

  void BreakIfBehind(const SharedText& newest) {
    const std::shared_ptr<EventWriter> writer = writer_;
    if (writer != nullptr && writer->sending() != nullptr && writer->sending() != newest) writer->Break();
  }

  ViewPtr view;           // of the views' thread; null once it has left
  const std::string who;  // counts together with others' of the same

 private:
  void BeginEvents() {
    const std::shared_ptr<OpenResponse> connection = reply_->Hijack();
    reply_.reset();
    if (connection == nullptr) return Gone();
    writer_ = EventWriter::Open(connection, Closure([self = shared_from_this()] {
                                  self->writer_ = nullptr;
                                  self->Gone();
                                }));
  }

  void Gone() {
    views_.home_.Post(Closure([&views = views_, self = shared_from_this()] { views.Leave(self); }));
  }

  LiveViews& views_;
  NetThread& net_;
  std::optional<Reply> reply_;           // before the head is sent
  std::shared_ptr<EventWriter> writer_;  // since then
};

struct LiveViews::View : std::enable_shared_from_this<View> {
  std::string key;
  Request request;  // as it is asked anew for each look
  std::unordered_set<StreamPtr> streams;
  SharedText text;        // the last one told; null: none yet
  std::size_t bytes = 0;  // of it, as they are counted
  bool looking = false;
  std::uint64_t looks = 0;
  Instant look_began{};
  Instant next_look{};
  Instant last_sent{};         // of a view, or a ping
  std::optional<Instant> due;  // its place in due_
  std::string owner;           // whose it counts as; empty: nobody's
  Duration cost = CostOf(0);
  Duration pause = kLeastPause;
  bool ended = false;
};

// Asks on behalf of a view.
class LiveViews::Look final : public ReplyTarget {
 public:
  Look(LiveViews& views, const ViewPtr& view, std::uint64_t owner) : views_(views), view_(view), owner_(owner) {}

  NetThread& home() const override { return views_.home_; }
  std::uint64_t owner() const override { return owner_; }
  void Respond(std::uint64_t request, const Response& response, Closure) override {
    const ViewPtr view = view_.lock();
    if (view == nullptr || view->ended || request != view->looks) return;
    views_.EndLook(*view, response.status, response.body);
  }
  // A view that has ended waits for nothing; what still comes is dropped.
  void OnAbort(std::uint64_t, Closure) override {}
  std::shared_ptr<OpenResponse> Hijack(std::uint64_t) override { return nullptr; }
  bool Awaits(std::uint64_t request) const override {
    const ViewPtr view = view_.lock();
    return view != nullptr && !view->ended && view->looks == request;
  }

 private:
  LiveViews& views_;
  const std::weak_ptr<View> view_;
  const std::uint64_t owner_;
};

LiveViews::LiveViews(ServerContext& server, NetThread& home) : server_(server), home_(home), timer_(home.io()) {}

LiveViews::~LiveViews() {
  // Views and their streams hold one another.
  for (const auto& [key, view] : views_) {
    for (const StreamPtr& stream : view->streams) stream->view = nullptr;
  }
}

void LiveViews::Open(Call call) {
  if (HasParameter(call.request.query, "wait_ms")) {
    return call.Fail({Code::kBadValue, "a stream of events does not wait", "leave `wait_ms` out"});
  }
  home_.Post(Closure([this, kept = std::make_shared<Call>(std::move(call))]() mutable { Admit(std::move(kept)); }));
}

void LiveViews::Admit(std::shared_ptr<Call> call) {
  NetThread& net = call->reply.net();
  const auto refuse = [&](Error error) { net.Post(Closure([call, error = std::move(error)] { call->Fail(error); })); };
  if (stopped_) return refuse(Stopping());
  if (stream_count_ >= kMaxStreams) {
    return refuse({Code::kTooManyWaits, FormatCount(kMaxStreams) + " streams of events are open", "close some"});
  }
  std::string who = WhoAsks(call->principal(), call->request.peer);
  const auto found_use = uses_.find(who);
  if (found_use != uses_.end() && found_use->second.streams >= kMaxStreamsOfOne) {
    return refuse({Code::kTooManyWaits,
                   "this token or address has " + FormatCount(kMaxStreamsOfOne) + " streams of events open",
                   "close some"});
  }
  const PrincipalPtr rights = Rights(call->principal());
  std::string key = KeyOf(call->request, *rights);
  ViewPtr view;
  if (const auto found = views_.find(key); found != views_.end()) {
    view = found->second;
  }
  if (found_use != uses_.end() && found_use->second.views.size() >= kMaxViewsOfOne &&
      !found_use->second.views.contains(view.get())) {
    return refuse({Code::kTooManyWaits,
                   "this token or address watches " + FormatCount(kMaxViewsOfOne) + " different things", "close some"});
  }
  if (view == nullptr) {
    if (views_.size() >= kMaxViews) {
      const std::size_t own = found_use == uses_.end() ? 0 : found_use->second.views.size();
      return refuse({Code::kTooManyWaits,
                     FormatCount(kMaxViews) + " different things are being watched, " + FormatCount(own) +
                         " of them by this token or address",
                     "close some"});
    }
    view = std::make_shared<View>();
    view->key = key;
    view->request.method = Method::kGet;
    view->request.path = call->request.path;
    view->request.query = call->request.query;
    view->request.parts = call->request.parts;
    view->request.principal = rights;
    view->request.authorization = call->request.authorization;  // for what other nodes of a cluster are asked
    view->last_sent = home_.now();
    views_.emplace(std::move(key), view);
    view_count_ = views_.size();
  }
  Use& use = uses_[who];
  ++use.streams;
  ++use.views[view.get()];
  if (view->owner.empty()) Assign(*view, who);
  const auto stream = std::make_shared<Stream>(*this, net, view, std::move(who));
  view->streams.insert(stream);
  ++stream_count_;
  net.Post(Closure([call, stream, text = view->text] { stream->Begin(std::move(call->reply), text); }));
  if (view->looks == 0) BeginLook(*view);
}

void LiveViews::Leave(const StreamPtr& stream) {
  const ViewPtr view = std::exchange(stream->view, nullptr);
  if (view == nullptr) return;
  Drop(*view, stream);
  view->streams.erase(stream);
  if (view->streams.empty()) return End(view, 0, {});
  if (view->owner.empty()) Assign(*view, (*view->streams.begin())->who);
}

void LiveViews::Drop(View& view, const StreamPtr& stream) {
  stream->view = nullptr;
  --stream_count_;
  const auto use = uses_.find(stream->who);
  if (--use->second.views[&view] == 0) {
    use->second.views.erase(&view);
    if (view.owner == stream->who) {
      use->second.cost -= view.cost;
      use->second.bytes -= view.bytes;
      view.owner.clear();
    }
  }
  if (--use->second.streams == 0) uses_.erase(use);
}

void LiveViews::Assign(View& view, const std::string& who) {
  view.owner = who;
  // Apart from what the same token asks for itself.
  view.request.asker = std::hash<std::string>()("views of " + who) | 1;
  Use& use = uses_.find(who)->second;
  use.cost += view.cost;
  use.bytes += view.bytes;
}

bool LiveViews::Resize(View& view, std::size_t bytes) {
  if (bytes_ - view.bytes + bytes > kMaxBytes) return false;
  const auto use = uses_.find(view.owner);
  if (use != uses_.end()) {
    // One that came to own it when another left may have more than it may grow to.
    if (bytes > view.bytes && use->second.bytes - view.bytes + bytes > kMaxBytesOfOne) return false;
    use->second.bytes += bytes - view.bytes;
  }
  bytes_ += bytes - view.bytes;
  view.bytes = bytes;
  return true;
}

Duration LiveViews::PauseOf(const std::string& who) const {
  const auto own = uses_.find(who);
  if (own == uses_.end()) return kLeastPause;
  std::vector<Duration> all;
  all.reserve(uses_.size());
  for (const auto& [other, use] : uses_) all.push_back(use.cost);
  return Pause(own->second.cost, all);
}

Duration LiveViews::Pause(Duration own, const std::vector<Duration>& all) {
  const Duration fair = kMostCost / static_cast<int>(all.size());
  if (own <= fair) return kLeastPause;
  // What others leave is for those who want more.
  Duration left = kMostCost;
  int wanting = 0;
  for (const Duration cost : all) {
    if (cost <= fair) {
      left -= cost;
    } else {
      ++wanting;
    }
  }
  const Duration part = std::max(left / wanting, Duration(1));
  return std::clamp(Duration(Duration(1s).count() * own.count() / part.count()), kLeastPause, kMostPause);
}

LiveViews::SharedText LiveViews::Hold(std::string text) const {
  const std::size_t bytes = text.size();
  auto kept = std::make_unique<const std::string>(std::move(text));
  *kept_bytes_ += bytes;
  return SharedText(kept.release(), [bytes, count = kept_bytes_](const std::string* gone) {
    delete gone;
    *count -= bytes;
  });
}

void LiveViews::BeginLook(View& view) {
  view.look_began = ReadMonotonic();
  view.looking = true;
  ++view.looks;
  ++looks_;
  Schedule(view);
  const auto look = std::make_shared<Look>(*this, view.shared_from_this(), server_.next_connection.fetch_add(1));
  Serve(server_, view.request, Reply(look, view.looks));
}

void LiveViews::EndLook(View& view, int status, std::string_view body) {
  const ViewPtr self = view.shared_from_this();
  view.looking = false;
  if (status >= 400) return End(self, status, body);
  std::string text = EventText("view", body);
  const Instant now = ReadMonotonic();
  if (view.text == nullptr || *view.text != text) {
    const std::size_t before = view.bytes;
    if (body.size() > kMaxViewBytes || !Resize(view, text.size())) {
      return End(self, {Code::kTooLarge, "this is too much to be watched", "ask for fewer at a time (`limit`)"});
    }
    if (*kept_bytes_ + text.size() > kMaxKeptBytes) {
      // It is told with the next look, when those are gone.
      BreakLaggards();
      Resize(view, before);
      if (view.text == nullptr) {
        return End(self, {Code::kUnavailable, "too much waits to be read by those who watch", "try again soon"});
      }
    } else {
      ++texts_;
      view.text = Hold(std::move(text));
      ToStreams(view, [text = view.text](Stream& stream) { stream.Send(text); });
      view.last_sent = now;
    }
  }
  const Duration took = now - view.look_began;
  if (const auto use = uses_.find(view.owner); use != uses_.end()) {
    const Duration cost = CostOf(body.size());
    use->second.cost += cost - std::exchange(view.cost, cost);
  }
  Duration pause = PauseOf(view.owner);
  if (took > kCostly) pause = std::max(pause, std::min(took * kCostlyPause, kMostPause));
  view.pause = pause;
  view.next_look = std::max(view.look_began + pause, now + pause / 2);
  Schedule(view);
}

template <typename F>
void LiveViews::ToStreams(const View& view, F visit) {
  // One handover for each thread.
  std::map<NetThread*, std::vector<StreamPtr>> by_thread;
  for (const StreamPtr& stream : view.streams) by_thread[&stream->net()].push_back(stream);
  for (auto& [net, streams] : by_thread) {
    net->Post(Closure([streams = std::move(streams), visit] {
      for (const StreamPtr& stream : streams) visit(*stream);
    }));
  }
}

void LiveViews::BreakLaggards() {
  for (const auto& [key, view] : views_) {
    ToStreams(*view, [newest = view->text](Stream& stream) { stream.BreakIfBehind(newest); });
  }
}

void LiveViews::End(ViewPtr view, const Error& error) {
  std::string json;
  AppendError(error, json);
  End(std::move(view), HttpStatus(error.code), json);
}

void LiveViews::End(ViewPtr view, int status, std::string_view error_json) {
  if (view->ended) return;
  view->ended = true;
  if (!view->streams.empty()) {
    ToStreams(*view, [status, json = std::make_shared<const std::string>(error_json),
                      event = std::make_shared<const std::string>(EventText("error", error_json))](Stream& stream) {
      stream.End(status, *json, event);
    });
  }
  for (const StreamPtr& stream : view->streams) Drop(*view, stream);
  view->streams.clear();
  Resize(*view, 0);
  if (view->due) due_.erase({*view->due, view.get()});
  views_.erase(view->key);
  view_count_ = views_.size();
}

void LiveViews::Schedule(View& view) {
  const Instant ping = view.last_sent + kPingEvery;
  const Instant at = view.looking ? ping : std::min(view.next_look, ping);
  if (view.due) due_.erase({*view.due, &view});
  view.due = at;
  due_.insert({at, &view});
  if (due_.begin()->second == &view) Arm();
}

void LiveViews::Arm() {
  if (due_.empty()) return;
  timer_.expires_at(ToSteady(due_.begin()->first));
  timer_.async_wait([this](const boost::system::error_code& ec) {
    if (!ec) OnTime();
  });
}

void LiveViews::OnTime() {
  const Instant now = ReadMonotonic();
  while (!due_.empty() && due_.begin()->first <= now) {
    View& view = *due_.begin()->second;
    if (!view.looking && view.next_look <= now) {
      BeginLook(view);
      continue;
    }
    ToStreams(view, [text = PingText(view.pause)](Stream& stream) { stream.Ping(text); });
    view.last_sent = now;
    Schedule(view);
  }
  Arm();
}

LiveViews::Counts LiveViews::counts() const { return {view_count_, stream_count_, looks_, texts_, *kept_bytes_}; }

void LiveViews::Stop() {
  home_.Post(Closure([this] {
    stopped_ = true;
    while (!views_.empty()) End(views_.begin()->second, Stopping());
    timer_.cancel();
  }));
}

}  // namespace allot
