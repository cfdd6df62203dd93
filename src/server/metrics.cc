#include "server/metrics.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace allot {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;

double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-6; }

// Every counter and gauge of a queue, once: its name, its help, and where its value is found.
struct Row {
  const char* name;
  const char* help;
  std::uint64_t (*value)(const EngineStats&);
};
constexpr Row kCounters[] = {
    {"allotter_jobs_submitted_total", "Jobs taken.", [](const EngineStats& s) { return s.submitted_jobs; }},
    {"allotter_tasks_submitted_total", "Tasks of jobs taken.", [](const EngineStats& s) { return s.submitted_tasks; }},
    {"allotter_tasks_granted_total", "Leases begun.", [](const EngineStats& s) { return s.granted; }},
    {"allotter_tasks_done_total", "Tasks done.", [](const EngineStats& s) { return s.done; }},
    {"allotter_tasks_failed_total", "Tasks failed for good.", [](const EngineStats& s) { return s.failed_tasks; }},
    {"allotter_attempts_failed_total", "Attempts that failed.", [](const EngineStats& s) { return s.failed_attempts; }},
    {"allotter_leases_expired_total", "Leases that ended without a report.",
     [](const EngineStats& s) { return s.expired; }},
    {"allotter_reports_stale_total", "Reports with a lease that was not the task's own.",
     [](const EngineStats& s) { return s.stale; }},
    {"allotter_limit_denials_total", "Starts that met a limit which held them back.",
     [](const EngineStats& s) { return s.limit_denials; }},
    {"allotter_dispatch_moves_total", "Tasks that went from one worker's queue to another's.",
     [](const EngineStats& s) { return s.dispatch_moves; }},
    {"allotter_dispatch_steals_total", "Tasks that a worker with nothing to do took from another's queue.",
     [](const EngineStats& s) { return s.dispatch_steals; }},
    {"allotter_dispatch_wasted_pops_total", "Tasks of a worker's queue that somebody else had taken: always 0.",
     [](const EngineStats& s) { return s.wasted_pops; }},
};
constexpr Row kGauges[] = {
    {"allotter_jobs_scheduled", "Jobs that wait for their time.",
     [](const EngineStats& s) { return s.jobs_scheduled; }},
    {"allotter_jobs_active", "Jobs that may be handed out.", [](const EngineStats& s) { return s.jobs_active; }},
    {"allotter_jobs_paused", "Jobs paused.", [](const EngineStats& s) { return s.jobs_paused; }},
    {"allotter_jobs_finished", "Ended jobs that are still kept.",
     [](const EngineStats& s) { return s.jobs_done + s.jobs_failed + s.jobs_cancelled; }},
    {"allotter_tasks_ready", "Tasks that could be handed out.", [](const EngineStats& s) { return s.tasks_ready; }},
    {"allotter_tasks_promised", "Ready tasks in the queues of workers.",
     [](const EngineStats& s) { return s.tasks_promised; }},
    {"allotter_longest_worker_queue", "Tasks in the longest queue of a worker.",
     [](const EngineStats& s) { return s.longest_queue; }},
    {"allotter_tasks_waiting", "Tasks that wait for their retry.",
     [](const EngineStats& s) { return s.tasks_waiting; }},
    {"allotter_tasks_leased", "Tasks in workers' hands.", [](const EngineStats& s) { return s.tasks_leased; }},
    {"allotter_workers", "Workers registered.", [](const EngineStats& s) { return s.workers; }},
    {"allotter_workers_waiting", "Workers that wait for a task.",
     [](const EngineStats& s) { return s.workers_waiting; }},
    {"allotter_workers_away", "Workers that lost their connection and may come back.",
     [](const EngineStats& s) { return s.workers_away; }},
    {"allotter_classes", "Different sets of tags among jobs.", [](const EngineStats& s) { return s.classes; }},
    {"allotter_strategies", "Different strategies that workers use.",
     [](const EngineStats& s) { return s.strategies; }},
    {"allotter_limits", "Limits on starts.", [](const EngineStats& s) { return s.limits; }},
    {"allotter_limits_waiting", "Groups of jobs that wait for a limit.",
     [](const EngineStats& s) { return s.limits_waiting; }},
    {"allotter_unfolded_events", "Journal events that are not yet in records.",
     [](const EngineStats& s) { return s.unfolded_events; }},
    {"allotter_queue_paused", "1 while nothing is handed out.",
     [](const EngineStats& s) { return std::uint64_t{s.paused}; }},
};

const Histogram::BucketBoundaries& TimeBuckets() {
  static const Histogram::BucketBoundaries buckets = {0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003,
                                                      0.01,    0.03,    0.1,    0.3,    1,     3};
  return buckets;
}
const Histogram::BucketBoundaries& SizeBuckets() {
  static const Histogram::BucketBoundaries buckets = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384};
  return buckets;
}

template <typename Builder>
auto& Register(Builder builder, prometheus::Registry& registry, const char* name, const char* help) {
  return builder.Name(name).Help(help).Register(registry);
}

}  // namespace

struct QueueMetrics::Impl {
  std::array<Counter*, std::size(kCounters)> counters{};
  std::array<std::uint64_t, std::size(kCounters)> told{};
  std::array<Gauge*, std::size(kGauges)> gauges{};
  std::array<Gauge*, kDispatchWords.size()> dispatch{};
  Gauge* store_bytes = nullptr;
  Gauge* journal_rows = nullptr;
  Histogram* commit_seconds = nullptr;
  Histogram* commit_batches = nullptr;
  Histogram* commit_events = nullptr;
  Histogram* decide_seconds = nullptr;
};

QueueMetrics::QueueMetrics(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueueMetrics::~QueueMetrics() = default;

void QueueMetrics::Update(const EngineStats& stats) {
  for (std::size_t i = 0; i < std::size(kCounters); ++i) {
    const std::uint64_t value = kCounters[i].value(stats);
    if (value <= impl_->told[i]) continue;
    impl_->counters[i]->Increment(static_cast<double>(value - impl_->told[i]));
    impl_->told[i] = value;
  }
  for (std::size_t i = 0; i < std::size(kGauges); ++i)
    impl_->gauges[i]->Set(static_cast<double>(kGauges[i].value(stats)));
  for (std::size_t i = 0; i < kDispatchWords.size(); ++i)
    impl_->dispatch[i]->Set(stats.dispatch == static_cast<DispatchMode>(i) ? 1 : 0);
}

void QueueMetrics::Update(const Store::Usage& usage) {
  impl_->store_bytes->Set(static_cast<double>(usage.file_bytes));
  impl_->journal_rows->Set(static_cast<double>(usage.journal_rows));
}

void QueueMetrics::Committed(Duration took, std::size_t batches, std::size_t events) {
  impl_->commit_seconds->Observe(Seconds(took));
  impl_->commit_batches->Observe(static_cast<double>(batches));
  impl_->commit_events->Observe(static_cast<double>(events));
}

void QueueMetrics::Decided(Duration took) { impl_->decide_seconds->Observe(Seconds(took)); }

struct Metrics::Impl {
  prometheus::Registry registry;
  std::array<Family<Counter>*, std::size(kCounters)> counters{};
  std::array<Family<Gauge>*, std::size(kGauges)> gauges{};
  Family<Gauge>& dispatch;
  Family<Gauge>& store_bytes;
  Family<Gauge>& journal_rows;
  Family<Histogram>& commit_seconds;
  Family<Histogram>& commit_batches;
  Family<Histogram>& commit_events;
  Family<Histogram>& decide_seconds;

  Gauge& connections;
  Counter& connections_total;
  Counter& requests;
  Counter& client_errors;
  Counter& server_errors;
  Counter& messages;
  Counter& bytes_in;
  Counter& bytes_out;
  Gauge& resident;
  Gauge& open_files;
  Gauge& queues_gauge;

  std::mutex mutex;  // of queues
  std::map<std::string, std::unique_ptr<QueueMetrics>> queues;

  Family<Gauge>& GaugeFamily(const char* name, const char* help) {
    return Register(prometheus::BuildGauge(), registry, name, help);
  }
  Family<Histogram>& HistogramFamily(const char* name, const char* help) {
    return Register(prometheus::BuildHistogram(), registry, name, help);
  }
  Counter& OneCounter(const char* name, const char* help) {
    return Register(prometheus::BuildCounter(), registry, name, help).Add({});
  }
  Gauge& OneGauge(const char* name, const char* help) { return GaugeFamily(name, help).Add({}); }

  Impl()
      : dispatch(GaugeFamily("allotter_dispatch", "1 for the mode that is in force, 0 for the other.")),
        store_bytes(GaugeFamily("allotter_store_bytes", "Bytes of the queue's files.")),
        journal_rows(GaugeFamily("allotter_store_journal_rows", "Rows of the journal.")),
        commit_seconds(HistogramFamily("allotter_commit_seconds", "How long a group commit took.")),
        commit_batches(HistogramFamily("allotter_commit_batches", "Batches of a group commit.")),
        commit_events(HistogramFamily("allotter_commit_events", "Events of a group commit.")),
        decide_seconds(HistogramFamily("allotter_decide_seconds", "How long the engine took for a round of commands.")),
        connections(OneGauge("allotter_connections", "Connections open.")),
        connections_total(OneCounter("allotter_connections_total", "Connections accepted.")),
        requests(OneCounter("allotter_http_requests_total", "HTTP requests answered.")),
        client_errors(OneCounter("allotter_http_client_errors_total", "HTTP requests answered with a status of 4xx.")),
        server_errors(OneCounter("allotter_http_server_errors_total", "HTTP requests answered with a status of 5xx.")),
        messages(OneCounter("allotter_websocket_messages_total", "WebSocket messages received.")),
        bytes_in(OneCounter("allotter_received_bytes_total", "Bytes received.")),
        bytes_out(OneCounter("allotter_sent_bytes_total", "Bytes sent.")),
        resident(OneGauge("process_resident_memory_bytes", "Resident memory.")),
        open_files(OneGauge("process_open_fds", "Open file descriptors.")),
        queues_gauge(OneGauge("allotter_queues", "Queues.")) {
    for (std::size_t i = 0; i < std::size(kCounters); ++i) {
      counters[i] = &Register(prometheus::BuildCounter(), registry, kCounters[i].name, kCounters[i].help);
    }
    for (std::size_t i = 0; i < std::size(kGauges); ++i) gauges[i] = &GaugeFamily(kGauges[i].name, kGauges[i].help);
  }

  void ReadProcess() {
    std::ifstream statm("/proc/self/statm");
    std::uint64_t total = 0, pages = 0;
    if (statm >> total >> pages) resident.Set(static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
    std::error_code error;
    double count = 0;
    for (std::filesystem::directory_iterator i("/proc/self/fd", error), end; !error && i != end; i.increment(error))
      ++count;
    open_files.Set(count);
  }
};

Metrics::Metrics(const std::string& version) : impl_(std::make_unique<Impl>()) {
  impl_->GaugeFamily("allotter_build_info", "1, with the version as a label.").Add({{"version", version}}).Set(1);
}
Metrics::~Metrics() = default;

QueueMetrics& Metrics::ForQueue(const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  auto& slot = impl_->queues[name];
  if (slot) return *slot;
  const prometheus::Labels labels{{"queue", name}};
  auto queue = std::make_unique<QueueMetrics::Impl>();
  for (std::size_t i = 0; i < std::size(kCounters); ++i) queue->counters[i] = &impl_->counters[i]->Add(labels);
  for (std::size_t i = 0; i < std::size(kGauges); ++i) queue->gauges[i] = &impl_->gauges[i]->Add(labels);
  for (std::size_t i = 0; i < kDispatchWords.size(); ++i)
    queue->dispatch[i] = &impl_->dispatch.Add({{"queue", name}, {"mode", std::string(kDispatchWords[i])}});
  queue->store_bytes = &impl_->store_bytes.Add(labels);
  queue->journal_rows = &impl_->journal_rows.Add(labels);
  queue->commit_seconds = &impl_->commit_seconds.Add(labels, TimeBuckets());
  queue->commit_batches = &impl_->commit_batches.Add(labels, SizeBuckets());
  queue->commit_events = &impl_->commit_events.Add(labels, SizeBuckets());
  queue->decide_seconds = &impl_->decide_seconds.Add(labels, TimeBuckets());
  slot.reset(new QueueMetrics(std::move(queue)));
  impl_->queues_gauge.Set(static_cast<double>(impl_->queues.size()));
  return *slot;
}

void Metrics::RemoveQueue(const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  const auto found = impl_->queues.find(name);
  if (found == impl_->queues.end()) return;
  QueueMetrics::Impl& queue = *found->second->impl_;
  for (std::size_t i = 0; i < std::size(kCounters); ++i) impl_->counters[i]->Remove(queue.counters[i]);
  for (std::size_t i = 0; i < std::size(kGauges); ++i) impl_->gauges[i]->Remove(queue.gauges[i]);
  for (Gauge* const mode : queue.dispatch) impl_->dispatch.Remove(mode);
  impl_->store_bytes.Remove(queue.store_bytes);
  impl_->journal_rows.Remove(queue.journal_rows);
  impl_->commit_seconds.Remove(queue.commit_seconds);
  impl_->commit_batches.Remove(queue.commit_batches);
  impl_->commit_events.Remove(queue.commit_events);
  impl_->decide_seconds.Remove(queue.decide_seconds);
  impl_->queues.erase(found);
  impl_->queues_gauge.Set(static_cast<double>(impl_->queues.size()));
}

void Metrics::ConnectionOpened() {
  impl_->connections.Increment();
  impl_->connections_total.Increment();
}
void Metrics::ConnectionClosed() { impl_->connections.Decrement(); }
void Metrics::RequestServed(int http_status) {
  impl_->requests.Increment();
  if (http_status >= 500) {
    impl_->server_errors.Increment();
  } else if (http_status >= 400) {
    impl_->client_errors.Increment();
  }
}
void Metrics::MessageReceived(std::size_t bytes) {
  impl_->messages.Increment();
  BytesIn(bytes);
}
void Metrics::BytesIn(std::size_t bytes) { impl_->bytes_in.Increment(static_cast<double>(bytes)); }
void Metrics::BytesOut(std::size_t bytes) { impl_->bytes_out.Increment(static_cast<double>(bytes)); }

std::string Metrics::Render() const {
  impl_->ReadProcess();
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace allot
