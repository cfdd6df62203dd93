// SPDX-License-Identifier: Apache-2.0
// The promises of the protocol over crashes: the real server under load, killed at random moments and started again on
// the same files, with a ledger on the client's side (ledger.h).
//
// ALLOT_CRASH_ROUNDS: how often it is killed (default 20). ALLOT_CRASH_SEED: repeats the choices of a run, as far as
// they are the test's own: threads and processes still run as they like.
// ALLOT_TEST_JOURNAL_WRITING: how the server writes its journal, `direct` or `synced`; the disk that loses its power
// has one way of its own.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "base/sanitizers.h"
#include "crash/ledger.h"
#include "crash/load.h"
#include "support/live_server.h"

namespace allot::testing {
namespace {

// A sanitizer makes a start as long as the grace of a normal build: then nobody comes back in time to resume.
constexpr int kSlower = ALLOT_SANITIZED ? 4 : 1;
constexpr milliseconds kLease(kSlower * 1500);  // lease_ms, worker_grace and restart_grace
constexpr milliseconds kHold(kSlower * 1200);   // what the ledger counts on

std::uint64_t FromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

// Until no job is scheduled or active.
bool WaitForAllJobs(std::uint16_t port, milliseconds timeout) {
  Http http(port);
  const SteadyTime deadline = SteadyNow() + timeout;
  while (SteadyNow() < deadline) {
    const Answer answer = http.Get("/v1/queues/default");
    const Document queue(answer.body);
    if (answer.ok() && queue.Int("/jobs/active") == 0 && queue.Int("/jobs/scheduled") == 0) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return false;
}

// A task that is done stays done: the very lease that did it is refused.
void ReportDoneAgain(std::uint16_t port, Ledger& ledger) {
  WebSocket socket(port, "/v1/queues/default/work");
  ASSERT_TRUE(socket.open());
  ASSERT_TRUE(socket.Send(R"({"hello":{"name":"again","tags":["none"],"slots":1}})"));
  ASSERT_TRUE(socket.Receive().has_value());
  std::string list;
  const std::vector<Ledger::DoneLease> done = ledger.SomeDone(200);
  for (const Ledger::DoneLease& entry : done) {
    list += (list.empty() ? "" : ",") + (R"({"job":")" + std::to_string(entry.task.job)) + R"(","index":)" +
            std::to_string(entry.task.index) + R"(,"lease":")" + entry.lease + R"(","result":"again"})";
  }
  ASSERT_TRUE(socket.Send(R"({"seq":1,"done":[)" + list + "]}"));
  const std::optional<std::string> answer = socket.Receive();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(Document(*answer).Size("/stale"), done.size()) << *answer;
}

void SubmitAgain(std::uint16_t port, Ledger& ledger) {
  Http http(port);
  std::size_t conflicts = 0;
  std::size_t asked = 0;
  for (const LedgerJob& job : ledger.Jobs()) {
    if (++asked > 50) break;
    const Answer answer =
        http.Post("/v1/queues/default/jobs", R"({"tag":"another","count":77,"idempotency_key":")" + job.key + "\"}");
    if (answer.ErrorCode() == "idempotency_conflict") ++conflicts;
  }
  EXPECT_EQ(conflicts, std::min<std::size_t>(ledger.Jobs().size(), 50));
}

struct Crashing {
  std::string bin = {};
  std::vector<std::pair<std::string, std::string>> env = {};
  std::uint64_t rounds = 20;
};

void RunCrashes(const Crashing& crashing) {
  const std::uint64_t seed = FromEnvironment("ALLOT_CRASH_SEED", std::random_device()());
  const std::uint64_t rounds = FromEnvironment("ALLOT_CRASH_ROUNDS", crashing.rounds);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);

  const std::string grace = std::to_string(kLease.count()) + "ms";
  LiveServer server(
      {.bin = crashing.bin, .flags = {"--worker-grace", grace, "--restart-grace", grace}, .env = crashing.env});
  ASSERT_TRUE(server.Start()) << server.Log();
  Ledger ledger(kHold);
  Load load({.port = server.port(), .seed = random(), .lease = kLease}, ledger);
  load.Start();

  for (std::uint64_t round = 0; round < rounds && ledger.violations().empty(); ++round) {
    std::this_thread::sleep_for(kSlower * milliseconds(100 + random() % 1400));
    ASSERT_TRUE(server.Running()) << "it ended by itself\n" << server.Log();
    if (random() % 5 == 0) {
      // A graceful stop keeps the same promises.
      const std::optional<int> code = server.Stop();
      ASSERT_TRUE(code.has_value()) << "it did not stop\n" << server.Log();
      ASSERT_EQ(*code, 0) << server.Log();
    } else {
      server.Kill();
    }
    load.NoteRestart();
    ASSERT_TRUE(server.Start()) << "it did not start again\n" << server.Log();
    ledger.CheckJobs(server.port(), false);
  }
  load.StopSubmitting();
  const bool finished = WaitForAllJobs(server.port(), kSlower * milliseconds(30'000));
  EXPECT_TRUE(finished) << "jobs that never end: "
                        << Http(server.port()).Get("/v1/queues/default/jobs?state=active&limit=5").body;
  load.StopWorking();
  ledger.CheckJobs(server.port(), true);
  ledger.CheckResults(server.port());
  ReportDoneAgain(server.port(), ledger);
  SubmitAgain(server.port(), ledger);

  // And once more, with nothing under way.
  server.Kill();
  ASSERT_TRUE(server.Start()) << server.Log();
  ledger.CheckJobs(server.port(), true);
  ledger.CheckResults(server.port());
  EXPECT_EQ(server.Stop().value_or(-1), 0) << server.Log();

  const LedgerTotals totals = ledger.totals();
  std::printf(
      "%llu rounds: %llu jobs, %llu tasks, %llu grants, %llu done, %llu failed, %llu released, %llu refused, "
      "%llu cancelled, %llu resumed (%llu over a restart), %llu expired\n",
      static_cast<unsigned long long>(rounds), static_cast<unsigned long long>(totals.jobs),
      static_cast<unsigned long long>(totals.tasks), static_cast<unsigned long long>(totals.grants),
      static_cast<unsigned long long>(totals.done), static_cast<unsigned long long>(totals.failed),
      static_cast<unsigned long long>(totals.released), static_cast<unsigned long long>(totals.refused),
      static_cast<unsigned long long>(totals.cancelled), static_cast<unsigned long long>(totals.resumed),
      static_cast<unsigned long long>(totals.resumed_later), static_cast<unsigned long long>(totals.expired));
  // A run in which nothing happened proves nothing.
  EXPECT_GT(totals.done, 100u);
  EXPECT_GT(totals.failed, 0u);
  EXPECT_GT(totals.cancelled, 0u);
  EXPECT_GT(totals.resumed_later, 0u);
  for (const std::string& violation : ledger.violations()) ADD_FAILURE() << violation;
  if (!ledger.violations().empty()) std::printf("%s\n", server.Log().c_str());
}

TEST(Crash, WhatWasAcknowledgedSurvivesKill) { RunCrashes({}); }

// The same program on a disk that forgets what was not synced; some of it reaches the disk all the same, whole or torn.
TEST(PowerLoss, WhatWasAcknowledgedSurvives) {
  const char* bin = std::getenv("ALLOT_POWERLOSS_BIN");
  if (bin == nullptr) GTEST_SKIP() << "ALLOT_POWERLOSS_BIN names no program";
  RunCrashes({.bin = bin, .env = {{"ALLOT_POWERLOSS_CHANCE", "0.3"}}});
}

}  // namespace
}  // namespace allot::testing
