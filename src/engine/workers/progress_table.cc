// SPDX-License-Identifier: Apache-2.0
#include "engine/workers/progress_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace allot {
namespace {

constexpr double kParts = 1'000'000;

}  // namespace

std::optional<std::uint32_t> ProgressTable::PartsOf(const TaskProgress& progress) {
  if (!progress.of || *progress.of <= 0) return std::nullopt;
  return static_cast<std::uint32_t>(std::lround(std::clamp(progress.done / *progress.of, 0.0, 1.0) * kParts));
}

void ProgressTable::Set(const TaskRef& task, TaskProgress progress) {
  if (const std::optional<std::uint32_t> parts = PartsOf(progress)) {
    Sum& sum = by_job_[task.job.value];
    sum.parts += *parts;
    ++sum.tasks;
  }
  const auto [place, fresh] = by_lease_.try_emplace(task.lease.serial);
  if (!fresh) Subtract(task.job, place->second);
  place->second = std::move(progress);
}

void ProgressTable::Forget(const TaskRef& task) {
  const auto place = by_lease_.find(task.lease.serial);
  if (place == by_lease_.end()) return;
  Subtract(task.job, place->second);
  by_lease_.erase(place);
}

void ProgressTable::Subtract(JobId job, const TaskProgress& progress) {
  const std::optional<std::uint32_t> parts = PartsOf(progress);
  if (!parts) return;
  const auto sum = by_job_.find(job.value);
  CHECK(sum != by_job_.end() && sum->second.tasks > 0 && sum->second.parts >= *parts);
  sum->second.parts -= *parts;
  if (--sum->second.tasks == 0) by_job_.erase(sum);
}

const TaskProgress* ProgressTable::Find(std::uint64_t lease) const {
  const auto place = by_lease_.find(lease);
  return place == by_lease_.end() ? nullptr : &place->second;
}

std::optional<double> ProgressTable::SumOf(JobId job) const {
  const auto sum = by_job_.find(job.value);
  if (sum == by_job_.end()) return std::nullopt;
  return static_cast<double>(sum->second.parts) / kParts;
}

}  // namespace allot
