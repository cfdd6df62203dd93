// SPDX-License-Identifier: Apache-2.0
// Views that are looked at for as long as somebody watches: the answers to plain GETs, told anew whenever they changed,
// as server-sent events.
//
// Whoever may see the same of the same path watches the same view: it is looked up once for all of them, by the very
// handler that answers a plain GET, and its text is made once. A look that answers with an error ends the view. Whoever
// has seen nothing yet gets that error as a plain answer, with its status: the head is sent with the first view.
//
// Bounds:    a view is looked at once a second at most; one that takes long, more seldom. What all looks cost in a
//            second, by the bytes that they give, is kMostCost; whose views cost more than a fair part of it waits
//            longer between looks, for all of its views. A view counts as that of the first token (or, where there are
//            no tokens, the first address) that watches it and has not left. There are at most kMaxViews views and
//            kMaxStreams streams, of one token or address at most kMaxViewsOfOne and kMaxStreamsOfOne. A text is shared
//            until it is sent: a connection has only a piece of it at a time, and all texts that some reader still
//            needs are bounded. A reader that lags behind misses views, and gets the last one once it has caught up; if
//            the texts of such readers become too many, their streams break off.
// Threading: Open() and Stop() from any thread; the views belong to one network thread, `home`, each stream to that of
//            its connection. It outlives the server's network threads' loops, and is destroyed before their objects.
#pragma once

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "server/net/call.h"
#include "server/net/net_thread.h"

namespace allot {

class LiveViews {
 public:
  static constexpr std::size_t kMaxViews = 1000;
  static constexpr std::size_t kMaxStreams = 10'000;
  static constexpr std::size_t kMaxViewsOfOne = 250;
  static constexpr std::size_t kMaxStreamsOfOne = 1000;
  static constexpr std::size_t kMaxViewBytes = 4 * 1024 * 1024;
  static constexpr std::size_t kMaxBytes = 256 * 1024 * 1024;            // of all views' last texts
  static constexpr std::size_t kMaxBytesOfOne = kMaxBytes / 4;           // of those that count as one token's
  static constexpr std::size_t kMaxKeptBytes = 2 * kMaxBytes;            // with those that are still being sent
  static constexpr Duration kMostCost = std::chrono::milliseconds(100);  // a second
  // What a look costs, about.
  static constexpr Duration CostOf(std::size_t bytes) {
    return std::chrono::microseconds(500 + static_cast<std::int64_t>(bytes / 100));
  }
  static constexpr Duration kMostPause = std::chrono::seconds(60);
  // How often views are looked at of which one look each costs `own`, where those of all, that one included, cost
  // `all`.
  static Duration Pause(Duration own, const std::vector<Duration>& all);

  LiveViews(ServerContext& server, NetThread& home);
  ~LiveViews();
  LiveViews(const LiveViews&) = delete;
  LiveViews& operator=(const LiveViews&) = delete;

  // Answers with a stream. REQUIRES: the request may be watched, and its token may ask for it: who lacks a scope is
  // refused by name, before it is asked for together with others. kBadValue, kTooManyWaits.
  void Open(Call call);
  // What there is now, and since the start: looks, and texts that were made. Any thread.
  struct Counts {
    std::size_t views = 0, streams = 0;
    std::uint64_t looks = 0, texts = 0;
    std::size_t kept_bytes = 0;  // of all texts that somebody may still need
  };
  Counts counts() const;
  // Ends all streams, with an error that says so, and takes no more. Returns at once.
  void Stop();

 private:
  class Stream;
  struct View;
  class Look;
  using StreamPtr = std::shared_ptr<Stream>;
  using ViewPtr = std::shared_ptr<View>;
  using SharedText = std::shared_ptr<const std::string>;
  // What one token has open: its views, and how many streams of each.
  struct Use {
    std::map<const View*, std::size_t> views;
    std::size_t streams = 0;
    Duration cost{0};       // of one look at each view that counts as its own
    std::size_t bytes = 0;  // of their last texts
  };

  // All on `home`.
  void Admit(std::shared_ptr<Call> call);
  void Leave(const StreamPtr& stream);
  // Takes it off its view, and off what its token has open.
  void Drop(View& view, const StreamPtr& stream);
  // The view counts as that one's from now on.
  void Assign(View& view, const std::string& who);
  // How often views of that one are looked at.
  Duration PauseOf(const std::string& who) const;
  // The view's last text has so many bytes now; false, changing nothing, where that is too much for its owner or all.
  bool Resize(View& view, std::size_t bytes);
  // A text that counts in kept_bytes_ for as long as it lives.
  SharedText Hold(std::string text) const;
  // Breaks the streams off that still send a text that is not their view's last.
  void BreakLaggards();
  void BeginLook(View& view);
  void EndLook(View& view, int status, std::string_view body);
  // Calls `visit(stream)` for all of its streams, on their threads.
  template <typename F>
  void ToStreams(const View& view, F visit);
  // With an error, and the status that it has as an answer.
  void End(ViewPtr view, int status, std::string_view error_json);
  void End(ViewPtr view, const Error& error);
  // When to look again, or to send a ping.
  void Schedule(View& view);
  void OnTime();
  void Arm();

  ServerContext& server_;
  NetThread& home_;
  boost::asio::steady_timer timer_;
  std::map<std::string, ViewPtr, std::less<>> views_;  // by path and by who may see what
  std::set<std::pair<Instant, View*>> due_;
  std::map<std::string, Use, std::less<>> uses_;
  std::size_t bytes_ = 0;  // of the views' last texts
  std::shared_ptr<std::atomic<std::size_t>> kept_bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<std::size_t> view_count_{0}, stream_count_{0};
  std::atomic<std::uint64_t> looks_{0}, texts_{0};
  bool stopped_ = false;
};

}  // namespace allot
