// SPDX-License-Identifier: Apache-2.0
// The promises of the protocol over faults of a cluster: three servers on one PostgreSQL under load through any of
// them, killed, stopped for seconds, drained and started again, with restarts of the database in between, and the
// ledger of the crash test on the clients' side.
//
// ALLOT_CLUSTER_FAULTS: how many (default 12). ALLOT_CLUSTER_SEED: repeats the choices of a run.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include "base/sanitizers.h"
#include "cluster/nodes.h"
#include "crash/ledger.h"
#include "crash/load.h"

namespace allot::testing {
namespace {

constexpr int kSlow = ALLOT_SANITIZED ? 4 : 1;
constexpr milliseconds kLeaseTime(kSlow * 8000);  // lease_ms, worker_grace and restart_grace
constexpr milliseconds kHoldTime(kSlow * 7000);   // what the ledger counts on

std::uint64_t Setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(ClusterFaults, WhatWasAcknowledgedHolds) {
  if (const std::optional<std::string> missing = postgres::TestCluster::Missing()) GTEST_SKIP() << *missing;
  const std::uint64_t seed = Setting("ALLOT_CLUSTER_SEED", std::random_device()());
  const std::uint64_t faults = Setting("ALLOT_CLUSTER_FAULTS", 12);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);

  const std::string grace = std::to_string(kLeaseTime.count()) + "ms";
  Nodes nodes(3, {"--worker-grace", grace, "--restart-grace", grace});
  ASSERT_TRUE(nodes.StartAll()) << nodes.Logs();
  Ledger ledger(kHoldTime);
  Load load({.port = nodes[0].port(),
             .others = {nodes[1].port(), nodes[2].port()},
             .seed = random(),
             .submitters = 3,
             .workers = 4,
             .http_workers = 2,
             .max_open_tasks = 1000,
             .lease = kLeaseTime},
            ledger);
  load.Start();

  std::map<std::string, int> done;
  for (std::uint64_t fault = 0; fault < faults && ledger.violations().empty(); ++fault) {
    std::this_thread::sleep_for(milliseconds(500 + random() % 2500));
    // Mostly the one that has the queue.
    const std::size_t owner = nodes.IndexOfOwner("default");
    const std::size_t which = owner < 3 && random() % 4 != 0 ? owner : random() % 3;
    const std::uint64_t kind = fault < 4 ? fault : random() % 4;
    std::string what;
    if (kind == 0) {
      what = "kill -9";
      nodes[which].Kill();
      std::this_thread::sleep_for(milliseconds(random() % 5000));
      load.NoteRestart();
      nodes[which].Launch();
    } else if (kind == 1) {
      what = "SIGSTOP";
      const milliseconds time(3000 + random() % 4000);
      ASSERT_EQ(kill(nodes[which].pid(), SIGSTOP), 0);
      std::this_thread::sleep_for(time);
      load.NoteRestart();
      ASSERT_EQ(kill(nodes[which].pid(), SIGCONT), 0);
    } else if (kind == 2) {
      what = "restart of the database";
      if (random() % 2 == 0) {
        nodes.database().Kill();
      } else {
        nodes.database().Stop();
      }
      std::this_thread::sleep_for(milliseconds(random() % 2000));
      load.NoteRestart();
      nodes.database().Start();
    } else {
      what = "drain and restart";
      Http http = nodes[(which + 1) % 3].http();
      http.Post("/v1/nodes/" + nodes.name(which) + "/drain", "");
      std::this_thread::sleep_for(milliseconds(random() % 1500));
      load.NoteRestart();
      EXPECT_EQ(nodes[which].Stop().value_or(-1), 0) << nodes.Logs();
      nodes[which].Launch();
    }
    ++done[what];
    ASSERT_TRUE(nodes[which].WaitReady(kSlow * milliseconds(30'000))) << what << "\n" << nodes.Logs();
  }
  load.StopSubmitting();
  EXPECT_TRUE(Eventually(
      [&] {
        Http http = nodes[0].http();
        const Answer answer = http.Get("/v1/queues/default");
        const Document queue(answer.body);
        return answer.ok() && queue.Int("/jobs/active") == 0 && queue.Int("/jobs/scheduled") == 0;
      },
      kSlow * milliseconds(60'000)))
      << nodes.Logs();
  load.StopWorking();
  for (std::size_t i = 0; i < 3; ++i) ledger.CheckJobs(nodes[i].port(), true);
  ledger.CheckResults(nodes[1].port());
  const LedgerTotals totals = ledger.totals();
  for (const auto& [what, times] : done) std::printf("%d x %s\n", times, what.c_str());
  std::printf(
      "%llu jobs, %llu tasks, %llu grants, %llu done, %llu failed, %llu refused, %llu cancelled, %llu resumed, "
      "%llu expired\n",
      static_cast<unsigned long long>(totals.jobs), static_cast<unsigned long long>(totals.tasks),
      static_cast<unsigned long long>(totals.grants), static_cast<unsigned long long>(totals.done),
      static_cast<unsigned long long>(totals.failed), static_cast<unsigned long long>(totals.refused),
      static_cast<unsigned long long>(totals.cancelled), static_cast<unsigned long long>(totals.resumed),
      static_cast<unsigned long long>(totals.expired));
  for (const std::string& violation : ledger.violations()) ADD_FAILURE() << violation;
  if (HasFailure()) std::printf("%s\n", nodes.Logs().c_str());
  EXPECT_GT(totals.done, 0u);
}

}  // namespace
}  // namespace allot::testing
