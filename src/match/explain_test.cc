// SPDX-License-Identifier: Apache-2.0
#include "match/explain.h"

#include <gtest/gtest.h>

#include <functional>

#include "match/constraints.h"
#include "match/testing.h"

namespace allot {
namespace {

using expr::Value;
using std::chrono::minutes;
using testing::MustParse;

const WallTime kNow = FromMillis(1'800'000'000'000);

struct WorkerSpec {
  TagList tags;
  Properties properties = {};
  std::vector<std::pair<std::string, Value>> attributes = {};
  std::string requirements = {}, rank = {};
  std::uint32_t slots = 1, running = 0;
  bool draining = false, away = false;
};

// A job with one queued task, and workers w1, w2, …
class Scene {
 public:
  Scene() {
    snapshot.job = JobId{7};
    snapshot.queued = 1;
    snapshot.now = kNow;
    Job({});
  }
  Scene& Job(std::vector<std::pair<std::string, Value>> meta) {
    expr::Ad ad;
    ad.Set("User", Value::String("ann"));
    ad.Set("Tasks", Value::Integer(1));
    for (const auto& [name, value] : meta) ad.Set(name, value);
    snapshot.ad = std::make_shared<const expr::Ad>(std::move(ad));
    return *this;
  }
  Scene& Tag(const std::string& tag, std::optional<WallTime> last_seen = {}) {
    snapshot.tags.push_back({tag, last_seen});
    return *this;
  }
  Scene& Constraint(const Properties& wanted) {
    snapshot.constraints.push_back(wanted);
    snapshot.constraint_tags = ConstraintTags(snapshot.constraints);
    return *this;
  }
  Scene& Requires(const std::string& text) {
    snapshot.requirements = MustParse(text);
    return *this;
  }
  Scene& Add(const WorkerSpec& spec) {
    const std::size_t n = snapshot.workers.size() + 1;
    expr::Ad ad;
    ad.Set("Name", Value::String("w" + std::to_string(n)));
    ad.Set("Slots", Value::Integer(spec.slots));
    for (const auto& [name, value] : spec.attributes) ad.Set(name, value);
    for (const auto& [key, value] : spec.properties) ad.Set(key, Value::String(value));
    auto traits = std::make_shared<WorkerTraits>(
        WorkerTraits{spec.tags, spec.properties, ConstraintTags(spec.properties), MustParse(spec.requirements),
                     MustParse(spec.rank), std::make_shared<const expr::Ad>(std::move(ad))});
    snapshot.workers.push_back({WorkerId{n}, std::move(traits), spec.slots, spec.running, spec.draining, spec.away});
    return *this;
  }
  MatchSnapshot snapshot;
};

std::string Said(const Reason& reason) {
  return std::string(AdviceText(reason.advice)) + " " + std::string(ReasonText(reason.code)) + ": " + reason.message;
}

Value Int(std::int64_t n) { return Value::Integer(n); }
Value Str(std::string_view text) { return Value::String(text); }

TEST(Explain, TheVerdictSaysWhatToDo) {
  struct Row {
    const char* name;
    std::function<void(Scene&)> make;
    const char* want;
  };
  const WorkerSpec idle{.tags = {"t"}};
  const WorkerSpec busy{.tags = {"t"}, .slots = 2, .running = 2};
  const Row rows[] = {
      // Nothing to do.
      {"done", [](Scene& s) { s.snapshot.state = JobState::kDone; },
       "wait ended: the job is done: nothing of it is left to run"},
      {"cancelled", [](Scene& s) { s.snapshot.state = JobState::kCancelled; },
       "wait ended: the job is cancelled: nothing of it is left to run"},
      {"all runs",
       [](Scene& s) {
         s.snapshot.queued = 0;
         s.snapshot.running = 4;
         s.snapshot.state = JobState::kPaused;
       },
       "wait running: all that is left of it runs: 4 tasks"},
      {"scheduled", [&](Scene& s) { s.Add(idle).snapshot.scheduled_for = kNow + minutes(125); },
       "wait scheduled: its time has not come: it may start in 2h 05m"},
      {"backoff",
       [&](Scene& s) {
         s.snapshot.queued = 0;
         s.snapshot.retrying = 3;
         s.snapshot.next_retry_at = kNow + milliseconds(5000);
         s.Add(idle);
       },
       "wait backoff: 3 tasks wait for the next attempt, the first in 5s"},
      {"busy", [&](Scene& s) { s.Tag("t").Add(busy).Add(busy); },
       "wait all_busy: 2 workers could run it, and all are busy (4 of 4 slots): it starts when one is free"},
      {"one busy", [&](Scene& s) { s.Tag("t").Add(busy).Add({.tags = {"u"}}); },
       "wait all_busy: 1 worker could run it, and is busy (2 of 2 slots): it starts when one is free"},
      {"away", [](Scene& s) { s.Add({.tags = {}, .away = true}); },
       "wait workers_away: the only worker that could run it lost its connection, and may come back"},
      {"its turn", [&](Scene& s) { s.Tag("t").Add(idle).Add(busy); },
       "wait can_start: 1 worker has a free slot for it: it starts when its turn comes"},
      {"a spec",
       [&](Scene& s) {
         s.snapshot.job.reset();
         s.Add(idle).Add(idle);
       },
       "wait can_start: 2 workers could start it now"},
      {"an empty spec",
       [](Scene& s) {
         s.snapshot.job.reset();
         s.snapshot.queued = 0;
       },
       "wait empty: it has no tasks: it would be done at once"},
      // For whoever runs the queue.
      {"job paused",
       [&](Scene& s) {
         s.snapshot.state = JobState::kPaused;
         s.Add(busy);
       },
       "operator job_paused: the job is paused"},
      {"queue paused",
       [&](Scene& s) {
         s.snapshot.queue_paused = true;
         s.Add(idle);
       },
       "operator queue_paused: the queue is paused"},
      {"nobody", [](Scene& s) { s.Tag("t"); }, "operator no_workers: no worker is there"},
      {"draining",
       [](Scene& s) { s.Tag("t").Add({.tags = {"t"}, .draining = true}).Add({.tags = {"t"}, .draining = true}); },
       "operator workers_draining: all 2 workers that could run it are draining"},
      {"never seen", [&](Scene& s) { s.Tag("render").Add(idle); },
       "operator tag_never_seen: no worker has been seen with the tag `render`"},
      {"gone", [&](Scene& s) { s.Tag("gpu", kNow - minutes(5)).Add({.tags = {"cpu"}}); },
       "operator tag_gone: the last worker with the tag `gpu` left 5m 00s ago"},
      {"unavailable",
       [&](Scene& s) { s.Tag("gpu").Requires("Memory > 5").Add({.tags = {"gpu"}, .draining = true}).Add(idle); },
       "operator tag_unavailable: all workers with the tag `gpu` are draining or away"},
      {"apart",
       [](Scene& s) { s.Tag("eu").Tag("gpu").Add({.tags = {"eu"}}).Add({.tags = {"eu"}}).Add({.tags = {"gpu"}}); },
       "operator tags_apart: no worker has all of its tags together (`eu` 2, `gpu` 1)"},
      {"no such property",
       [](Scene& s) {
         s.Tag("t")
             .Constraint({{"gpu", "a100"}})
             .Add({.tags = {"t"}})
             .Add({.tags = {"t"}, .properties = {{"gpu", "none"}}});
       },
       "operator constraint_unmet: none of the 2 workers with its tags has `gpu=a100`"},
      // As it is, no worker will run it.
      {"typo of a tag", [](Scene& s) { s.Tag("sqaure").Add({.tags = {"square"}}); },
       "change_request tag_never_seen: no worker has been seen with the tag `sqaure`; did you mean `square`?"},
      {"typo of a property",
       [](Scene& s) {
         s.Constraint({{"mem", "hihg"}}).Add({.tags = {}, .properties = {{"mem", "high"}}});
       },
       "change_request constraint_unmet: the only worker does not have `mem=hihg`; did you mean `high`?"},
      {"never true",
       [&](Scene& s) {
         s.Requires("TARGET.Memory > 5 && MY.Need < 3").Job({{"Need", Int(3)}}).Add(idle);
       },
       "change_request requirements_never_true: `MY.Need < 3` is false, whatever the worker is"},
      {"undefined for all", [&](Scene& s) { s.Requires("MY.Need < 3").Add(idle); },
       "change_request requirements_never_true: `MY.Need < 3` is undefined, whatever the worker is"},
      {"false, and nobody there", [](Scene& s) { s.Requires("false"); },
       "change_request requirements_never_true: `false` is false, whatever the worker is"},
      {"contradiction",
       [&](Scene& s) { s.Requires("TARGET.Memory > 5 && TARGET.Arch == \"x\" && TARGET.memory <= 5").Add(idle); },
       "change_request requirements_never_true: `TARGET.Memory > 5` and `TARGET.Memory <= 5` exclude each other"},
      {"two texts", [&](Scene& s) { s.Requires("TARGET.Arch == \"x\" && TARGET.Arch == \"y\"").Add(idle); },
       "change_request requirements_never_true: `TARGET.Arch == \"x\"` and `TARGET.Arch == \"y\"` exclude each other"},
      {"too much",
       [](Scene& s) {
         s.Requires("TARGET.Memory >= 4096")
             .Add({.tags = {}, .attributes = {{"Memory", Int(2048)}}})
             .Add({.tags = {}, .attributes = {{"Memory", Int(1024)}}});
       },
       "change_request requirements_unmet: `TARGET.Memory >= 4096` holds for none of the 2 workers: "
       "the nearest has 2048"},
      {"typo of an attribute",
       [](Scene& s) {
         s.Requires("TARGET.Memroy >= 4096").Add({.tags = {}, .attributes = {{"Memory", Int(8192)}}});
       },
       "change_request requirements_unmet: `TARGET.Memroy >= 4096` does not hold for the only worker: "
       "it shows no `Memroy`; did you mean `Memory`?"},
      {"each has one",
       [](Scene& s) {
         s.Requires("A == 1 && B == 1")
             .Add({.tags = {}, .attributes = {{"A", Int(1)}}})
             .Add({.tags = {}, .attributes = {{"B", Int(1)}}});
       },
       "change_request requirements_unmet: none of the 2 workers meets all of its requirements "
       "(`A == 1` fails on 1, `B == 1` fails on 1)"},
      {"an error",
       [](Scene& s) {
         s.Requires("TARGET.Memory >= 4").Add({.tags = {}, .attributes = {{"Memory", Str("8 GB")}}});
       },
       "change_request requirements_unmet: `TARGET.Memory >= 4` does not hold for the only worker: "
       "it is an error"},
      {"refused",
       [](Scene& s) {
         s.Add({.tags = {}, .requirements = "TARGET.User == \"bob\" && TARGET.Tasks < 9"})
             .Add({.tags = {}, .requirements = "TARGET.User == \"bob\""});
       },
       "change_request workers_refuse: the 2 workers that fit refuse it by their own requirements: `TARGET.User == "
       "\"bob\"`"},
  };
  for (const Row& row : rows) {
    Scene scene;
    row.make(scene);
    const Explanation e = Explain(scene.snapshot);
    ASSERT_FALSE(e.reasons.empty()) << row.name;
    EXPECT_EQ(Said(e.verdict()), row.want) << row.name;
    EXPECT_EQ(e.examined, scene.snapshot.workers.size()) << row.name;
  }
}

TEST(Explain, AllReasonsAreThereAndTheGravestIsFirst) {
  Scene scene;
  scene.Tag("sqaure").Add({.tags = {"square"}});
  scene.snapshot.state = JobState::kPaused;
  scene.snapshot.queue_paused = true;
  const Explanation e = Explain(scene.snapshot);
  std::string codes;
  for (const Reason& reason : e.reasons) codes += std::string(ReasonText(reason.code)) + " ";
  EXPECT_EQ(codes, "job_paused queue_paused tag_never_seen ");
  EXPECT_EQ(e.reasons[0].hint, "allot resume 7");
}

TEST(Explain, TheHeadlineIsNeverBeforeTheOperatorBeforeTheRequestBeforeWaiting) {
  struct Row {
    const char* name;
    std::function<void(Scene&)> make;
    const char* want;
  };
  const auto later = [](Scene& s) {
    s.snapshot.state = JobState::kScheduled;
    s.snapshot.scheduled_for = kNow + minutes(5);
  };
  const WorkerSpec idle{.tags = {"t"}};
  const Row rows[] = {
      {"never, and a paused queue",
       [&](Scene& s) {
         s.Requires("false").Add(idle);
         s.snapshot.queue_paused = true;
       },
       "requirements_never_true queue_paused "},
      {"nobody has the tag, and its time has not come", [&](Scene& s) { later(s), s.Tag("render").Add(idle); },
       "tag_never_seen scheduled "},
      {"those that could are draining, and its time has not come",
       [&](Scene& s) { later(s), s.Tag("t").Add({.tags = {"t"}, .draining = true}); }, "workers_draining scheduled "},
      {"a paused job with a slip of the pen",
       [&](Scene& s) {
         s.Tag("sqaure").Add({.tags = {"square"}});
         s.snapshot.state = JobState::kPaused;
       },
       "job_paused tag_never_seen "},
      {"a worker that is too small, and its time has not come",
       [&](Scene& s) { later(s), s.Requires("TARGET.Memory >= 4").Add(idle); }, "requirements_unmet scheduled "},
      {"two that wait", [&](Scene& s) { later(s), s.Tag("t").Add({.tags = {"t"}, .away = true}); },
       "scheduled workers_away "},
  };
  for (const Row& row : rows) {
    Scene scene;
    row.make(scene);
    std::string codes;
    for (const Reason& reason : Explain(scene.snapshot).reasons) codes += std::string(ReasonText(reason.code)) + " ";
    EXPECT_EQ(codes, row.want) << row.name;
  }
}

TEST(Explain, HintsNameAllThatAWorkerNeeds) {
  Scene scene;
  scene.Tag("square").Constraint({{"gpu", "a100"}}).Requires("TARGET.memory >= 4096");
  const char* const command = "allot work --tag square --property gpu=a100 --attribute memory=4096 -- COMMAND";
  EXPECT_EQ(Explain(scene.snapshot).verdict().hint, command);  // no workers
  scene.Add({.tags = {"cpu"}});
  EXPECT_EQ(Explain(scene.snapshot).verdict().hint, command);  // none with the tag
  scene.Add({.tags = {"square"}});
  EXPECT_EQ(Explain(scene.snapshot).verdict().hint, command);  // none with the property
  scene.Add({.tags = {"square"}, .properties = {{"gpu", "a100"}}});
  EXPECT_EQ(Explain(scene.snapshot).verdict().hint, command + std::string("; or allot job set 7 --requirements …"));
}

TEST(Explain, ATagIsNeverSeenOrGoneOrUnavailableOrBusyOrFree) {
  Scene scene;
  scene.Tag("a").Tag("b", kNow - minutes(5)).Tag("c").Tag("d", kNow - minutes(9)).Tag("e");
  scene.Add({.tags = {"c"}, .away = true}).Add({.tags = {"c"}, .draining = true});
  scene.Add({.tags = {"d"}, .running = 1}).Add({.tags = {"e"}}).Add({.tags = {"e"}, .running = 1});
  const Explanation e = Explain(scene.snapshot);
  std::string said;
  for (const auto& tag : e.tags) {
    said += tag.tag + " " + std::string(tag.status) + " " + std::to_string(tag.workers) + "/" +
            std::to_string(tag.available) + "/" + std::to_string(tag.free) + (tag.last_seen ? " seen" : "") + "\n";
  }
  EXPECT_EQ(said,
            "a never_seen 0/0/0\n"
            "b gone 0/0/0 seen\n"
            "c unavailable 2/0/0\n"
            "d busy 1/1/0\n"
            "e free 2/2/1\n");
  EXPECT_EQ(e.draining, 1u);
  EXPECT_EQ(e.away, 1u);
}

TEST(Explain, TheFunnelNarrowsStageByStage) {
  Scene scene;
  scene.Tag("t").Constraint({{"gpu", "a100"}}).Requires("TARGET.Memory >= 4 && TARGET.Arch == \"arm\"");
  const auto good = [](std::int64_t memory) {
    return WorkerSpec{
        .tags = {"t"}, .properties = {{"gpu", "a100"}}, .attributes = {{"Memory", Int(memory)}, {"Arch", Str("ARM")}}};
  };
  WorkerSpec draining = good(8), refuses = good(8), busy = good(8), wordy = good(8);
  draining.draining = true;
  refuses.requirements = "TARGET.User == \"bob\"";
  busy.running = 1;
  wordy.attributes[0].second = Str("much");
  scene.Add(good(8)).Add(draining).Add({.tags = {"u"}}).Add({.tags = {"t"}}).Add(good(2)).Add(wordy);
  scene.Add({.tags = {"t"}, .properties = {{"gpu", "a100"}}}).Add(refuses).Add(busy);
  const Explanation e = Explain(scene.snapshot);
  EXPECT_EQ(e.funnel, (std::array<std::size_t, kStages>{9, 8, 7, 6, 3, 2, 1}));
  EXPECT_EQ(e.matching, 3u);  // the one that drains, too
  ASSERT_EQ(e.requirements.size(), 2u);
  const Explanation::Clause& memory = e.requirements[0];
  EXPECT_EQ(memory.text, "TARGET.Memory >= 4");
  EXPECT_EQ(memory.reached, 6u);
  EXPECT_EQ(memory.failed, 3u);
  EXPECT_EQ(memory.undefined, 1u);
  EXPECT_EQ(memory.error, 1u);
  EXPECT_EQ(memory.best, "2");
  EXPECT_EQ(e.requirements[1].failed, 1u);
  ASSERT_EQ(e.worker_requirements.size(), 1u);
  EXPECT_EQ(e.worker_requirements[0].text, "TARGET.User == \"bob\"");
  EXPECT_EQ(e.worker_requirements[0].reached, 3u);
  EXPECT_EQ(e.worker_requirements[0].failed, 1u);
  EXPECT_FALSE(e.nearest);  // there is one that fits
}

TEST(Explain, AlternativesAreCountedPairByPair) {
  Scene scene;
  scene.Constraint({{"gpu", "a100"}, {"mem", "high"}}).Constraint({{"gpu", "h100"}});
  scene.Add({.tags = {}, .properties = {{"gpu", "a100"}, {"mem", "low"}}})
      .Add({.tags = {}, .properties = {{"mem", "high"}}});
  const Explanation e = Explain(scene.snapshot);
  ASSERT_EQ(e.constraints.size(), 2u);
  EXPECT_EQ(e.constraints[0].tag, "c:gpu=a100,mem=high");
  EXPECT_EQ(e.constraints[0].workers, 0u);
  EXPECT_EQ(e.constraints[0].pairs[0].workers, 1u);
  EXPECT_EQ(e.constraints[0].pairs[1].workers, 1u);
  EXPECT_EQ(e.constraints[1].pairs[0].workers, 0u);
  EXPECT_EQ(e.verdict().message, "none of the 2 workers has any of its 2 alternatives");
  scene.Add({.tags = {}, .properties = {{"gpu", "h100"}}});
  EXPECT_EQ(Explain(scene.snapshot).verdict().code, ReasonCode::kCanStart);
}

TEST(Explain, OfEqualMissesTheOneThatGetsFurthestIsTheNearest) {
  Scene scene;
  scene.Tag("t").Requires("TARGET.memory >= 4096");
  scene
      .Add({.tags = {}, .attributes = {{"memory", Int(8192)}}})                       // lacks the tag
      .Add({.tags = {"t"}, .attributes = {{"memory", Int(8192)}}, .draining = true})  // is not available
      .Add({.tags = {"t"}, .attributes = {{"memory", Int(2048)}}})                    // gets to the requirements
      .Add({.tags = {"t"}, .attributes = {{"memory", Int(1024)}}});                   // and so does this one
  Explanation e = Explain(scene.snapshot);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->worker, WorkerId{3});
  // In whatever order they come.
  std::reverse(scene.snapshot.workers.begin(), scene.snapshot.workers.end());
  e = Explain(scene.snapshot);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->worker, WorkerId{3});
  // Where none is available, who would get furthest.
  Scene gone;
  gone.Tag("t").Requires("TARGET.memory >= 4096");
  gone.Add({.tags = {}, .attributes = {{"memory", Int(8192)}}, .draining = true})
      .Add({.tags = {"t"}, .attributes = {{"memory", Int(2048)}}, .draining = true});
  e = Explain(gone.snapshot);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->worker, WorkerId{2});
}

TEST(Explain, TheNearestMissIsTheWorkerThatFailsTheFewestThings) {
  Scene scene;
  scene.Tag("gpu").Tag("t").Constraint({{"mem", "high"}}).Constraint({{"disk", "big"}, {"mem", "huge"}});
  scene.Requires("Memory >= 4096 && TARGET.Arch == MY.Arch").Job({{"Arch", Str("arm")}});
  scene.Add({.tags = {"gpu", "t"}, .properties = {{"mem", "low"}}, .attributes = {{"Memory", Int(2048)}}});  // 3
  scene.Add({.tags = {"gpu"},
             .properties = {{"mem", "low"}},
             .attributes = {{"Memory", Int(4096)}, {"Arch", Str("arm")}}});  // 2
  scene.Add({.tags = {"t"},
             .properties = {{"mem", "low"}},
             .attributes = {{"Memory", Int(4096)}, {"Arch", Str("arm")}}});  // 2
  Explanation e = Explain(scene.snapshot);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->worker, WorkerId{2});
  EXPECT_EQ(e.nearest->name, "w2");
  ASSERT_EQ(e.nearest->misses.size(), 2u);
  EXPECT_EQ(e.nearest->misses[0].message, "tag `t`: missing");
  EXPECT_EQ(e.nearest->misses[1].message, "property mem=high: has low");
  // Nearer: all but its memory; and it refuses nobody, but drains.
  scene.Add({.tags = {"gpu", "t"},
             .properties = {{"mem", "high"}},
             .attributes = {{"Memory", Int(2048)}, {"Arch", Str("arm")}}});
  e = Explain(scene.snapshot);
  EXPECT_EQ(e.nearest->worker, WorkerId{4});
  EXPECT_EQ(e.nearest->misses[0].message, "Memory >= 4096: has 2048");
}

TEST(Explain, AMissIsSpelledOutWithTheValuesThatDecided) {
  struct Row {
    const char* requirements;
    const char* own;
    const char* message;
    Truth outcome;
  };
  const Row rows[] = {
      {"Memory >= 4096", "", "Memory >= 4096: has 2048", Truth::kFalse},
      {"4096 <= TARGET.Memory", "", "4096 <= TARGET.Memory: has 2048", Truth::kFalse},
      {"TARGET.Disk >= 10", "", "TARGET.Disk >= 10: has no Disk", Truth::kUndefined},
      {"TARGET.Memory >= MY.Need", "", "TARGET.Memory >= MY.Need: TARGET.Memory is 2048, MY.Need is 4096",
       Truth::kFalse},
      {"TARGET.Memory == \"x\"", "", "TARGET.Memory == \"x\": has 2048, which is an error", Truth::kError},
      {"TARGET.Name", "", "TARGET.Name: TARGET.Name is \"w1\": neither true nor false", Truth::kNoBoolean},
      {"TARGET.Memory > 1 || false && 1", "TARGET.User == MY.Name",
       "its own requirement TARGET.User == MY.Name: TARGET.User is \"ann\", MY.Name is \"w1\"", Truth::kFalse},
      {"Need > 5000", "", "Need > 5000: Need is 4096", Truth::kFalse},  // the job's own goes first
  };
  for (const Row& row : rows) {
    Scene scene;
    scene.Requires(row.requirements).Job({{"Need", Int(4096)}});
    scene.Add({.tags = {}, .attributes = {{"Memory", Int(2048)}}, .requirements = row.own});
    const Explanation e = Explain(scene.snapshot);
    ASSERT_TRUE(e.nearest) << row.requirements;
    ASSERT_EQ(e.nearest->misses.size(), 1u) << row.requirements;
    EXPECT_EQ(e.nearest->misses[0].message, row.message);
    EXPECT_EQ(e.nearest->misses[0].outcome, row.outcome) << row.requirements;
  }
}

TEST(Explain, WhatIsATypoAwayIsSuggested) {
  struct Row {
    const char* name;
    std::function<void(Scene&)> make;
    const char* want;
  };
  const WorkerSpec worker{.tags = {"Render", "square"},
                          .properties = {{"gpu", "a100"}},
                          .attributes = {{"Memory", Int(1)}, {"Arch", Str("x86_64")}}};
  const Row rows[] = {
      {"tag", [](Scene& s) { s.Tag("squre"); }, "tag squre→square"},
      {"case", [](Scene& s) { s.Tag("render"); }, "tag render→Render"},
      {"far", [](Scene& s) { s.Tag("training"); }, ""},
      {"it was there", [](Scene& s) { s.Tag("squar", kNow); }, ""},
      {"property",
       [](Scene& s) {
         s.Constraint({{"gpu", "A100"}});
       },
       "property gpu:A100→a100"},
      {"a character too few",
       [](Scene& s) {
         s.Constraint({{"gpu", "a00"}});
       },
       "property gpu:a00→a100"},
      {"another property",
       [](Scene& s) {
         s.Constraint({{"gpu", "h100"}});
       },
       ""},
      {"another tag", [](Scene& s) { s.Tag("Rander"); }, ""},
      {"another value", [](Scene& s) { s.Requires("TARGET.Arch == \"x86_65\""); }, ""},
      {"a value two edits away", [](Scene& s) { s.Requires("TARGET.Arch == \"x8664x\""); }, ""},
      {"another short attribute", [](Scene& s) { s.Requires("TARGET.Ach2 == \"a\""); }, ""},
      {"attribute", [](Scene& s) { s.Requires("TARGET.Memroy > 0"); }, "attribute Memroy→Memory"},
      {"unscoped",
       [](Scene& s) {
         s.Requires("Memroy > 0 && Nede < 5").Job({{"Need", Int(1)}});
       },
       "attribute Memroy→Memory attribute Nede→Need"},
      {"of the job", [](Scene& s) { s.Requires("MY.Usr == \"ann\""); }, "job_attribute Usr→User"},
      {"value", [](Scene& s) { s.Requires("TARGET.Arch == \"x86-64\""); }, "value Arch:x86-64→x86_64"},
      {"value, turned", [](Scene& s) { s.Requires("\"x86_46\" =?= Arch"); }, "value Arch:x86_46→x86_64"},
      {"identity minds case", [](Scene& s) { s.Requires("TARGET.Arch =?= \"X86_64\""); }, "value Arch:X86_64→x86_64"},
      {"only where it fails", [](Scene& s) { s.Requires("isUndefined(TARGET.Memroy) && false"); }, ""},
      {"behind another stage", [](Scene& s) { s.Tag("other").Requires("TARGET.Memroy > 0"); },
       "attribute Memroy→Memory"},
  };
  for (const Row& row : rows) {
    Scene scene;
    row.make(scene);
    scene.Add(worker).Add(worker);
    std::string said;
    for (const Suggestion& s : Explain(scene.snapshot).suggestions) {
      said += (said.empty() ? "" : " ") + std::string(SuggestionText(s.kind)) + " " +
              (s.where.empty() ? "" : s.where + ":") + s.given + "→" + s.nearest;
    }
    EXPECT_EQ(said, row.want) << row.name;
  }
}

TEST(Explain, WhoMayNotSeeWorkersGetsCountsAlone) {
  Scene scene;
  scene.Tag("sqaure").Requires("TARGET.Memory > 4");
  scene.Add({.tags = {"square"}, .attributes = {{"Memory", Int(1)}}});
  scene.Add({.tags = {"sqaure2"}, .attributes = {{"Memory", Int(8)}}, .requirements = "TARGET.User == \"secret\""});
  const auto hides = [](const MatchSnapshot& snapshot) {
    const Explanation e = Explain(snapshot, {.show_workers = false, .enough = {}});
    EXPECT_FALSE(e.nearest);
    EXPECT_TRUE(e.suggestions.empty());
    EXPECT_TRUE(e.worker_requirements.empty());
    for (const auto& clause : e.requirements) EXPECT_FALSE(clause.best);
    EXPECT_EQ(e.verdict().message.find("did you mean"), std::string::npos) << e.verdict().message;
    EXPECT_EQ(e.verdict().message.find("secret"), std::string::npos) << e.verdict().message;
    return e;
  };
  EXPECT_EQ(hides(scene.snapshot).verdict().code, ReasonCode::kTagNeverSeen);
  scene.snapshot.tags.clear();
  const Explanation e = hides(scene.snapshot);
  EXPECT_EQ(e.verdict().code, ReasonCode::kWorkersRefuse);
  EXPECT_EQ(e.requirements[0].failed, 1u);
}

TEST(Explain, ASearchThatIsEnoughSaysHowFarItCame) {
  Scene scene;
  scene.Tag("other");
  for (int i = 0; i < 10; ++i) scene.Add({.tags = {"t"}});
  int asked = 0;
  const Explanation e = Explain(scene.snapshot, {.enough = [&] { return ++asked >= 4; }});
  EXPECT_EQ(e.examined, 4u);
  EXPECT_EQ(e.funnel[0], 10u);
  EXPECT_NE(e.verdict().message.find("(after a look at 4 of 10 workers)"), std::string::npos) << e.verdict().message;
}

TEST(Explain, ManyClausesAreNotToldOneByOne) {
  std::string text = "TARGET.A0 == 0";
  for (int i = 1; i < 200; ++i) text += " && TARGET.A" + std::to_string(i) + " == 0";
  Scene scene;
  WorkerSpec worker{.tags = {}};
  for (int i = 0; i < 199; ++i) worker.attributes.emplace_back("A" + std::to_string(i), Int(0));
  scene.Requires(text).Add(worker);
  const Explanation e = Explain(scene.snapshot);
  EXPECT_EQ(e.requirements.size(), kMaxClausesExplained);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->misses.size(), 1u);  // the whole, since none of those that were looked at fails
  EXPECT_EQ(e.verdict().code, ReasonCode::kRequirementsUnmet);
}

TEST(ExplainPair, EveryConditionIsToldWithItsValues) {
  Scene scene;
  scene.Tag("gpu").Tag("t").Constraint({{"mem", "high"}}).Constraint({{"gpu", "h100"}});
  scene.Requires("TARGET.Memory >= 4096 && TARGET.Slots > 1").snapshot.rank = MustParse("TARGET.Memory / 2");
  scene.Add({.tags = {"t"},
             .properties = {{"mem", "high"}},
             .attributes = {{"Memory", Int(2048)}},
             .requirements = "TARGET.User == \"ann\"",
             .rank = "TARGET.Tasks",
             .slots = 4,
             .running = 4});
  const auto pair = ExplainPair(scene.snapshot, WorkerId{1});
  ASSERT_TRUE(pair);
  std::string said;
  for (const Condition& c : pair->conditions)
    said += std::string(c.holds() ? "yes " : "no  ") + std::string(StageText(c.stage)) + " | " + c.message + "\n";
  EXPECT_EQ(said,
            "yes available | not draining\n"
            "yes available | connected\n"
            "no  tags | tag `gpu`: missing\n"
            "yes tags | tag `t`: there\n"
            "yes constraint | alternative mem=high: has it\n"
            "no  constraint | alternative gpu=h100: property gpu=h100: has no gpu\n"
            "no  requirements | TARGET.Memory >= 4096: has 2048\n"
            "yes requirements | TARGET.Slots > 1: has 4\n"
            "yes worker_requirements | its own requirement TARGET.User == \"ann\": TARGET.User is \"ann\"\n"
            "no  free_slot | 4 of 4 slots in use\n");
  EXPECT_FALSE(pair->matches);
  EXPECT_EQ(pair->job_rank, 1024);
  EXPECT_EQ(pair->worker_rank, 1);
  EXPECT_EQ(Said(pair->verdict()),
            "change_request mismatch: this worker cannot run it: tag `gpu`: missing, and 1 more");
  EXPECT_FALSE(ExplainPair(scene.snapshot, WorkerId{2}));
}

TEST(ExplainPair, TheVerdictIsOfThisWorker) {
  struct Row {
    WorkerSpec worker;
    ReasonCode code;
  };
  const Row rows[] = {
      {{.tags = {"t"}}, ReasonCode::kCanStart},
      {{.tags = {"t"}, .running = 1}, ReasonCode::kAllBusy},
      {{.tags = {"t"}, .draining = true}, ReasonCode::kWorkersDraining},
      {{.tags = {"t"}, .away = true}, ReasonCode::kWorkersAway},
      {{.tags = {"u"}, .draining = true}, ReasonCode::kMismatch},
      {{.tags = {"t"}, .requirements = "false"}, ReasonCode::kMismatch},
  };
  for (const Row& row : rows) {
    Scene scene;
    scene.Tag("t").Add(row.worker);
    EXPECT_EQ(ExplainPair(scene.snapshot, WorkerId{1})->verdict().code, row.code);
  }
}

}  // namespace
}  // namespace allot
