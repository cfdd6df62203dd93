// SPDX-License-Identifier: Apache-2.0
#include "server/ops/step_meter.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace allot {
namespace {

constexpr std::int64_t kReadCpuAfter = 500'000;

std::int64_t Read(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void StepMeter::BeginRound() {
  cpu_ = round_cpu_ = Read(CLOCK_THREAD_CPUTIME_ID);
  wall_ = cpu_wall_ = round_wall_ = Read(CLOCK_MONOTONIC);
}

std::int64_t StepMeter::End(StepKind kind) {
  const std::int64_t now = Read(CLOCK_MONOTONIC);
  std::int64_t took = now - std::exchange(wall_, now);
  if (now - cpu_wall_ >= kReadCpuAfter) {
    const std::int64_t cpu = Read(CLOCK_THREAD_CPUTIME_ID);
    took = std::min(took, cpu - std::exchange(cpu_, cpu));
    cpu_wall_ = now;
  }
  Note(kind, took);
  return took;
}

void StepMeter::EndRound() { Note(StepKind::kRound, Read(CLOCK_THREAD_CPUTIME_ID) - round_cpu_); }

void StepMeter::Note(StepKind kind, std::int64_t nanoseconds) {
  StepTotals& totals = totals_[static_cast<std::size_t>(kind)];
  const double seconds = static_cast<double>(nanoseconds) * 1e-9;
  const auto bucket = std::lower_bound(kStepBounds.begin(), kStepBounds.end(), seconds) - kStepBounds.begin();
  ++totals.counts[static_cast<std::size_t>(bucket)];
  totals.sum += nanoseconds;
  totals.longest = std::max(totals.longest, nanoseconds);
  any_ = true;
}

StepMeter::Totals StepMeter::Take() {
  any_ = false;
  return std::exchange(totals_, {});
}

}  // namespace allot
