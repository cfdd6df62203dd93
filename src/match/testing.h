// SPDX-License-Identifier: Apache-2.0
// Random jobs and workers for tests, and the four conditions of matching as plainly as they can be written.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "expr/testing.h"
#include "match/class_table.h"
#include "match/constraints.h"

namespace allot::testing {

struct SampleJob {
  TagList tags;
  std::vector<Properties> constraints;
  TagList constraint_tags;
  ExprPtr requirements, rank;
  std::string user;
  std::int64_t need = 0;  // 0: not shown
  std::int64_t priority = 0;

  expr::Ad Ad() const {
    expr::Ad ad;
    ad.Set("User", expr::Value::String(user));
    if (need != 0) ad.Set("Need", expr::Value::Integer(need));
    ad.Set("Priority", expr::Value::Integer(priority));
    return ad;
  }
  ClassTable::Terms In(const ClassTable& table) const {
    const std::function<expr::Ad()> ad = [this] { return Ad(); };
    return table.TermsOf(JobTraits{tags, constraint_tags, requirements, rank, ad});
  }
};

struct SampleWorker {
  std::string name;
  TagList tags;
  Properties properties;
  ExprPtr requirements, rank;
  std::int64_t memory = 0;  // 0: not shown
  std::int64_t slots = 1;

  expr::Ad Ad() const {
    expr::Ad ad;
    ad.Set("Name", expr::Value::String(name));
    if (memory != 0) ad.Set("Memory", expr::Value::Integer(memory));
    ad.Set("Slots", expr::Value::Integer(slots));
    for (const auto& [key, value] : properties) ad.Set(key, expr::Value::String(value));
    return ad;
  }
  WorkerTraits Traits() const {
    return WorkerTraits{tags,         properties, ConstraintTags(properties),
                        requirements, rank,       std::make_shared<const expr::Ad>(Ad())};
  }
};

inline TagList SomeTags(Rng& rng) {
  TagList list;
  for (const char* tag : {"a", "b", "c"}) {
    if (rng.Below(3) == 0) list.emplace_back(tag);
  }
  return list;
}

inline Properties SomeProperties(Rng& rng) {
  Properties properties;
  for (const char* key : {"gpu", "region"}) {
    if (rng.Below(2) == 0) properties.emplace_back(key, std::string(1, static_cast<char>('x' + rng.Below(2))));
  }
  return properties;
}

inline SampleJob SomeJob(Rng& rng) {
  static const std::vector<std::string> kRequirements = {
      "",
      "",
      "TARGET.Memory >= MY.Need",
      "Memory >= 4",
      "TARGET.gpu == \"X\" && TARGET.Memory > 2",
      "JOB.Need < 3",
      "MACHINE.Slots > 1 || Need == 2",
      "time() % 4 < 2",
      "TARGET.Missing =?= undefined",
      "TARGET.Name == \"w1\"",
      "(Need ?: Memory) > 2",
      "TARGET.Memory / (MY.Need - 2) >= 1",
      "false",
  };
  static const std::vector<std::string> kRanks = {"",        "",          "", "TARGET.Memory", "-TARGET.Slots",
                                                  "MY.Need", "time() % 2"};
  SampleJob job;
  job.tags = SomeTags(rng);
  if (rng.Below(3) == 0) {
    for (std::uint64_t i = 0, n = 1 + rng.Below(2); i < n; ++i) {
      Properties alternative = SomeProperties(rng);
      if (!alternative.empty()) job.constraints.push_back(std::move(alternative));
    }
  }
  job.constraint_tags = ConstraintTags(job.constraints);
  job.requirements = MustParse(kRequirements[rng.Below(kRequirements.size())]);
  job.rank = MustParse(kRanks[rng.Below(kRanks.size())]);
  job.user = rng.Below(2) == 0 ? "u1" : "u2";
  job.need = static_cast<std::int64_t>(rng.Below(4));
  job.priority = static_cast<std::int64_t>(rng.Below(3));
  return job;
}

inline SampleWorker SomeWorker(Rng& rng) {
  static const std::vector<std::string> kRequirements = {
      "", "", "", "TARGET.User == \"u1\"", "TARGET.Need <= MY.Memory", "Priority > 0", "time() % 3 == 0",
  };
  static const std::vector<std::string> kRanks = {"", "", "", "TARGET.Need", "TARGET.Priority * -1", "1.5"};
  SampleWorker worker;
  worker.name = "w" + std::to_string(rng.Below(4));
  worker.tags = SomeTags(rng);
  worker.properties = SomeProperties(rng);
  worker.requirements = MustParse(kRequirements[rng.Below(kRequirements.size())]);
  worker.rank = MustParse(kRanks[rng.Below(kRanks.size())]);
  worker.memory = static_cast<std::int64_t>(rng.Below(6));
  worker.slots = 1 + static_cast<std::int64_t>(rng.Below(2));
  return worker;
}

// The design's four conditions, on what both sides show in full.
inline Verdict NaiveVerdict(const SampleJob& job, const SampleWorker& worker, std::int64_t time) {
  for (const std::string& tag : job.tags) {
    if (std::find(worker.tags.begin(), worker.tags.end(), tag) == worker.tags.end()) return {};
  }
  bool fits = job.constraints.empty();
  for (const Properties& alternative : job.constraints) {
    bool all = true;
    for (const auto& pair : alternative) {
      all = all && std::find(worker.properties.begin(), worker.properties.end(), pair) != worker.properties.end();
    }
    fits = fits || all;
  }
  if (!fits) return {};
  const expr::Ad job_ad = job.Ad();
  const expr::Ad worker_ad = worker.Ad();
  expr::Evaluator evaluator;
  const expr::Sides from_job{&job_ad, &worker_ad, expr::Side::kJob, time};
  const expr::Sides from_worker{&job_ad, &worker_ad, expr::Side::kMachine, time};
  if (job.requirements && !evaluator.True(*job.requirements, from_job)) return {};
  if (worker.requirements && !evaluator.True(*worker.requirements, from_worker)) return {};
  Verdict verdict{true, 0, 0};
  if (job.rank) verdict.job_rank = evaluator.Number(*job.rank, from_job);
  if (worker.rank) verdict.worker_rank = evaluator.Number(*worker.rank, from_worker);
  return verdict;
}

}  // namespace allot::testing
