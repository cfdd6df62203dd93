// SPDX-License-Identifier: Apache-2.0
#include "match/class_table.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "match/testing.h"

namespace allot {
namespace {

using testing::MustParse;
using testing::NaiveVerdict;
using testing::SampleJob;
using testing::SampleWorker;

// Knows the masks from what it was told alone.
class Mirror : public ClassTable::Listener {
 public:
  void OnWidth() override {
    for (ClassId cls = 0; cls < table->class_slots(); ++cls) OnClass(cls);
  }
  void OnClass(ClassId cls) override {
    for (KindId kind = 0; kind < table->kinds().slots(); ++kind) Copy(kind, cls);
  }
  void OnKind(KindId kind) override {
    for (ClassId cls = 0; cls < table->class_slots(); ++cls) Copy(kind, cls);
  }
  void OnMoved(KindId from) override { moved.insert(from); }
  void Copy(KindId kind, ClassId cls) {
    if (const Verdict verdict = table->kinds().Of(kind, cls); verdict.match) {
      verdicts[{kind, cls}] = {verdict.job_rank, verdict.worker_rank};
    } else {
      verdicts.erase({kind, cls});
    }
  }
  const ClassTable* table = nullptr;
  std::map<std::pair<KindId, ClassId>, std::pair<double, double>> verdicts;
  std::set<KindId> moved;
};

struct World {
  World() : table(mirror) { mirror.table = &table; }
  Mirror mirror;
  ClassTable table;
};

TEST(ClassTable, AWorkerNeedsAllTagsOfAJobAndMayHaveMore) {
  struct Row {
    TagList job, worker;
    bool want;
  };
  const Row rows[] = {
      {{}, {}, true},
      {{}, {"a"}, true},
      {{"a"}, {}, false},
      {{"a"}, {"a"}, true},
      {{"a"}, {"a", "b"}, true},
      {{"a", "b"}, {"a"}, false},
      {{"a", "c"}, {"a", "b", "c"}, true},
      {{"b"}, {"a", "c"}, false},
      {{"a"}, {"ab"}, false},
  };
  for (const Row& row : rows) {
    World world;
    SampleJob job;
    job.tags = row.job;
    SampleWorker worker;
    worker.tags = row.worker;
    const ClassId cls = world.table.AddJob(job.In(world.table));
    const auto handle = world.table.AddWorker(worker.Traits());
    EXPECT_EQ(world.table.kinds().WorkersFor(cls), row.want ? 1u : 0u);
    EXPECT_EQ(world.table.kinds().Matches(world.table.KindOf(handle), cls), row.want);
  }
}

TEST(ClassTable, JobsShareAClassByWhatIsLeftOfTheirRequirements) {
  World world;
  SampleJob a, b, c;
  a.requirements = b.requirements = c.requirements = MustParse("TARGET.Memory >= MY.Need * 2");
  a.need = b.need = 3;
  a.user = "u1";
  b.user = "u2";
  c.need = 4;
  const ClassId cls = world.table.AddJob(a.In(world.table));
  EXPECT_EQ(world.table.AddJob(b.In(world.table)), cls) << "no worker reads the user";
  EXPECT_NE(world.table.AddJob(c.In(world.table)), cls);
  EXPECT_EQ(world.table.classes(), 2u);
}

TEST(ClassTable, AttributesThatNobodyReadsMakeNoKinds) {
  World world;
  for (int i = 0; i < 50; ++i) {
    SampleWorker worker;
    worker.name = "w" + std::to_string(i);
    worker.memory = i;
    world.table.AddWorker(worker.Traits());
  }
  EXPECT_EQ(world.table.profiles(), 1u);
  SampleJob job;
  job.requirements = MustParse("TARGET.Memory >= 40");
  const ClassId cls = world.table.AddJob(job.In(world.table));
  EXPECT_EQ(world.table.kinds().WorkersFor(cls), 10u);
  EXPECT_EQ(world.table.profiles(), 50u);
  EXPECT_EQ(world.table.kinds().size(), 2u) << "those with the same verdicts are one";
  world.table.DropJob(cls);
  EXPECT_EQ(world.table.kinds().size(), 1u);
  EXPECT_EQ(world.table.classes(), 0u);
}

TEST(ClassTable, AWorkerThatReadsMoreOfJobsMatchesOnlyThoseGroupedAnew) {
  World world;
  SampleJob one, two;
  one.user = "u1";
  two.user = "u2";
  const ClassId both = world.table.AddJob(one.In(world.table));
  EXPECT_EQ(world.table.AddJob(two.In(world.table)), both);
  SampleWorker worker;
  worker.requirements = MustParse("TARGET.User == \"u1\"");
  const auto handle = world.table.AddWorker(worker.Traits());
  EXPECT_TRUE(world.table.Outdated(both));
  EXPECT_EQ(world.table.kinds().WorkersFor(both), 0u);
  const ClassId first = world.table.AddJob(one.In(world.table));
  const ClassId second = world.table.AddJob(two.In(world.table));
  world.table.DropJob(both);
  world.table.DropJob(both);
  EXPECT_EQ(world.table.kinds().WorkersFor(first), 1u);
  EXPECT_EQ(world.table.kinds().WorkersFor(second), 0u);
  // The same worker again does not make everything be grouped anew.
  const std::uint64_t epoch = world.table.epoch();
  world.table.DropWorker(handle);
  world.table.AddWorker(worker.Traits());
  EXPECT_EQ(world.table.epoch(), epoch);
}

TEST(ClassTable, AgreesWithTheFourConditionsAfterAnyMixtureOfChanges) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    World world;
    ClassTable& table = world.table;
    std::int64_t time = 1'000'000;
    table.BeginCommand(time);
    struct Job {
      SampleJob job;
      ClassId cls;
    };
    struct Worker {
      SampleWorker worker;
      ClassTable::Handle handle;
    };
    std::vector<Job> jobs;
    std::vector<Worker> workers;
    const auto renew = [&] {
      table.Renew();
      for (std::size_t budget = 1 + rng.Below(3); !table.Settle(budget); budget = 1 + rng.Below(3)) {
      }
    };
    for (int step = 0; step < 250; ++step) {
      // Every other world has so little time that most is left for later.
      table.BeginCommand(time,
                         seed % 2 == 0 ? static_cast<std::int64_t>(rng.Below(2000)) : ClassTable::kCommandNanoseconds);
      switch (rng.Below(7)) {
        case 0:
        case 1: {
          const SampleJob job = testing::SomeJob(rng);
          jobs.push_back({job, table.AddJob(job.In(table))});
          break;
        }
        case 2:
        case 3: {
          const SampleWorker worker = testing::SomeWorker(rng);
          workers.push_back({worker, table.AddWorker(worker.Traits())});
          break;
        }
        case 4:
          if (!workers.empty()) {
            Worker& worker = workers[rng.Below(workers.size())];
            worker.worker = testing::SomeWorker(rng);
            table.ChangeWorker(worker.handle, worker.worker.Traits());
          }
          break;
        case 5:
          if (jobs.size() > 10 || (rng.Below(2) == 0 && !jobs.empty())) {
            const std::size_t which = rng.Below(jobs.size());
            table.DropJob(jobs[which].cls);
            jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(which));
          } else if (!workers.empty()) {
            const std::size_t which = rng.Below(workers.size());
            table.DropWorker(workers[which].handle);
            workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(which));
          }
          break;
        default:
          time += static_cast<std::int64_t>(rng.Below(rng.Below(8) == 0 ? 100 : 2));
          table.BeginCommand(time);
          renew();
      }
      const bool regroup = rng.Below(2) == 0;
      for (Job& job : jobs) {
        if (!regroup || !table.Outdated(job.cls)) continue;
        const ClassId cls = table.AddJob(job.job.In(table));
        table.DropJob(job.cls);
        job.cls = cls;
      }
      if (rng.Below(2) == 0) {
        std::size_t budget = rng.Below(4);
        table.Settle(budget);
      }
      std::set<std::vector<std::tuple<bool, double, double>>> rows;
      for (const Worker& worker : workers) {
        const KindId kind = table.KindOf(worker.handle);
        std::vector<std::tuple<bool, double, double>> row;
        for (const Job& job : jobs) {
          const Verdict want = NaiveVerdict(job.job, worker.worker, time);
          const bool match = table.kinds().Matches(kind, job.cls);
          // What waits to be judged matches nobody yet; what waits to be looked at again is as it was.
          if (table.Settled() && (match || !table.Outdated(job.cls))) {
            ASSERT_EQ(match, want.match) << "step " << step;
          }
          const double job_rank = match ? table.kinds().Of(kind, job.cls).job_rank : 0;
          const double worker_rank = match ? table.kinds().Of(kind, job.cls).worker_rank : 0;
          if (match && table.Settled()) {
            ASSERT_EQ(job_rank, want.job_rank);
            ASSERT_EQ(worker_rank, want.worker_rank);
          }
          row.emplace_back(match, job_rank, worker_rank);
          const auto mirrored = world.mirror.verdicts.find({kind, job.cls});
          ASSERT_EQ(mirrored != world.mirror.verdicts.end(), match) << "step " << step;
          if (match) {
            ASSERT_EQ(mirrored->second.second, worker_rank);
          }
        }
        rows.insert(std::move(row));
      }
      // As many kinds as different verdicts; those that have become alike are joined in steps.
      ASSERT_GE(table.kinds().size(), rows.size()) << "step " << step;
      if (table.Settled()) {
        ASSERT_EQ(table.kinds().size(), rows.size()) << "step " << step;
      }
      for (const Job& job : jobs) {
        std::uint32_t able = 0;
        for (const Worker& worker : workers)
          able += table.kinds().Matches(table.KindOf(worker.handle), job.cls) ? 1 : 0;
        ASSERT_EQ(table.kinds().WorkersFor(job.cls), able);
      }
    }
    while (!jobs.empty()) {
      table.DropJob(jobs.back().cls);
      jobs.pop_back();
    }
    for (std::size_t budget = 1; !table.Settle(budget); budget = 1) {
    }
    EXPECT_EQ(table.classes(), 0u);
    EXPECT_LE(table.kinds().size(), 1u);
    for (const Worker& worker : workers) table.DropWorker(worker.handle);
    EXPECT_EQ(table.kinds().size(), 0u);
    EXPECT_EQ(table.profiles(), 0u);
  }
}

TEST(ClassTable, MasksGrowWithTheNumberOfKinds) {
  World world;
  std::vector<ClassId> classes;
  std::vector<ClassTable::Handle> workers;
  for (int i = 0; i < 200; ++i) {
    world.table.BeginCommand(0);
    SampleWorker worker;
    worker.tags = {"t" + std::to_string(i)};
    workers.push_back(world.table.AddWorker(worker.Traits()));
    SampleJob job;
    job.tags = worker.tags;
    classes.push_back(world.table.AddJob(job.In(world.table)));
  }
  EXPECT_EQ(world.table.kinds().size(), 200u);
  for (std::size_t i = 0; i < workers.size(); ++i) {
    for (std::size_t j = 0; j < classes.size(); ++j) {
      ASSERT_EQ(world.table.kinds().Matches(world.table.KindOf(workers[i]), classes[j]), i == j);
    }
  }
}

// So many workers that differ in one attribute, and the longest step until all is settled, in kinds that came or went.
class ManyProfiles {
 public:
  static constexpr std::size_t kWorkers = 3000;
  ManyProfiles() {
    world.table.BeginCommand(1);
    for (std::size_t i = 0; i < kWorkers; ++i) {
      SampleWorker worker;
      worker.memory = static_cast<std::int64_t>(i + 1);
      workers.push_back(world.table.AddWorker(worker.Traits()));
    }
  }
  std::size_t LongestStep() {
    std::size_t longest = 0;
    for (bool through = false; !through;) {
      const std::size_t before = world.table.kinds().size();
      std::size_t budget = 1000;
      through = world.table.Settle(budget);
      const std::size_t now = world.table.kinds().size();
      longest = std::max(longest, now > before ? now - before : before - now);
    }
    return longest;
  }
  World world;
  std::vector<ClassTable::Handle> workers;
};

TEST(ClassTable, ARankThatDiffersForEveryWorkerTellsThemApartInSteps) {
  ManyProfiles many;
  ClassTable& table = many.world.table;
  SampleJob job;
  job.rank = testing::MustParse("TARGET.Memory");
  table.BeginCommand(1, 100'000);
  const ClassId cls = table.AddJob(job.In(table));
  EXPECT_FALSE(table.Settled());
  EXPECT_LE(table.kinds().size(), 100u);
  EXPECT_LE(many.LongestStep(), 600u);
  EXPECT_EQ(table.kinds().size(), ManyProfiles::kWorkers);
  EXPECT_EQ(table.kinds().WorkersFor(cls), ManyProfiles::kWorkers);
  for (std::size_t i = 0; i < ManyProfiles::kWorkers; ++i) {
    ASSERT_EQ(table.kinds().Of(table.KindOf(many.workers[i]), cls).job_rank, static_cast<double>(i + 1));
  }
  // And when it leaves they are alike again, in steps too.
  table.BeginCommand(1, 100'000);
  table.DropJob(cls);
  EXPECT_GE(table.kinds().size(), ManyProfiles::kWorkers - 100);
  EXPECT_LE(many.LongestStep(), 600u);
  EXPECT_EQ(table.kinds().size(), 1u);
}

TEST(ClassTable, WorkersGetNewProfilesInStepsBeforeTheClassIsJudgedThatReadsMore) {
  ManyProfiles many;
  ClassTable& table = many.world.table;
  EXPECT_EQ(table.profiles(), 1u);
  SampleJob job;
  job.requirements = testing::MustParse("TARGET.Memory > 1000");
  table.BeginCommand(1, 100'000);
  const ClassId cls = table.AddJob(job.In(table));
  EXPECT_LE(table.profiles(), 100u);
  EXPECT_EQ(table.kinds().WorkersFor(cls), 0u);
  // One that reads the same is not judged before either.
  job.requirements = testing::MustParse("TARGET.Memory > 2000");
  const ClassId other = table.AddJob(job.In(table));
  many.LongestStep();
  EXPECT_EQ(table.profiles(), ManyProfiles::kWorkers);
  EXPECT_EQ(table.kinds().WorkersFor(cls), 2000u);
  EXPECT_EQ(table.kinds().WorkersFor(other), 1000u);
}

TEST(ClassTable, AFoldThatWasMadeElsewhereGivesTheSameClass) {
  World world;
  SampleJob job;
  job.need = 7;
  job.requirements = testing::MustParse("TARGET.Memory > MY.Need * 2 && MY.Need > 3");
  job.rank = testing::MustParse("MY.Need + TARGET.Memory");
  const std::function<expr::Ad()> ad = [&] { return job.Ad(); };
  JobTraits traits{job.tags, job.constraint_tags, job.requirements, job.rank, ad};
  const JobFold fold = FoldJob(traits);
  EXPECT_EQ(fold.requirements_text.find("Need"), std::string::npos) << fold.requirements_text;
  traits.fold = &fold;
  EXPECT_EQ(world.table.TermsOf(traits).key(), job.In(world.table).key());
}

}  // namespace
}  // namespace allot
