// SPDX-License-Identifier: Apache-2.0
#include "cli/text/worker_text.h"

#include <gtest/gtest.h>

#include <sstream>

namespace allot::cli {
namespace {

allotter::WorkerInfo SomeWorker() {
  allotter::WorkerInfo worker;
  worker.id = "500213984501760000";  // as long as ids are
  worker.name = "host-1";
  worker.tags = {"square"};
  worker.slots = 4;
  worker.running = 3;
  worker.connected = true;
  worker.address = "127.0.0.1:50000";
  return worker;
}

TEST(WorkerList, SaysSoWhenThereAreNone) { EXPECT_EQ(WorkerList().Text({}), "no workers\n"); }

TEST(WorkerList, UnderFanoutThereIsNoQueueWithinEightyColumns) {
  WorkerList list;
  list.Add(SomeWorker(), 5'000);
  EXPECT_EQ(list.Text({}),
            "ID                  NAME    STATE      TAGS    SLOTS  RUNNING  WANTS  SINCE\n"
            "500213984501760000  host-1  connected  square      4        3      0  5s\n");
}

TEST(WorkerList, AQueueTakesThePlaceOfWantsWithinEightyColumns) {
  WorkerList list;
  allotter::WorkerInfo worker = SomeWorker();
  worker.promised = 1'250;
  list.Add(worker, 5'000);
  worker.promised.reset();  // the mode was changed between two pages
  list.Add(worker, 5'000);
  const std::string text = list.Text({});
  EXPECT_EQ(text,
            "ID                  NAME    STATE      TAGS    SLOTS  RUNNING  QUEUE  SINCE\n"
            "500213984501760000  host-1  connected  square      4        3  1,250  5s\n"
            "500213984501760000  host-1  connected  square      4        3      -  5s\n");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(PromisedText, CountsTasksAndJobs) {
  allotter::WorkerInfo worker;
  EXPECT_EQ(PromisedText(worker), "");
  worker.promised = 0;
  worker.promised_jobs = 0;
  EXPECT_EQ(PromisedText(worker), "empty");
  worker.promised = 1;
  worker.promised_jobs = 1;
  EXPECT_EQ(PromisedText(worker), "1 task of 1 job");
  worker.promised = 1'000'000;
  worker.promised_jobs = 20;
  EXPECT_EQ(PromisedText(worker), "1,000,000 tasks of 20 jobs");
}

TEST(QueueText, IsATableOfSharesAndHowManyMore) {
  allotter::WorkerInfo worker;
  EXPECT_EQ(QueueText(worker, {}), "");
  worker.promised = 1'207;
  worker.promised_jobs = 2;
  EXPECT_EQ(QueueText(worker, {}), "the jobs in its queue are not shown to this token\n");
  worker.queue = {{"12", 1'200, 7, "an\x1b[31mn", {"render", "g\npu"}}, {"9", 5, {}, "", {}}};
  EXPECT_EQ(QueueText(worker, {}),
            "JOB  TASKS  PRIO  USER     TAGS\n"
            "12   1,200     7  an[31mn  render,g pu\n"
            "9        5     -  -\n");
  worker.promised_jobs = 1'102;
  EXPECT_NE(QueueText(worker, {}).find("-  -\nand 1,100 more\n"), std::string::npos) << QueueText(worker, {});
}

}  // namespace
}  // namespace allot::cli
