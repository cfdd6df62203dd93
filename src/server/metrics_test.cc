#include "server/metrics.h"

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

bool Has(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, CountersGrowByWhatIsNew) {
  Metrics metrics("1.2.3");
  QueueMetrics& queue = metrics.ForQueue("default");
  EXPECT_EQ(&queue, &metrics.ForQueue("default"));
  EngineStats stats;
  stats.granted = 5;
  stats.tasks_ready = 10;
  queue.Update(stats);
  stats.granted = 8;
  stats.tasks_ready = 3;
  stats.paused = true;
  queue.Update(stats);
  queue.Update(stats);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_tasks_granted_total{queue=\"default\"} 8")) << text;
  EXPECT_TRUE(Has(text, "allotter_tasks_ready{queue=\"default\"} 3"));
  EXPECT_TRUE(Has(text, "allotter_queue_paused{queue=\"default\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_build_info{version=\"1.2.3\"} 1"));
  EXPECT_TRUE(Has(text, "# TYPE allotter_tasks_granted_total counter"));
  EXPECT_NE(text.find("process_resident_memory_bytes "), std::string::npos);
}

TEST(Metrics, QueuesAreApartAndGoWhenRemoved) {
  Metrics metrics("1");
  EngineStats stats;
  stats.done = 1;
  metrics.ForQueue("a").Update(stats);
  stats.done = 2;
  metrics.ForQueue("b").Update(stats);
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
  queue.Update(stats);
  std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_dispatch{mode=\"balanced\",queue=\"q\"} 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_dispatch{mode=\"fanout\",queue=\"q\"} 0"));
  EXPECT_TRUE(Has(text, "allotter_tasks_promised{queue=\"q\"} 12"));
  EXPECT_TRUE(Has(text, "allotter_longest_worker_queue{queue=\"q\"} 7"));
  EXPECT_TRUE(Has(text, "allotter_dispatch_moves_total{queue=\"q\"} 3"));
  EXPECT_TRUE(Has(text, "allotter_dispatch_steals_total{queue=\"q\"} 2"));
  EXPECT_TRUE(Has(text, "allotter_dispatch_wasted_pops_total{queue=\"q\"} 0"));
  stats.dispatch = DispatchMode::kFanout;
  queue.Update(stats);
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
  queue.Decided(20us);
  queue.Update(Store::Usage{.file_bytes = 4096, .journal_rows = 2, .garbage_jobs = 0});
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_commit_seconds_count{queue=\"q\"} 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_commit_seconds_sum{queue=\"q\"} 0.002"));
  EXPECT_TRUE(Has(text, "allotter_commit_events_sum{queue=\"q\"} 40"));
  EXPECT_TRUE(Has(text, "allotter_commit_seconds_bucket{queue=\"q\",le=\"0.003\"} 1"));
  EXPECT_TRUE(Has(text, "allotter_store_bytes{queue=\"q\"} 4096"));
}

TEST(Metrics, TheNetworksSide) {
  Metrics metrics("1");
  metrics.ConnectionOpened();
  metrics.ConnectionOpened();
  metrics.ConnectionClosed();
  for (const int status : {200, 201, 404, 500, 503}) metrics.RequestServed(status);
  metrics.MessageReceived(100);
  metrics.BytesIn(11);
  metrics.BytesOut(7);
  const std::string text = metrics.Render();
  EXPECT_TRUE(Has(text, "allotter_connections 1")) << text;
  EXPECT_TRUE(Has(text, "allotter_connections_total 2"));
  EXPECT_TRUE(Has(text, "allotter_http_requests_total 5"));
  EXPECT_TRUE(Has(text, "allotter_http_client_errors_total 1"));
  EXPECT_TRUE(Has(text, "allotter_http_server_errors_total 2"));
  EXPECT_TRUE(Has(text, "allotter_received_bytes_total 111"));
  EXPECT_TRUE(Has(text, "allotter_sent_bytes_total 7"));
}

}  // namespace
}  // namespace allot
