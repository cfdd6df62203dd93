// SPDX-License-Identifier: Apache-2.0
#include "allotter/live.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "base/bounds.h"
#include "base/check.h"
#include "client/codec.h"
#include "client/event_stream.h"
#include "client/http.h"
#include "client/limit_codec.h"
#include "client/overview_codec.h"
#include "client/url.h"

namespace allotter {
namespace {

constexpr milliseconds kFirstPause{250};
constexpr milliseconds kLongestPause{10'000};
// On top of the usual timeout: the server pings far more often.
constexpr milliseconds kSilence{60'000};

// Whether it may be better the next time.
bool Passing(Code code) {
  return code == Code::kUnavailable || code == Code::kStopping || code == Code::kDiskFull ||
         code == Code::kTooManyWaits || code == Code::kTimedOut;
}

std::string QueuePath(std::string_view queue, std::string_view rest) {
  return "/v1/queues/" + UrlEncode(queue) + std::string(rest);
}

std::uint64_t PageLimit(std::size_t limit) { return std::min<std::uint64_t>(limit, allot::bounds::kMaxPageItems); }

}  // namespace

class LiveView::Impl {
 public:
  Impl(const ConnectionOptions& options, Endpoint endpoint, std::shared_ptr<SSL_CTX> tls, std::string path)
      : http_(std::move(endpoint), std::move(tls), options),
        path_(std::move(path)),
        stop_fd_(::eventfd(0, EFD_CLOEXEC)) {
    CHECK(stop_fd_ >= 0);
    http_.SetStop(stop_fd_);
  }
  ~Impl() { ::close(stop_fd_); }

  Result<void> Run(const Handlers& handlers) {
    milliseconds pause = kFirstPause;
    while (!stopped_) {
      bool shown = false;
      const Error error = Follow(handlers, shown);
      if (stopped_) break;
      if (!Passing(error.code)) return error;
      if (handlers.on_lost) handlers.on_lost(error);
      if (shown) pause = kFirstPause;
      pollfd poller{stop_fd_, POLLIN, 0};
      ::poll(&poller, 1, static_cast<int>(pause.count()));
      pause = std::min(pause * 2, kLongestPause);
    }
    return {};
  }

  void Stop() {
    stopped_ = true;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(stop_fd_, &one, sizeof one);
  }

 private:
  // One connection, until it ends, and why it did.
  Error Follow(const Handlers& handlers, bool& shown) {
    EventStream events;
    std::optional<Error> end;
    const auto on_event = [&](std::string_view event, const std::string& data) {
      if (event == "error") end = ErrorOfAnswer(500, data);
      if (event == "view" && !stopped_) {
        shown = true;
        if (handlers.on_view) handlers.on_view(data);
      }
      return !end && !stopped_;
    };
    const auto sink = [&](std::string_view piece) {
      auto more = events.Add(piece, on_event);
      if (!more) end = more.error();
      return more && *more;
    };
    auto answer = http_.Send({.target = path_, .wait = kSilence, .accept = "text/event-stream"}, sink);
    http_.Close();
    if (end) return *end;
    if (!answer) return answer.error();
    return Error{Code::kUnavailable, "the server ended the live view", "is it stopping?"};
  }

  HttpConnection http_;
  const std::string path_;
  const int stop_fd_;
  std::atomic<bool> stopped_ = false;
};

LiveView::LiveView(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LiveView::LiveView(LiveView&&) noexcept = default;
LiveView& LiveView::operator=(LiveView&&) noexcept = default;
LiveView::~LiveView() = default;

Result<LiveView> LiveView::Open(const ConnectionOptions& options, std::string path) {
  auto target = TargetOf(options);
  if (!target) return target.error();
  if (path.empty() || path[0] != '/' || path.find_first_of(" \r\n") != std::string::npos) {
    return Error{Code::kBadValue, "not a path", "it begins with a slash"};
  }
  return LiveView(
      std::make_unique<Impl>(options, std::move(target->endpoint), std::move(target->tls), std::move(path)));
}

Result<void> LiveView::Run(const Handlers& handlers) { return impl_->Run(handlers); }
void LiveView::Stop() { impl_->Stop(); }

template <typename T>
Result<T> FromView(const std::string& json) {
  return Parse<T>(json);
}
template Result<std::vector<Queue>> FromView(const std::string&);
template Result<Overview> FromView(const std::string&);
template Result<JobPage> FromView(const std::string&);
template Result<Job> FromView(const std::string&);
template Result<Explanation> FromView(const std::string&);
template Result<WorkerPage> FromView(const std::string&);
template Result<WorkerInfo> FromView(const std::string&);
template Result<UserPage> FromView(const std::string&);
template Result<std::vector<Limit>> FromView(const std::string&);

std::string QueuesPath() { return "/v1/queues"; }

std::string OverviewPath(std::string_view queue) { return QueuePath(queue, "/overview"); }

std::string JobsPath(std::string_view queue, const JobQuery& query) {
  PathQuery path(QueuePath(queue, "/jobs"));
  path.Add("state", query.state).Add("tag", query.tag).Add("user", query.user).Add("before", query.before);
  return path.Add("limit", PageLimit(query.limit)).text();
}

std::string ExplainPath(std::string_view queue, std::string_view job) {
  return QueuePath(queue, "/jobs/" + UrlEncode(job) + "/explain");
}

std::string WorkersPath(std::string_view queue, std::string_view after, std::size_t limit) {
  PathQuery path(QueuePath(queue, "/workers"));
  return path.Add("after", after).Add("limit", PageLimit(limit)).text();
}

std::string WorkerPath(std::string_view queue, std::string_view worker) {
  return QueuePath(queue, "/workers/" + UrlEncode(worker));
}

std::string UsersPath(std::string_view queue, const UserQuery& query) {
  PathQuery path(QueuePath(queue, "/users"));
  return path.Add("after", query.after).Add("user", query.user).Add("limit", PageLimit(query.limit)).text();
}

std::string LimitsPath(std::string_view queue, const LimitFilter& filter) {
  PathQuery path(QueuePath(queue, "/limits"));
  return path.Add("tag", filter.tag).Add("uuid", filter.uuid).text();
}

}  // namespace allotter
