// SPDX-License-Identifier: Apache-2.0
#include "server/ops/metrics.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "base/bounds.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

const WallTime kScrapedAt = FromMillis(1'700'000'000'000);

bool Has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, CountersGrowByWhatIsNew) {
  Metrics metrics("1.2.3");
  QueueMetrics& queue = metrics.ForQueue("default");
  EXPECT_EQ(&queue, &metrics.ForQueue("default"));
  EngineStats stats;
  stats.granted = 5;
  stats.tasks_queued = 10;
  queue.Update(stats, {}, kScrapedAt);
  stats.granted = 8;
  stats.tasks_queued = 3;
  stats.paused = true;
  queue.Update(stats, {}, kScrapedAt);
  queue.Update(stats, {}, kScrapedAt);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_tasks_granted_total{queue=\"default\"} 8")) << text;
  EXPECT_TRUE(Has(text, "allotter_tasks_queued{queue=\"default\"} 3"));
  EXPECT_TRUE(Has(text, "allotter_queue_paused{queue=\"default\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_build_info{version=\"1.2.3\"} 1"));
  EXPECT_TRUE(Has(text, "# TYPE allotter_tasks_granted_total counter"));
  EXPECT_NE(text.find("process_resident_memory_bytes "), std::string::npos);
}

TEST(Metrics, QueuesAreApartAndGoWhenRemoved) {
  Metrics metrics("1");
  EngineStats stats;
  stats.done = 1;
  metrics.ForQueue("a").Update(stats, {}, kScrapedAt);
  stats.done = 2;
  metrics.ForQueue("b").Update(stats, {}, kScrapedAt);
  EXPECT_TRUE(Has(metrics.Render(), "allotter_tasks_done_total{queue=\"a\"} 1"));
  EXPECT_TRUE(Has(metrics.Render(), "allotter_queues 2"));
  metrics.RemoveQueue("a");
  metrics.RemoveQueue("never");
  const std::string text = metrics.Render();
  EXPECT_EQ(text.find("queue=\"a\""), std::string::npos);
  EXPECT_TRUE(Has(text, "allotter_tasks_done_total{queue=\"b\"} 2"));
  // The same name again begins at zero.
  metrics.ForQueue("a");
  EXPECT_TRUE(Has(metrics.Render(), "allotter_tasks_done_total{queue=\"a\"} 0"));
}

TEST(Metrics, DispatchHasAModeAndCounts) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  EngineStats stats;
  stats.dispatch = DispatchMode::kBalanced;
  stats.tasks_promised = 12;
  stats.longest_queue = 7;
  stats.dispatch_moves = 3;
  stats.dispatch_steals = 2;
  queue.Update(stats, {}, kScrapedAt);
  std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_dispatch{mode=\"balanced\",queue=\"q\"} 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_dispatch{mode=\"fanout\",queue=\"q\"} 0"));
  EXPECT_TRUE(Has(text, "allotter_tasks_promised{queue=\"q\"} 12"));
  EXPECT_TRUE(Has(text, "allotter_longest_worker_queue{queue=\"q\"} 7"));
  EXPECT_TRUE(Has(text, "allotter_dispatch_moves_total{queue=\"q\"} 3"));
  EXPECT_TRUE(Has(text, "allotter_dispatch_steals_total{queue=\"q\"} 2"));
  EXPECT_TRUE(Has(text, "allotter_dispatch_wasted_pops_total{queue=\"q\"} 0"));
  stats.dispatch = DispatchMode::kFanout;
  queue.Update(stats, {}, kScrapedAt);
  text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_dispatch{mode=\"balanced\",queue=\"q\"} 0")) << text;
  EXPECT_TRUE(Has(text, "allotter_dispatch{mode=\"fanout\",queue=\"q\"} 1"));
  metrics.RemoveQueue("q");
  EXPECT_EQ(metrics.Render().find("queue=\"q\""), std::string::npos);
}

TEST(Metrics, CommitsAreInSeconds) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  queue.Committed(2ms, 3, 40);
  queue.Decided(20us, 0);
  queue.Update(Store::Usage{.file_bytes = 4096,
                            .journal_rows = 2,
                            .garbage_jobs = 7,
                            .unapplied_bytes = 300,
                            .journal_segments = 2,
                            .journal_writing = "direct"},
               false);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_commit_seconds_count{queue=\"q\"} 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_commit_seconds_sum{queue=\"q\"} 0.002"));
  EXPECT_TRUE(Has(text, "allotter_commit_events_sum{queue=\"q\"} 40"));
  EXPECT_TRUE(Has(text, "allotter_commit_seconds_bucket{queue=\"q\",le=\"0.003\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_store_bytes{queue=\"q\"} 4096"));
  EXPECT_TRUE(Has(text, "allotter_store_garbage_jobs{queue=\"q\"} 7"));
  EXPECT_TRUE(Has(text, "allotter_store_journal_bytes{queue=\"q\"} 300"));
  EXPECT_TRUE(Has(text, "allotter_store_journal_segments{queue=\"q\"} 2"));
  EXPECT_TRUE(Has(text, "allotter_store_journal_writing{mode=\"direct\",queue=\"q\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_store_journal_writing{mode=\"synced\",queue=\"q\"} 0"));
  EXPECT_TRUE(Has(text, "allotter_disk_full{queue=\"q\"} 0"));
  queue.Update(Store::Usage(), true);
  EXPECT_TRUE(Has(metrics.Render(), "allotter_disk_full{queue=\"q\"} 1"));
  queue.Update(Store::Usage{.epoch = 5, .doubts = 3, .read_time = 2ms}, false, true);
  queue.Update(Store::Usage{.epoch = 6, .doubts = 4, .read_time = 2ms}, false, true);
  EXPECT_TRUE(Has(metrics.Render(), "allotter_store_unavailable{queue=\"q\"} 1"));
  EXPECT_TRUE(Has(metrics.Render(), "allotter_store_epoch{queue=\"q\"} 6"));
  EXPECT_TRUE(Has(metrics.Render(), "allotter_store_doubts_total{queue=\"q\"} 4"));
  EXPECT_TRUE(Has(metrics.Render(), "allotter_store_read_seconds{queue=\"q\"} 0.002"));
}

TEST(Metrics, ARoundsTimeIsSharedByItsStarts) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  queue.Decided(100us, 0);   // reports only: no start, no pick
  queue.Decided(100us, 50);  // 2 us each
  queue.Decided(1ms, 1);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_decide_seconds_count{queue=\"q\"} 3")) << text;
  EXPECT_TRUE(Has(text, "allotter_pick_seconds_count{queue=\"q\"} 51"));
  EXPECT_TRUE(Has(text, "allotter_pick_seconds_bucket{queue=\"q\",le=\"1e-06\"} 0"));
  EXPECT_TRUE(Has(text, "allotter_pick_seconds_bucket{queue=\"q\",le=\"3e-06\"} 50"));
  EXPECT_TRUE(Has(text, "allotter_pick_seconds_bucket{queue=\"q\",le=\"0.0003\"} 50"));
  EXPECT_TRUE(Has(text, "allotter_pick_seconds_bucket{queue=\"q\",le=\"0.001\"} 51"));
  EXPECT_TRUE(Has(text, "allotter_pick_seconds_sum{queue=\"q\"} 0.0011"));
}

TEST(Metrics, WaitingAndRunningAreToldAsTheyGrow) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  EngineStats stats;
  stats.waited.Add(0ms);
  stats.waited.Add(2s);
  stats.ran.Add(3min);
  queue.Update(stats, {}, kScrapedAt);
  queue.Update(stats, {}, kScrapedAt);  // nothing is counted twice
  stats.waited.Add(2s);
  stats.ran.Add(std::chrono::hours(24 * 30));  // longer than the last bucket
  queue.Update(stats, {}, kScrapedAt);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_wait_seconds_bucket{queue=\"q\",le=\"0.001\"} 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_wait_seconds_bucket{queue=\"q\",le=\"1.024\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_wait_seconds_bucket{queue=\"q\",le=\"2.048\"} 3"));
  EXPECT_TRUE(Has(text, "allotter_wait_seconds_count{queue=\"q\"} 3"));
  EXPECT_TRUE(Has(text, "allotter_wait_seconds_sum{queue=\"q\"} 4"));
  EXPECT_TRUE(Has(text, "allotter_run_seconds_bucket{queue=\"q\",le=\"131.072\"} 0"));
  EXPECT_TRUE(Has(text, "allotter_run_seconds_bucket{queue=\"q\",le=\"262.144\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_run_seconds_bucket{queue=\"q\",le=\"134217.728\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_run_seconds_bucket{queue=\"q\",le=\"+Inf\"} 2"));
  EXPECT_TRUE(Has(text, "allotter_run_seconds_sum{queue=\"q\"} 2592180"));
}

TEST(Metrics, TheOldestWaitingHasAnAge) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  EngineStats stats;
  queue.Update(stats, {}, kScrapedAt);
  EXPECT_TRUE(Has(metrics.Render(), "allotter_oldest_waiting_seconds{queue=\"q\"} 0"));
  stats.oldest_waiting = JobId{7};
  stats.oldest_waiting_since = kScrapedAt - 90'500ms;
  queue.Update(stats, {}, kScrapedAt);
  EXPECT_TRUE(Has(metrics.Render(), "allotter_oldest_waiting_seconds{queue=\"q\"} 90.5"));
  queue.Update(stats, {}, kScrapedAt - 1h);  // a clock that was set back
  EXPECT_TRUE(Has(metrics.Render(), "allotter_oldest_waiting_seconds{queue=\"q\"} 0"));
}

TEST(Metrics, WhatHoldsTasksBackIsToldByItsCode) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  ReasonRow busy, limit, again;
  busy.code = again.code = ReasonCode::kAllBusy;
  busy.tasks = 12;
  again.tasks = 3;
  limit.code = ReasonCode::kLimitNever;
  limit.tasks = 5;
  const EngineStats stats;
  queue.Update(stats, {busy, limit, again}, kScrapedAt);
  std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_tasks_by_wait_reason{queue=\"q\",reason=\"all_busy\"} 15")) << text;
  EXPECT_TRUE(Has(text, "allotter_tasks_by_wait_reason{queue=\"q\",reason=\"limit_never\"} 5"));
  // One that is over says so, rather than go.
  queue.Update(stats, {limit}, kScrapedAt);
  text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_tasks_by_wait_reason{queue=\"q\",reason=\"all_busy\"} 0")) << text;
  EXPECT_TRUE(Has(text, "allotter_tasks_by_wait_reason{queue=\"q\",reason=\"limit_never\"} 5"));
  metrics.RemoveQueue("q");
  EXPECT_EQ(metrics.Render().find("queue=\"q\""), std::string::npos);
}

TEST(Metrics, SlotsAndWorkers) {
  Metrics metrics("1");
  QueueMetrics& queue = metrics.ForQueue("q");
  EngineStats stats;
  stats.slots = 64;
  stats.workers = 8;
  stats.workers_draining = 2;
  stats.tasks_running = 60;
  queue.Update(stats, {}, kScrapedAt);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_slots{queue=\"q\"} 64")) << text;
  EXPECT_TRUE(Has(text, "allotter_workers_draining{queue=\"q\"} 2"));
  EXPECT_TRUE(Has(text, "allotter_tasks_running{queue=\"q\"} 60"));
}

TEST(Metrics, TheProcessAndItsDisk) {
  EXPECT_EQ(Metrics("1").Render().find("allotter_data_free_bytes"), std::string::npos);
  Metrics metrics("1", "/");
  const std::string text = metrics.Render();
  for (const char* name : {"allotter_data_free_bytes", "process_resident_memory_bytes", "process_open_fds",
                           "process_max_fds", "process_start_time_seconds", "process_cpu_seconds_total"}) {
    const std::size_t at = text.find("\n" + std::string(name) + " ");
    ASSERT_NE(at, std::string::npos) << name;
    EXPECT_GT(std::stod(text.substr(at + std::string_view(name).size() + 2)), 0) << name;
  }
}

// As many queues as there may be, each with every bucket: a reading is no burden.
TEST(Metrics, AReadingOfAllQueuesIsSmall) {
  Metrics metrics("1");
  for (std::size_t i = 0; i < bounds::kMaxQueues; ++i) {
    EngineStats stats;
    stats.waited.Add(1ms);
    metrics.ForQueue("a-queue-with-a-name-" + std::to_string(i)).Update(stats, {}, kScrapedAt);
  }
  const auto began = std::chrono::steady_clock::now();
  const std::string text = metrics.Render();
  const auto took = std::chrono::steady_clock::now() - began;
  RecordProperty("render_us", std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
  EXPECT_LT(text.size(), 2'000'000u);
  EXPECT_LT(took, 1s);
}

TEST(Metrics, TheNetworksSide) {
  Metrics metrics("1");
  metrics.ConnectionOpened();
  metrics.ConnectionOpened();
  metrics.ConnectionFailed();
  metrics.ConnectionClosed();
  for (const int status : {200, 201, 404, 500, 503}) metrics.RequestServed(status);
  metrics.MessageReceived();
  metrics.BytesIn(111);
  metrics.BytesOut(7);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_connections 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_connections_total 2"));
  EXPECT_TRUE(Has(text, "allotter_connection_errors_total 1"));
  EXPECT_TRUE(Has(text, "allotter_http_requests_total 5"));
  EXPECT_TRUE(Has(text, "allotter_http_client_errors_total 1"));
  EXPECT_TRUE(Has(text, "allotter_http_server_errors_total 2"));
  EXPECT_TRUE(Has(text, "allotter_received_bytes_total 111"));
  EXPECT_TRUE(Has(text, "allotter_sent_bytes_total 7"));
}

}  // namespace
}  // namespace allot
