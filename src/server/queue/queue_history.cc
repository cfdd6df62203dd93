// SPDX-License-Identifier: Apache-2.0
#include "server/queue/queue_history.h"

#include <algorithm>
#include <limits>

namespace allot {
namespace {

std::uint32_t Difference(std::uint64_t now, std::uint64_t before) {
  const std::uint64_t count = now >= before ? now - before : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

void QueueHistory::Advance(const Now& now, const EngineStats& stats) {
  const Totals totals{stats.submitted_tasks, stats.granted, stats.done, stats.failed_attempts};
  if (!began_) {
    began_ = true;
    start_ = now.mono;
    start_ms_ = ToMillis(now.wall);
    for (Steps* steps : {&seconds_, &minutes_}) {
      steps->current = start_ms_ / steps->step.count();
      steps->before = totals;
    }
    next_limits_ = now.mono;
  }
  const std::int64_t now_ms = At(now.mono);
  Advance(seconds_, now_ms, totals, stats);
  Advance(minutes_, now_ms, totals, stats);
  next_second_ = When((seconds_.current + 1) * seconds_.step.count());
}

void QueueHistory::Advance(Steps& steps, std::int64_t now_ms, const Totals& totals, const EngineStats& stats) {
  const std::int64_t step = steps.step.count();
  const std::int64_t current = now_ms / step;
  if (current <= steps.current) return;
  Sample sample;
  sample.submitted = Difference(totals.submitted, steps.before.submitted);
  sample.started = Difference(totals.started, steps.before.started);
  sample.done = Difference(totals.done, steps.before.done);
  sample.failed = Difference(totals.failed, steps.before.failed);
  sample.queued = stats.tasks_queued;
  sample.retrying = stats.tasks_retrying;
  sample.running = stats.tasks_running;
  const auto push = [&](std::int64_t which) {
    const std::int64_t end = (which + 1) * step;
    sample.oldest_ms = stats.oldest_waiting ? std::max<std::int64_t>(0, end - ToMillis(stats.oldest_waiting_since)) : 0;
    steps.samples.Push(sample);
  };
  push(steps.current);
  // Nothing happened since.
  sample.submitted = sample.started = sample.done = sample.failed = 0;
  const auto kept = static_cast<std::int64_t>(std::max(kSeconds, kMinutes));
  for (std::int64_t i = std::max(steps.current + 1, current - kept); i < current; ++i) push(i);
  steps.current = current;
  steps.before = totals;
}

QueueHistory::Series QueueHistory::SeriesOf(const Steps& steps) {
  Series series;
  series.step = steps.step;
  const auto count = static_cast<std::int64_t>(steps.samples.size());
  series.from = FromMillis((steps.current - count) * steps.step.count());
  series.samples.reserve(steps.samples.size());
  for (std::size_t i = 0; i < steps.samples.size(); ++i) series.samples.push_back(steps.samples[i]);
  return series;
}

QueueHistory::Rates QueueHistory::LastRates() const {
  const std::size_t count = std::min(kRateSeconds, seconds_.samples.size());
  Rates rates;
  if (count == 0) return rates;
  for (std::size_t i = seconds_.samples.size() - count; i < seconds_.samples.size(); ++i) {
    const Sample& sample = seconds_.samples[i];
    rates.submitted += sample.submitted;
    rates.started += sample.started;
    rates.done += sample.done;
    rates.failed += sample.failed;
  }
  const auto length = static_cast<double>(count);
  rates.submitted /= length;
  rates.started /= length;
  rates.done /= length;
  rates.failed /= length;
  return rates;
}

void QueueHistory::AdvanceLimits(const Now& now, std::span<const LimitLevel> limits) {
  const std::int64_t end = At(now.mono) / kLimitStep.count() * kLimitStep.count();
  const std::int64_t passed = limits_end_ == 0 ? 1 : (end - limits_end_) / kLimitStep.count();
  for (auto& [uuid, steps] : limits_) steps.seen = false;
  for (const LimitLevel& limit : limits) {
    auto at = limits_.find(limit.uuid);
    const bool fresh = at == limits_.end();
    if (fresh) at = limits_.try_emplace(std::string(limit.uuid)).first;
    at->second.seen = true;
    const LimitSample sample{static_cast<float>(limit.tokens), static_cast<std::uint32_t>(limit.waiting)};
    // A round that came late stands for the steps that it missed.
    const std::int64_t times = fresh ? 1 : std::min<std::int64_t>(passed, kLimitSteps);
    for (std::int64_t i = 0; i < times; ++i) at->second.samples.Push(sample);
  }
  std::erase_if(limits_, [](const auto& item) { return !item.second.seen; });
  limits_end_ = end;
  limits_expected_ = !limits.empty();
  next_limits_ = When(end + kLimitStep.count());
}

std::optional<Instant> QueueHistory::NextLimits() const {
  if (!limits_expected_ || !began_) return std::nullopt;
  return next_limits_;
}

QueueHistory::LimitSeries QueueHistory::Limit(std::string_view uuid) const {
  LimitSeries series;
  const auto found = limits_.find(uuid);
  const std::size_t count = found == limits_.end() ? 0 : found->second.samples.size();
  series.from = FromMillis(limits_end_ - static_cast<std::int64_t>(count) * kLimitStep.count());
  for (std::size_t i = 0; i < count; ++i) series.samples.push_back(found->second.samples[i]);
  return series;
}

}  // namespace allot
