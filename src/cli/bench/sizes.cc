// SPDX-License-Identifier: Apache-2.0
// memory, restart: how much, and what it costs to come back.
#include <string>
#include <vector>

#include "cli/bench/scenario.h"

namespace allot::bench {
namespace {

constexpr std::uint64_t kJobs = 1'000'000;

std::string Job(std::string_view more) {
  return "{\"tag\":\"" + std::string(kBenchTag) + "\"" + std::string(more) + "}";
}

// What `fill` adds, for each of `count`.
template <typename Fill>
void Grow(Site& site, const std::string& name, std::string_view unit, std::uint64_t count, Fill fill,
          Figures& figures) {
  const std::uint64_t rss = site.child().RssBytes();
  const std::uint64_t disk = site.directory().DiskBytes();
  Caller caller(site.target());
  fill(caller);
  site.Settle();
  const auto each = [count](std::uint64_t before, std::uint64_t after) {
    return (static_cast<double>(after) - static_cast<double>(before)) / static_cast<double>(count);
  };
  figures.Add(name + "/rss", each(rss, site.child().RssBytes()), "bytes/" + std::string(unit));
  figures.Add(name + "/disk", each(disk, site.directory().DiskBytes()), "bytes/" + std::string(unit));
}

template <typename Fill>
void Restarts(const Plan& plan, const std::string& name, Fill fill, Figures& figures) {
  Site site(plan);
  {
    Caller caller(site.target());
    fill(caller);
  }
  figures.Add(name + "/killed", site.Restart(false), "s");
  site.Settle();
  figures.Add(name + "/stopped", site.Restart(true), "s");
  figures.Add(name + "/rss", static_cast<double>(site.child().RssBytes()), "bytes");
}

}  // namespace

void MeasureMemory(const Plan& plan, Figures& figures) {
  const std::uint64_t count = plan.Scaled(kJobs);
  {
    Site site(plan);
    Grow(
        site, "memory/job", "job", count, [&](Caller& caller) { SubmitJobs(caller, count, Job("")); }, figures);
  }
  {
    Site site(plan);
    Grow(
        site, "memory/job_with_payload", "job", count,
        [&](Caller& caller) { SubmitJobs(caller, count, Job(",\"payload\":" + plan.Payload())); }, figures);
  }
  {
    Site site(plan);
    Grow(
        site, "memory/task_with_payload", "task", count,
        [&](Caller& caller) { SubmitTasks(caller, count, plan.Payload()); }, figures);
  }
}

void MeasureRestart(const Plan& plan, Figures& figures) {
  const std::uint64_t many = plan.Scaled(100'000);
  Restarts(
      plan, "restart/1e5_jobs_of_1e4_tasks", [&](Caller& caller) { SubmitJobs(caller, many, Job(",\"count\":10000")); },
      figures);
  const std::uint64_t jobs = plan.Scaled(kJobs);
  Restarts(
      plan, "restart/1e6_jobs", [&](Caller& caller) { SubmitJobs(caller, jobs, Job("")); }, figures);
  Restarts(
      plan, "restart/1e6_jobs_with_meta",
      [&](Caller& caller) {
        SubmitJobs(caller, jobs,
                   Job(",\"meta\":{\"customer\":\"acme-industries\",\"region\":\"eu-west-1\",\"stage\":\"production\","
                       "\"size\":1234567,\"cost\":0.25,\"retry\":true,\"project\":\"renderer\",\"frame\":42}"));
      },
      figures);
}

}  // namespace allot::bench
