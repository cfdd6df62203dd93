// SPDX-License-Identifier: Apache-2.0
#include "cli/text/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "base/time.h"
#include "cli/text/output.h"

namespace allot::cli {
namespace {

constexpr double kSmoothingSeconds = 3.0;
constexpr int kMaxBar = 30;

std::uint64_t EndedTasks(const allotter::Job& job) { return job.done + job.failed + job.skipped; }

}  // namespace

void RateMeter::Add(std::uint64_t ended, std::chrono::steady_clock::time_point at) {
  if (begun_) {
    const double seconds = std::chrono::duration<double>(at - last_).count();
    if (seconds < 0.05) return;
    const double now = static_cast<double>(ended - std::min(ended, last_ended_)) / seconds;
    const double weight = rate_ == 0 ? 1.0 : 1.0 - std::exp(-seconds / kSmoothingSeconds);
    rate_ += (now - rate_) * weight;
  }
  begun_ = true;
  last_ended_ = ended;
  last_ = at;
}

std::string ProgressText(const allotter::Job& job, double per_second, int columns) {
  const std::uint64_t ended = EndedTasks(job);
  std::string text = FormatCount(ended) + "/" + FormatCount(job.count);
  const double done = static_cast<double>(ended) + std::min(job.progress.value_or(0), static_cast<double>(job.running));
  const double part = job.count == 0 ? 1.0 : done / static_cast<double>(job.count);
  text += "  " + std::to_string(static_cast<int>(part * 100)) + "%";
  if (job.state != "active") text += "  " + Visible(job.state);
  if (per_second > 0.05 && !job.ended()) {
    char rate[32];
    std::snprintf(rate, sizeof rate, per_second < 10 ? "  %.1f/s" : "  %.0f/s", per_second);
    text += rate;
    const double left = static_cast<double>(job.count - ended) / per_second;
    if (left < 1e8)
      text += "  " + FormatDuration(std::chrono::seconds(static_cast<std::int64_t>(std::ceil(left)))) + " left";
  }
  if (job.failed > 0) text += "  " + FormatCount(job.failed) + " failed";
  if (job.retrying > 0) text += "  " + FormatCount(job.retrying) + " retrying";
  const int room = std::min(kMaxBar, columns - static_cast<int>(text.size()) - 3);
  if (room < 5) return text.substr(0, static_cast<std::size_t>(std::max(0, columns - 1)));
  const int full = static_cast<int>(part * room);
  std::string bar;
  for (int i = 0; i < room; ++i) bar += i < full ? "█" : "░";
  return bar + "  " + text;
}

ProgressLine::ProgressLine() : active_(StderrStyle().terminal) {}

ProgressLine::~ProgressLine() { Clear(); }

void ProgressLine::Show(const allotter::Job& job) {
  if (!active_) return;
  meter_.Add(EndedTasks(job), std::chrono::steady_clock::now());
  const std::string line = "\r\x1b[K" + ProgressText(job, meter_.per_second(), TerminalColumns());
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

void ProgressLine::Leave() {
  if (drawn_) std::fputc('\n', stderr);
  drawn_ = false;
}

void ProgressLine::Clear() {
  if (!drawn_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace allot::cli
