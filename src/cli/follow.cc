// SPDX-License-Identifier: Apache-2.0
#include "cli/follow.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "allotter/result_stream.h"
#include "cli/interrupt.h"
#include "cli/text/progress.h"
#include "cli/text/result_printer.h"

namespace allot::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWait{60'000};
constexpr milliseconds kGlance{300};  // between looks for the progress line
constexpr std::chrono::seconds kPatience{60};
constexpr milliseconds kFirstPause{100};
constexpr milliseconds kLongestPause{3'000};

bool WorthTryingAgain(Code code) {
  return code == Code::kUnavailable || code == Code::kStopping || code == Code::kTimedOut;
}

// Looks at a job from a connection of its own, and draws the line, while the main thread prints results. The mutex
// orders the two.
class ProgressWatcher {
 public:
  ProgressWatcher(const Context& context, const std::string& job, std::mutex& screen, ProgressLine& line) {
    if (!line.active()) return;
    auto client = context.Connect();
    if (!client) return;
    thread_ = std::thread([this, &screen, &line, job, client = std::make_shared<allotter::Client>(std::move(*client))] {
      while (!over_) {
        auto now = client->jobs().Get(job);
        if (now) {
          const std::lock_guard lock(screen);
          if (!over_) line.Show(*now);
        }
        for (int i = 0; i < 10 && !over_; ++i) std::this_thread::sleep_for(kGlance / 10);
      }
    });
  }
  ~ProgressWatcher() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Results in pieces; an empty one is the end.
using NextResults = std::function<Result<std::vector<allotter::TaskResult>>()>;

NextResults InOrder(allotter::Client& client, const std::string& job, std::uint64_t first) {
  return [&client, job, from = std::optional(first)]() mutable -> Result<std::vector<allotter::TaskResult>> {
    while (from) {
      auto page = Patiently<allotter::ResultPage>(
          [&] { return client.tasks().Results(job, {.from = *from, .wait = milliseconds(20'000)}); });
      if (!page) return page.error();
      from = page->next;
      if (!page->results.empty()) return std::move(page->results);
    }
    return std::vector<allotter::TaskResult>();
  };
}

Result<NextResults> AsCompleted(const allotter::Client& client, const std::string& job) {
  allotter::ConnectionOptions options = client.options();
  options.timeout = kPatience;
  auto stream = allotter::ResultStream::Open(options, job);
  if (!stream) return stream.error();
  return NextResults(
      [stream = std::make_shared<allotter::ResultStream>(std::move(*stream))] { return stream->Next(); });
}

Result<void> PrintResults(const Context& context, allotter::Client& client, const std::string& job,
                          const FollowOptions& options) {
  NextResults next;
  if (options.as_completed) {
    auto pushed = AsCompleted(client, job);
    if (!pushed) return pushed.error();
    next = std::move(*pushed);
  } else {
    next = InOrder(client, job, options.from);
  }
  ProgressLine line;
  std::mutex screen;
  std::optional<ProgressWatcher> watcher;
  if (options.progress) watcher.emplace(context, job, screen, line);
  ResultPrinter printer(std::cout, std::cerr, context.format, StdoutStyle());
  for (;;) {
    auto results = next();
    if (!results) return results.error();
    if (results->empty()) break;
    {
      const std::lock_guard lock(screen);
      line.Clear();
      for (const allotter::TaskResult& result : *results) printer.Print(result);
      std::cout.flush();
    }
    if (!std::cout) return Result<void>();  // nobody reads any more
  }
  printer.End();
  return {};
}

}  // namespace

template <typename T>
Result<T> Patiently(const std::function<Result<T>()>& call) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  milliseconds pause = kFirstPause;
  for (;;) {
    auto result = call();
    if (result || !WorthTryingAgain(result.error().code) || std::chrono::steady_clock::now() + pause > give_up)
      return result;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}
template Result<allotter::Job> Patiently(const std::function<Result<allotter::Job>()>&);
template Result<allotter::ResultPage> Patiently(const std::function<Result<allotter::ResultPage>()>&);

Result<allotter::Job> Follow(const Context& context, allotter::Client& client, const std::string& job,
                             const FollowOptions& options) {
  if (options.say_on_interrupt) {
    SayOnInterrupt("job " + job + " goes on; see `" + context.program + " results " + job + "`, or stop it with `" +
                   context.program + " cancel " + job + "`");
  }
  if (options.results) {
    if (auto printed = PrintResults(context, client, job, options); !printed) return printed.error();
  }
  ProgressLine line;
  const bool draw = options.progress && line.active() && !options.results;
  for (;;) {
    auto now = Patiently<allotter::Job>([&] { return client.jobs().Get(job, draw ? kGlance : kWait); });
    if (!now || now->ended()) {
      if (draw && now) line.Show(*now);
      line.Leave();
      return now;
    }
    if (draw) line.Show(*now);
    if (!std::cout) return now;
  }
}

ExitCode ExitCodeOfJob(const allotter::Job& job) { return job.state == "done" ? ExitCode::kOk : ExitCode::kFailed; }

}  // namespace allot::cli
