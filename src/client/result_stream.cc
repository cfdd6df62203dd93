// SPDX-License-Identifier: Apache-2.0
#include "allotter/result_stream.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/bounds.h"
#include "base/json.h"
#include "client/index_ranges.h"
#include "client/wait_link.h"
#include "wire/workers.h"
#include "wire/writer.h"

namespace allotter {
namespace {

namespace wire = allot::wire;

// How many results may be on their way; half of it is given again when half of it has come.
constexpr std::uint32_t kCredit = 4'000;
constexpr milliseconds kFirstAgain{50}, kLongestAgain{2'000};

}  // namespace

class ResultStream::Impl {
 public:
  Impl(ConnectionOptions options, std::string job) : options_(std::move(options)), job_(std::move(job)) {}

  Result<void> Connect() {
    auto link = WaitLink::Open(options_);
    if (!link) return link.error();
    link_ = std::move(*link);
    credit_ = 0;
    return Ask(true);
  }

  Result<std::vector<TaskResult>> Next() {
    std::vector<TaskResult> fresh;
    const auto give_up_at = std::chrono::steady_clock::now() + options_.timeout;
    milliseconds pause = kFirstAgain;
    while (!over_ && fresh.empty()) {
      Result<void> took = link_ ? Take(fresh) : Connect();
      if (took) continue;
      link_.reset();
      const bool passing = took.error().code == Code::kUnavailable || took.error().code == Code::kStopping;
      if (!passing || std::chrono::steady_clock::now() + pause >= give_up_at) return took.error();
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongestAgain);
    }
    return fresh;
  }

 private:
  // Gives credit; the first time on a connection, with what is there already.
  Result<void> Ask(bool first) {
    std::string text;
    {
      allot::JsonWriter json(text);
      wire::Writer<wire::kWait> w(json);
      w.Value("results").BeginArray();
      {
        wire::Writer<wire::kFollow> one(json);
        one.Text("job", job_);
        one.Count("credit", kCredit - credit_);
        if (first && !have_.all().empty()) {
          one.Value("have").BeginArray();
          // What does not fit comes again, and is not told twice.
          std::size_t left = allot::bounds::kMaxRangesPerFollow;
          for (auto range = have_.all().begin(); range != have_.all().end() && left > 0; ++range, --left) {
            wire::Writer<wire::kRange> between(json);
            between.Count("from", range->first);
            between.Count("to", range->second);
          }
          json.EndArray();
        }
      }
      json.EndArray();
    }
    credit_ = kCredit;
    return link_->Say(text);
  }

  Result<void> Take(std::vector<TaskResult>& fresh) {
    if (credit_ <= kCredit / 2) {
      if (auto asked = Ask(false); !asked) return asked;
    }
    auto message = link_->Next();
    if (!message) return message.error();
    for (ServerMessage::Results& news : (*message)->results) {
      credit_ -= std::min(credit_, static_cast<std::uint32_t>(news.results.size()));
      for (TaskResult& result : news.results) {
        if (have_.Add(result.index)) fresh.push_back(std::move(result));
      }
      over_ = over_ || news.end;
    }
    // Of ends only those are told that are not known.
    if (!(*message)->ended.empty()) return Error{Code::kUnknownJob, "there is no job " + job_, ""};
    return {};
  }

  const ConnectionOptions options_;
  const std::string job_;
  std::unique_ptr<WaitLink> link_;
  IndexRanges have_;
  std::uint32_t credit_ = 0;
  bool over_ = false;
};

ResultStream::ResultStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultStream::ResultStream(ResultStream&&) noexcept = default;
ResultStream& ResultStream::operator=(ResultStream&&) noexcept = default;
ResultStream::~ResultStream() = default;

Result<ResultStream> ResultStream::Open(const ConnectionOptions& options, std::string job) {
  auto impl = std::make_unique<Impl>(options, std::move(job));
  if (auto connected = impl->Connect(); !connected) return connected.error();
  return ResultStream(std::move(impl));
}

Result<std::vector<TaskResult>> ResultStream::Next() { return impl_->Next(); }

}  // namespace allotter
