// SPDX-License-Identifier: Apache-2.0
#include "server/ops/metrics.h"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
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
double Seconds(std::uint64_t ms) { return static_cast<double>(ms) / 1000; }
double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

// Every gauge of a queue, once: its name, its help, and where its value is found. Counters are in the engine's own list
// (engine/looks/counters.h).
struct MetricRow {
  const char* name;
  const char* help;
  std::uint64_t (*value)(const EngineStats&);
};
struct StoreMetricRow {
  const char* name;
  const char* help;
  std::uint64_t (*value)(const Store::Usage&);
};
constexpr StoreMetricRow kStoreCounters[] = {
    {"allotter_store_reconnects_total", "Times that the connection by which the queue is written was made anew.",
     [](const Store::Usage& u) { return u.reconnects; }},
    {"allotter_store_doubts_total",
     "Commits whose answer was lost, so that the database was asked what became of them.",
     [](const Store::Usage& u) { return u.doubts; }},
    {"allotter_store_fenced_total", "Commits that were refused since another server had taken the queue over.",
     [](const Store::Usage& u) { return u.fenced; }},
};
constexpr MetricRow kGauges[] = {
    {"allotter_jobs_scheduled", "Jobs that wait for their time.",
     [](const EngineStats& s) { return s.jobs_scheduled; }},
    {"allotter_jobs_active", "Jobs that may be handed out.", [](const EngineStats& s) { return s.jobs_active; }},
    {"allotter_jobs_paused", "Jobs paused.", [](const EngineStats& s) { return s.jobs_paused; }},
    {"allotter_jobs_finished", "Ended jobs that are still kept.",
     [](const EngineStats& s) { return s.jobs_done + s.jobs_failed + s.jobs_cancelled; }},
    {"allotter_tasks_queued", "Tasks that could be handed out.", [](const EngineStats& s) { return s.tasks_queued; }},
    {"allotter_tasks_promised", "Queued tasks in the queues of workers.",
     [](const EngineStats& s) { return s.tasks_promised; }},
    {"allotter_longest_worker_queue", "Tasks in the longest queue of a worker.",
     [](const EngineStats& s) { return s.longest_queue; }},
    {"allotter_tasks_retrying", "Tasks that wait for their retry.",
     [](const EngineStats& s) { return s.tasks_retrying; }},
    {"allotter_tasks_running", "Tasks in workers' hands.", [](const EngineStats& s) { return s.tasks_running; }},
    {"allotter_workers", "Workers registered.", [](const EngineStats& s) { return s.workers; }},
    {"allotter_workers_waiting", "Workers that wait for a task.",
     [](const EngineStats& s) { return s.workers_waiting; }},
    {"allotter_workers_draining", "Workers that take nothing new.",
     [](const EngineStats& s) { return s.workers_draining; }},
    {"allotter_workers_away", "Workers that lost their connection and may come back.",
     [](const EngineStats& s) { return s.workers_away; }},
    {"allotter_slots", "Slots of all registered workers.", [](const EngineStats& s) { return s.slots; }},
    {"allotter_classes", "Different sets of tags among jobs.", [](const EngineStats& s) { return s.classes; }},
    {"allotter_strategies", "Different strategies that workers use.",
     [](const EngineStats& s) { return s.strategies; }},
    {"allotter_queue_memory_budget_bytes", "Memory that the queue may use, in all; 0: no bound.",
     [](const EngineStats& s) { return s.memory.budget; }},
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
const Histogram::BucketBoundaries& PickBuckets() {
  static const Histogram::BucketBoundaries buckets = {0.000001, 0.000003, 0.00001, 0.00003, 0.0001, 0.0003,
                                                      0.001,    0.003,    0.01,    0.03,    0.1,    1};
  return buckets;
}
// Of waiting and running: as the engine counts them, from a millisecond to a day and a half. What takes longer is in
// the last one, `+Inf`.
constexpr std::size_t kTaskBuckets = 28;
static_assert(kTaskBuckets < TimeHistogram::kBuckets);
const Histogram::BucketBoundaries& TaskBuckets() {
  static const Histogram::BucketBoundaries buckets = [] {
    Histogram::BucketBoundaries all;
    for (std::size_t i = 0; i < kTaskBuckets; ++i) all.push_back(Seconds(std::uint64_t{1} << i));
    return all;
  }();
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

// What the engine has counted since it began, told as it grows.
struct Reported {
  Histogram* histogram = nullptr;
  TimeHistogram reported{};

  void Update(const TimeHistogram& now) {
    std::vector<double> grown(kTaskBuckets + 1);
    bool any = false;
    for (std::size_t i = 0; i < TimeHistogram::kBuckets; ++i) {
      if (now.counts[i] <= reported.counts[i]) continue;
      grown[std::min(i, kTaskBuckets)] += static_cast<double>(now.counts[i] - reported.counts[i]);
      any = true;
    }
    if (!any) return;
    histogram->ObserveMultiple(grown, Seconds(now.sum_ms - reported.sum_ms));
    reported = now;
  }
};

}  // namespace

// As the store says it.
constexpr std::array<std::string_view, 2> kWritingWords = {"direct", "synced"};

struct QueueMetrics::Impl {
  std::array<Counter*, std::size(kEngineCounters)> counters{};
  std::array<std::uint64_t, std::size(kEngineCounters)> reported{};
  std::array<Gauge*, std::size(kGauges)> gauges{};
  std::array<Gauge*, kDispatchWords.size()> dispatch{};
  std::array<Gauge*, kMemoryParts> memory{};
  Family<Gauge>* waiting_family = nullptr;
  std::map<ReasonCode, Gauge*> waiting;  // those that there have been
  std::string name;
  Gauge* oldest = nullptr;
  Gauge* store_bytes = nullptr;
  Gauge* journal_rows = nullptr;
  Gauge* garbage_jobs = nullptr;
  Gauge* unapplied_bytes = nullptr;
  Gauge* journal_segments = nullptr;
  std::array<Gauge*, kWritingWords.size()> journal_writing{};
  Gauge* disk_full = nullptr;
  Gauge* unavailable = nullptr;
  Gauge* epoch = nullptr;
  Gauge* read_time = nullptr;
  std::array<Counter*, std::size(kStoreCounters)> store_counters{};
  std::array<std::uint64_t, std::size(kStoreCounters)> reported_store{};
  Reported wait;
  Reported run;
  Histogram* commit_seconds = nullptr;
  Histogram* commit_batches = nullptr;
  Histogram* commit_events = nullptr;
  Counter* commits_inline = nullptr;
  Counter* rounds_inline = nullptr;
  Histogram* decide_seconds = nullptr;
  Histogram* pick_seconds = nullptr;
  std::array<Histogram*, kStepWords.size()> step_seconds{};
  std::array<Gauge*, kStepWords.size()> longest_step{};
  std::array<std::int64_t, kStepWords.size()> longest{};  // nanoseconds, since the last scrape
};

QueueMetrics::QueueMetrics(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QueueMetrics::~QueueMetrics() = default;

void QueueMetrics::Update(const EngineStats& stats, const std::vector<ReasonRow>& waiting, WallTime now) {
  for (std::size_t i = 0; i < std::size(kEngineCounters); ++i) {
    const std::uint64_t value = stats.*kEngineCounters[i].value;
    if (value <= impl_->reported[i]) continue;
    impl_->counters[i]->Increment(static_cast<double>(value - impl_->reported[i]));
    impl_->reported[i] = value;
  }
  for (std::size_t i = 0; i < std::size(kGauges); ++i)
    impl_->gauges[i]->Set(static_cast<double>(kGauges[i].value(stats)));
  for (std::size_t i = 0; i < kDispatchWords.size(); ++i)
    impl_->dispatch[i]->Set(stats.dispatch == static_cast<DispatchMode>(i) ? 1 : 0);
  for (std::size_t i = 0; i < kMemoryParts; ++i) impl_->memory[i]->Set(static_cast<double>(stats.memory.bytes[i]));
  for (std::size_t i = 0; i < kStepWords.size(); ++i)
    impl_->longest_step[i]->Set(static_cast<double>(std::exchange(impl_->longest[i], 0)) * 1e-9);
  impl_->wait.Update(stats.waited);
  impl_->run.Update(stats.ran);
  const bool waits = stats.oldest_waiting != JobId();
  impl_->oldest->Set(waits ? Seconds(std::max<Duration>(now - stats.oldest_waiting_since, Duration(0))) : 0);
  std::map<ReasonCode, std::uint64_t> tasks;
  for (const ReasonRow& row : waiting) tasks[row.code] += row.tasks;
  for (const auto& [code, count] : tasks) {
    Gauge*& gauge = impl_->waiting[code];
    if (gauge == nullptr)
      gauge = &impl_->waiting_family->Add({{"queue", impl_->name}, {"reason", std::string(ReasonText(code))}});
  }
  for (const auto& [code, gauge] : impl_->waiting) gauge->Set(static_cast<double>(tasks[code]));
}

void QueueMetrics::Update(const Store::Usage& usage, bool disk_full, bool unavailable) {
  impl_->store_bytes->Set(static_cast<double>(usage.file_bytes));
  impl_->journal_rows->Set(static_cast<double>(usage.journal_rows));
  impl_->garbage_jobs->Set(static_cast<double>(usage.garbage_jobs));
  impl_->unapplied_bytes->Set(static_cast<double>(usage.unapplied_bytes));
  impl_->journal_segments->Set(static_cast<double>(usage.journal_segments));
  for (std::size_t i = 0; i < kWritingWords.size(); ++i)
    impl_->journal_writing[i]->Set(kWritingWords[i] == usage.journal_writing ? 1 : 0);
  impl_->disk_full->Set(disk_full ? 1 : 0);
  impl_->unavailable->Set(unavailable ? 1 : 0);
  impl_->epoch->Set(static_cast<double>(usage.epoch));
  impl_->read_time->Set(static_cast<double>(usage.read_time.count()) * 1e-9);
  for (std::size_t i = 0; i < std::size(kStoreCounters); ++i) {
    const std::uint64_t value = kStoreCounters[i].value(usage);
    if (value <= impl_->reported_store[i]) continue;
    impl_->store_counters[i]->Increment(static_cast<double>(value - impl_->reported_store[i]));
    impl_->reported_store[i] = value;
  }
}

void QueueMetrics::BeginAnew() {
  impl_->reported = {};
  impl_->reported_store = {};
  impl_->wait.reported = {};
  impl_->run.reported = {};
}

void QueueMetrics::Committed(Duration took, std::size_t batches, std::size_t events, bool here) {
  if (here) impl_->commits_inline->Increment();
  impl_->commit_seconds->Observe(Seconds(took));
  impl_->commit_batches->Observe(static_cast<double>(batches));
  impl_->commit_events->Observe(static_cast<double>(events));
}

void QueueMetrics::Decided(Duration took, std::size_t starts, bool engine_thread) {
  if (!engine_thread) impl_->rounds_inline->Increment();
  impl_->decide_seconds->Observe(Seconds(took));
  if (starts == 0) return;
  const double each = Seconds(took) / static_cast<double>(starts);
  const auto& bounds = PickBuckets();
  std::vector<double> grown(bounds.size() + 1);
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), each) - bounds.begin();
  grown[static_cast<std::size_t>(bucket)] = static_cast<double>(starts);
  impl_->pick_seconds->ObserveMultiple(grown, Seconds(took));
}

void QueueMetrics::Stepped(const StepMeter::Totals& steps) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepTotals& totals = steps[i];
    if (totals.sum == 0 && totals.longest == 0) continue;
    const std::vector<double> grown(totals.counts.begin(), totals.counts.end());
    impl_->step_seconds[i]->ObserveMultiple(grown, static_cast<double>(totals.sum) * 1e-9);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) impl_->longest[i] = std::max(impl_->longest[i], steps[i].longest);
}

struct Metrics::Impl {
  prometheus::Registry registry;
  const std::string data;
  std::array<Family<Counter>*, std::size(kEngineCounters)> counters{};
  std::array<Family<Gauge>*, std::size(kGauges)> gauges{};
  Family<Gauge>& dispatch;
  Family<Gauge>& memory;
  Family<Gauge>& waiting;
  Family<Gauge>& oldest;
  Family<Gauge>& store_bytes;
  Family<Gauge>& journal_rows;
  Family<Gauge>& garbage_jobs;
  Family<Gauge>& unapplied_bytes;
  Family<Gauge>& journal_segments;
  Family<Gauge>& journal_writing;
  Family<Gauge>& disk_full;
  Family<Gauge>& unavailable;
  Family<Gauge>& epoch;
  Family<Gauge>& read_time;
  std::array<Family<Counter>*, std::size(kStoreCounters)> store_counters{};
  Family<Histogram>& wait_seconds;
  Family<Histogram>& run_seconds;
  Family<Histogram>& commit_seconds;
  Family<Histogram>& commit_batches;
  Family<Histogram>& commit_events;
  Family<Counter>& commits_inline;
  Family<Counter>& rounds_inline;
  Family<Histogram>& decide_seconds;
  Family<Histogram>& pick_seconds;
  Family<Histogram>& step_seconds;
  Family<Gauge>& longest_step;

  Gauge& connections;
  Counter& connections_total;
  Counter& connection_errors;
  Counter& requests;
  Counter& client_errors;
  Counter& server_errors;
  Counter& messages;
  Counter& bytes_in;
  Counter& bytes_out;
  Counter& spans_exported;
  Counter& spans_dropped;
  Gauge* free_bytes = nullptr;  // null: of no file system
  Gauge& resident;
  Gauge& open_files;
  Gauge& max_files;
  Gauge& started;
  Counter& cpu;
  double cpu_reported = 0;  // guarded by mutex
  Gauge& queues_gauge;

  std::mutex mutex;
  std::map<std::string, std::unique_ptr<QueueMetrics>> queues;  // guarded by mutex
  std::unique_ptr<ClusterSeries> cluster;                       // of a node alone; guarded by mutex

  Family<Gauge>& GaugeFamily(const char* name, const char* help) {
    return Register(prometheus::BuildGauge(), registry, name, help);
  }
  Family<Histogram>& HistogramFamily(const char* name, const char* help) {
    return Register(prometheus::BuildHistogram(), registry, name, help);
  }
  Family<Counter>& CounterFamily(const char* name, const char* help) {
    return Register(prometheus::BuildCounter(), registry, name, help);
  }
  Counter& OneCounter(const char* name, const char* help) { return CounterFamily(name, help).Add({}); }
  Gauge& OneGauge(const char* name, const char* help) { return GaugeFamily(name, help).Add({}); }

  explicit Impl(const std::string& data_dir)
      : data(data_dir),
        dispatch(GaugeFamily("allotter_dispatch", "1 for the mode that is in force, 0 for the other.")),
        memory(GaugeFamily("allotter_queue_memory_bytes", "Memory of the queue, by what uses it.")),
        waiting(GaugeFamily("allotter_tasks_by_wait_reason", "Tasks that do not run yet, by the code of why.")),
        oldest(GaugeFamily("allotter_oldest_waiting_seconds",
                           "For how long the waiting job that was submitted first could have run; 0: none waits.")),
        store_bytes(GaugeFamily("allotter_store_bytes", "Bytes of the queue's files.")),
        journal_rows(GaugeFamily("allotter_store_journal_rows", "Rows of the journal.")),
        garbage_jobs(GaugeFamily("allotter_store_garbage_jobs", "Removed jobs whose rows are still in the files.")),
        unapplied_bytes(GaugeFamily("allotter_store_journal_bytes",
                                    "Bytes of commits that are in the journal and not yet in the queue's file.")),
        journal_segments(GaugeFamily("allotter_store_journal_segments", "Files of the journal.")),
        journal_writing(
            GaugeFamily("allotter_store_journal_writing", "1 for the way in which the journal is written.")),
        disk_full(GaugeFamily("allotter_disk_full", "1 while there is no space for the queue's files.")),
        unavailable(GaugeFamily("allotter_store_unavailable", "1 while the database does not answer.")),
        epoch(GaugeFamily("allotter_store_epoch",
                          "How often the queue has changed its owner, or its owner's connection; 0: no database.")),
        read_time(GaugeFamily("allotter_store_read_seconds", "How long the database took to be read, smoothed.")),
        wait_seconds(HistogramFamily("allotter_wait_seconds", "Of starts: how long since their job could run.")),
        run_seconds(HistogramFamily("allotter_run_seconds", "Of attempts: how long, however they ended.")),
        commit_seconds(HistogramFamily("allotter_commit_seconds", "How long a group commit took.")),
        commit_batches(HistogramFamily("allotter_commit_batches", "Batches of a group commit.")),
        commit_events(HistogramFamily("allotter_commit_events", "Events of a group commit.")),
        commits_inline(
            CounterFamily("allotter_inline_commits_total", "Commits made by the thread that ran the round.")),
        rounds_inline(CounterFamily("allotter_inline_rounds_total", "Rounds run by network threads.")),
        decide_seconds(HistogramFamily("allotter_decide_seconds", "How long the engine took for a round of commands.")),
        pick_seconds(HistogramFamily("allotter_pick_seconds",
                                     "Of starts: their part of the round of commands that decided them.")),
        step_seconds(
            HistogramFamily("allotter_engine_step_seconds", "CPU time of the engine thread for a step, by its kind.")),
        longest_step(GaugeFamily("allotter_engine_longest_step_seconds",
                                 "The longest step of the engine thread since the last scrape, by its kind.")),
        connections(OneGauge("allotter_connections", "Connections open.")),
        connections_total(OneCounter("allotter_connections_total", "Connections accepted.")),
        connection_errors(OneCounter("allotter_connection_errors_total",
                                     "Connections and requests that an exception in the server ended.")),
        requests(OneCounter("allotter_http_requests_total", "HTTP requests answered.")),
        client_errors(OneCounter("allotter_http_client_errors_total", "HTTP requests answered with a status of 4xx.")),
        server_errors(OneCounter("allotter_http_server_errors_total", "HTTP requests answered with a status of 5xx.")),
        messages(OneCounter("allotter_websocket_messages_total", "WebSocket messages received.")),
        bytes_in(OneCounter("allotter_received_bytes_total", "Bytes received.")),
        bytes_out(OneCounter("allotter_sent_bytes_total", "Bytes sent.")),
        spans_exported(OneCounter("allotter_spans_exported_total", "Spans that the collector has taken.")),
        spans_dropped(OneCounter("allotter_spans_dropped_total",
                                 "Spans that were lost: too many waited, or the collector did not take them.")),
        resident(OneGauge("process_resident_memory_bytes", "Resident memory.")),
        open_files(OneGauge("process_open_fds", "Open file descriptors.")),
        max_files(OneGauge("process_max_fds", "Open file descriptors that the system allows.")),
        started(OneGauge("process_start_time_seconds", "When the server started, in seconds since 1970.")),
        cpu(OneCounter("process_cpu_seconds_total",
                       "Time of processors used, by the program and by the kernel for it.")),
        queues_gauge(OneGauge("allotter_queues", "Queues.")) {
    for (std::size_t i = 0; i < std::size(kEngineCounters); ++i) {
      counters[i] = &Register(prometheus::BuildCounter(), registry, kEngineCounters[i].name, kEngineCounters[i].help);
    }
    for (std::size_t i = 0; i < std::size(kStoreCounters); ++i) {
      store_counters[i] =
          &Register(prometheus::BuildCounter(), registry, kStoreCounters[i].name, kStoreCounters[i].help);
    }
    for (std::size_t i = 0; i < std::size(kGauges); ++i) gauges[i] = &GaugeFamily(kGauges[i].name, kGauges[i].help);
    if (!data.empty())
      free_bytes = &OneGauge("allotter_data_free_bytes", "Bytes that the data directory's file system has left.");
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    started.Set(std::chrono::duration<double>(now).count());
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
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) max_files.Set(static_cast<double>(limit.rlim_cur));
    rusage usage{};
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
      const double used = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
      std::lock_guard lock(mutex);
      if (used > cpu_reported) cpu.Increment(used - cpu_reported);
      cpu_reported = std::max(cpu_reported, used);
    }
    struct statvfs space {};
    if (free_bytes != nullptr && statvfs(data.c_str(), &space) == 0)
      free_bytes->Set(static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize));
  }
};

// What only a node of a cluster has.
struct Metrics::ClusterSeries {
  explicit ClusterSeries(Impl& impl)
      : taken(impl.OneCounter("allotter_cluster_taken_total", "Queues that this node took.")),
        handed_over(impl.OneCounter("allotter_cluster_handed_over_total", "Queues that this node handed over.")),
        deaths(impl.OneCounter("allotter_cluster_deaths_total", "How often others declared this node dead.")),
        missed(impl.OneCounter("allotter_cluster_missed_beats_total", "Beats that the database did not take in time.")),
        forwarded(impl.OneCounter("allotter_cluster_forwarded_total", "Requests that went on to another node.")),
        gave_up(impl.OneCounter("allotter_cluster_unserved_total",
                                "Requests that waited in vain for a node to have their queue.")),
        parked(impl.OneGauge("allotter_cluster_parked_requests", "Requests that wait for a node to have their queue.")),
        nodes(impl.OneGauge("allotter_cluster_nodes", "Nodes that are alive, as this one sees it.")),
        owned(impl.OneGauge("allotter_cluster_owned_queues", "Queues that this node has.")),
        beat_age(impl.OneGauge("allotter_cluster_beat_age_seconds",
                               "How long ago the last beat was sent that the database took.")),
        round_time(impl.OneGauge("allotter_cluster_round_seconds", "How long the database took for the last beat.")) {}

  void Update(const Cluster& now) {
    const auto grow = [](Counter& counter, std::uint64_t value, std::uint64_t& before) {
      if (value > before) counter.Increment(static_cast<double>(value - before));
      before = value;
    };
    grow(taken, now.taken, last.taken);
    grow(handed_over, now.handed_over, last.handed_over);
    grow(deaths, now.deaths, last.deaths);
    grow(missed, now.missed, last.missed);
    grow(forwarded, now.forwarded, last.forwarded);
    grow(gave_up, now.gave_up, last.gave_up);
    parked.Set(static_cast<double>(now.parked));
    nodes.Set(static_cast<double>(now.nodes));
    owned.Set(static_cast<double>(now.owned));
    beat_age.Set(Seconds(now.beat_age));
    round_time.Set(Seconds(now.round_time));
  }

  Cluster last;
  Counter &taken, &handed_over, &deaths, &missed, &forwarded, &gave_up;
  Gauge &parked, &nodes, &owned, &beat_age, &round_time;
};

Metrics::Metrics(const std::string& version, const std::string& data) : impl_(std::make_unique<Impl>(data)) {
  impl_->GaugeFamily("allotter_build_info", "1, with the version as a label.").Add({{"version", version}}).Set(1);
}
Metrics::~Metrics() = default;

void Metrics::Update(const Cluster& cluster) {
  std::lock_guard lock(impl_->mutex);
  if (impl_->cluster == nullptr) impl_->cluster = std::make_unique<ClusterSeries>(*impl_);
  impl_->cluster->Update(cluster);
}

QueueMetrics& Metrics::ForQueue(const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  auto& slot = impl_->queues[name];
  if (slot) return *slot;
  const prometheus::Labels labels{{"queue", name}};
  auto queue = std::make_unique<QueueMetrics::Impl>();
  for (std::size_t i = 0; i < std::size(kEngineCounters); ++i) queue->counters[i] = &impl_->counters[i]->Add(labels);
  for (std::size_t i = 0; i < std::size(kGauges); ++i) queue->gauges[i] = &impl_->gauges[i]->Add(labels);
  for (std::size_t i = 0; i < kDispatchWords.size(); ++i)
    queue->dispatch[i] = &impl_->dispatch.Add({{"queue", name}, {"mode", std::string(kDispatchWords[i])}});
  for (std::size_t i = 0; i < kMemoryParts; ++i)
    queue->memory[i] = &impl_->memory.Add({{"queue", name}, {"part", std::string(kMemoryWords[i])}});
  queue->waiting_family = &impl_->waiting;
  queue->name = name;
  queue->oldest = &impl_->oldest.Add(labels);
  queue->store_bytes = &impl_->store_bytes.Add(labels);
  queue->journal_rows = &impl_->journal_rows.Add(labels);
  queue->garbage_jobs = &impl_->garbage_jobs.Add(labels);
  queue->unapplied_bytes = &impl_->unapplied_bytes.Add(labels);
  queue->journal_segments = &impl_->journal_segments.Add(labels);
  for (std::size_t i = 0; i < kWritingWords.size(); ++i)
    queue->journal_writing[i] = &impl_->journal_writing.Add({{"queue", name}, {"mode", std::string(kWritingWords[i])}});
  queue->disk_full = &impl_->disk_full.Add(labels);
  queue->unavailable = &impl_->unavailable.Add(labels);
  queue->epoch = &impl_->epoch.Add(labels);
  queue->read_time = &impl_->read_time.Add(labels);
  for (std::size_t i = 0; i < std::size(kStoreCounters); ++i)
    queue->store_counters[i] = &impl_->store_counters[i]->Add(labels);
  queue->wait.histogram = &impl_->wait_seconds.Add(labels, TaskBuckets());
  queue->run.histogram = &impl_->run_seconds.Add(labels, TaskBuckets());
  queue->commit_seconds = &impl_->commit_seconds.Add(labels, TimeBuckets());
  queue->commit_batches = &impl_->commit_batches.Add(labels, SizeBuckets());
  queue->commit_events = &impl_->commit_events.Add(labels, SizeBuckets());
  queue->commits_inline = &impl_->commits_inline.Add(labels);
  queue->rounds_inline = &impl_->rounds_inline.Add(labels);
  queue->decide_seconds = &impl_->decide_seconds.Add(labels, TimeBuckets());
  queue->pick_seconds = &impl_->pick_seconds.Add(labels, PickBuckets());
  for (std::size_t i = 0; i < kStepWords.size(); ++i) {
    const prometheus::Labels of_kind{{"queue", name}, {"kind", std::string(kStepWords[i])}};
    queue->step_seconds[i] =
        &impl_->step_seconds.Add(of_kind, Histogram::BucketBoundaries(kStepBounds.begin(), kStepBounds.end()));
    queue->longest_step[i] = &impl_->longest_step.Add(of_kind);
  }
  slot.reset(new QueueMetrics(std::move(queue)));
  impl_->queues_gauge.Set(static_cast<double>(impl_->queues.size()));
  return *slot;
}

void Metrics::RemoveQueue(const std::string& name) {
  std::lock_guard lock(impl_->mutex);
  const auto found = impl_->queues.find(name);
  if (found == impl_->queues.end()) return;
  QueueMetrics::Impl& queue = *found->second->impl_;
  for (std::size_t i = 0; i < std::size(kEngineCounters); ++i) impl_->counters[i]->Remove(queue.counters[i]);
  for (std::size_t i = 0; i < std::size(kGauges); ++i) impl_->gauges[i]->Remove(queue.gauges[i]);
  for (Gauge* const mode : queue.dispatch) impl_->dispatch.Remove(mode);
  for (Gauge* const part : queue.memory) impl_->memory.Remove(part);
  for (const auto& [code, gauge] : queue.waiting) impl_->waiting.Remove(gauge);
  impl_->oldest.Remove(queue.oldest);
  impl_->store_bytes.Remove(queue.store_bytes);
  impl_->journal_rows.Remove(queue.journal_rows);
  impl_->garbage_jobs.Remove(queue.garbage_jobs);
  impl_->unapplied_bytes.Remove(queue.unapplied_bytes);
  impl_->journal_segments.Remove(queue.journal_segments);
  for (Gauge* const mode : queue.journal_writing) impl_->journal_writing.Remove(mode);
  impl_->disk_full.Remove(queue.disk_full);
  impl_->unavailable.Remove(queue.unavailable);
  impl_->epoch.Remove(queue.epoch);
  impl_->read_time.Remove(queue.read_time);
  for (std::size_t i = 0; i < std::size(kStoreCounters); ++i) impl_->store_counters[i]->Remove(queue.store_counters[i]);
  impl_->wait_seconds.Remove(queue.wait.histogram);
  impl_->run_seconds.Remove(queue.run.histogram);
  impl_->commit_seconds.Remove(queue.commit_seconds);
  impl_->commit_batches.Remove(queue.commit_batches);
  impl_->commit_events.Remove(queue.commit_events);
  impl_->commits_inline.Remove(queue.commits_inline);
  impl_->rounds_inline.Remove(queue.rounds_inline);
  impl_->decide_seconds.Remove(queue.decide_seconds);
  impl_->pick_seconds.Remove(queue.pick_seconds);
  for (Histogram* const steps : queue.step_seconds) impl_->step_seconds.Remove(steps);
  for (Gauge* const longest : queue.longest_step) impl_->longest_step.Remove(longest);
  impl_->queues.erase(found);
  impl_->queues_gauge.Set(static_cast<double>(impl_->queues.size()));
}

void Metrics::ConnectionOpened() {
  impl_->connections.Increment();
  impl_->connections_total.Increment();
}
void Metrics::ConnectionClosed() { impl_->connections.Decrement(); }
void Metrics::ConnectionFailed() { impl_->connection_errors.Increment(); }
void Metrics::RequestServed(int http_status) {
  impl_->requests.Increment();
  if (http_status >= 500) {
    impl_->server_errors.Increment();
  } else if (http_status >= 400) {
    impl_->client_errors.Increment();
  }
}
void Metrics::MessageReceived() { impl_->messages.Increment(); }
void Metrics::BytesIn(std::size_t bytes) { impl_->bytes_in.Increment(static_cast<double>(bytes)); }
void Metrics::BytesOut(std::size_t bytes) { impl_->bytes_out.Increment(static_cast<double>(bytes)); }

void Metrics::SpansExported(std::size_t spans) { impl_->spans_exported.Increment(static_cast<double>(spans)); }
void Metrics::SpansDropped(std::size_t spans) { impl_->spans_dropped.Increment(static_cast<double>(spans)); }

std::string Metrics::Render() const {
  impl_->ReadProcess();
  return prometheus::TextSerializer().Serialize(impl_->registry.Collect());
}

}  // namespace allot
