// The objects of the protocol, as values.
//
// What is optional and not set is not sent: the server's default holds. Fields named `json` hold an object as the
// server sent it, with whatever fields a newer server adds. Payloads and results are JSON text everywhere; empty means
// none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace allotter {

using std::chrono::milliseconds;
using MetaValue = std::variant<std::string, std::int64_t, double, bool>;
using Meta = std::vector<std::pair<std::string, MetaValue>>;
// Declared key=value pairs: what a worker is, or what a job demands of it.
using Properties = std::vector<std::pair<std::string, std::string>>;

// Where the server is, and as whom to speak to it.
struct ConnectionOptions {
  std::string server = "http://127.0.0.1:7420";  // http:// or https://
  std::string token = {};                        // empty: none
  std::string queue = "default";
  std::string ca_file = {};      // https: trust these authorities instead of the system's
  milliseconds timeout{30'000};  // to connect, and for each answer beyond what the request itself waits
};

struct Backoff {
  std::optional<milliseconds> first;
  std::optional<double> factor;
  std::optional<milliseconds> max;
  std::optional<double> jitter;
};

struct JobSpec {
  std::vector<std::string> tags = {};
  std::optional<std::uint64_t> count = {};  // not together with `payloads`
  std::string payload = {};                 // for all tasks
  std::vector<std::string> payloads = {};   // one task each
  std::string payload_prefix = {};
  std::optional<std::int64_t> priority = {};
  std::string user = {};
  bool async = true;
  std::optional<milliseconds> delay = {};
  std::optional<std::int64_t> scheduled_at_ms = {};
  Meta meta = {};
  std::vector<Properties> constraints = {};  // alternatives, any of which will do; none: any worker
  std::string requirements = {};             // an expression, true where it may run; empty: anywhere
  std::string rank = {};                     // an expression: of several waiting workers the highest gets it
  std::optional<std::uint32_t> max_attempts = {};
  Backoff backoff = {};
  std::optional<milliseconds> lease = {};
  std::optional<milliseconds> timeout = {};
  std::string max_failed_tasks = {};  // "3" or "5%"
  std::optional<milliseconds> retention = {};
  std::string idempotency_key = {};
  std::string trace = {};
};

// What to change of a job; what is not set stays.
struct JobChange {
  std::optional<std::vector<std::string>> tags = {};
  std::optional<std::optional<std::int64_t>> priority = {};  // set to none: last
  std::optional<milliseconds> delay = {};
  std::optional<std::int64_t> scheduled_at_ms = {};
  std::optional<Meta> meta = {};
  std::optional<std::vector<Properties>> constraints = {};
  std::optional<std::string> requirements = {}, rank = {};  // set to an empty text: none any more
};

struct Job {
  // Why what waits of it does not run.
  struct Held {
    std::string code, kind;
    std::optional<std::int64_t> since_at_ms;
  };
  std::string id;
  std::string state;  // scheduled active paused done failed cancelled
  bool paused = false;
  std::vector<std::string> tags;
  std::optional<std::int64_t> priority;
  std::string user;
  Meta meta;
  std::vector<Properties> constraints;
  std::vector<std::string> constraint_tags;  // one for each of them
  std::string requirements, rank;            // empty: none
  std::uint64_t count = 0, queued = 0, running = 0, retrying = 0, done = 0, failed = 0, skipped = 0;
  std::uint64_t promised = 0;  // of the queued ones, in queues of workers
  std::int64_t submitted_at_ms = 0;
  std::int64_t scheduled_at_ms = 0;
  std::optional<std::int64_t> started_at_ms, ended_at_ms, next_retry_at_ms;
  std::string reason;
  std::optional<Held> held;  // none: nothing waits, or it is not known
  std::string json;

  bool ended() const { return state == "done" || state == "failed" || state == "cancelled"; }
};

struct Submitted {
  Job job;
  bool existing = false;  // found by its idempotency key
  std::uint64_t matching_workers = 0;
  std::string json;
};

// One of a batch.
struct SubmittedId {
  std::string id;
  bool existing = false;
  std::uint64_t matching_workers = 0;
};

struct JobQuery {
  std::string state, tag, user = {};  // empty: any
  std::string before = {};            // of the page before: JobPage::next
  std::size_t limit = 100;
};

struct JobPage {
  std::vector<Job> jobs;
  std::string next;  // empty: that was all
};

struct Task {
  std::uint64_t index = 0;
  std::string state;  // queued running retrying done failed skipped
  std::uint64_t attempts = 0;
  std::string worker;  // empty: none
  std::optional<std::int64_t> started_at_ms;
  std::string error;
  std::string payload, result;  // only where one task is asked for
  std::string json;
};

struct TaskQuery {
  std::string state = {};  // empty: any
  std::uint64_t from = 0;
  std::size_t limit = 100;
};

struct TaskPage {
  std::vector<Task> tasks;
  std::optional<std::uint64_t> next;
};

struct TaskResult {
  std::uint64_t index = 0;
  std::string state;  // done failed skipped
  std::string result;
  std::string error;
  std::string json;
};

struct ResultQuery {
  std::uint64_t from = 0;
  std::size_t limit = 1000;
  milliseconds wait{0};  // for the task `from` to end
};

struct ResultPage {
  std::vector<TaskResult> results;
  std::optional<std::uint64_t> next;  // none: all tasks have been told
  std::string job_state;
};

// One task in one worker's hands.
struct TaskRef {
  std::string job;
  std::uint32_t index = 0;
  std::string lease;
};

struct Assignment {
  TaskRef task;
  std::uint32_t attempt = 1;
  std::uint32_t count = 1;  // tasks of the job
  milliseconds lease{0};
  milliseconds timeout{0};  // 0: none
  std::string payload;      // the task's own, or the job's for all tasks
  std::string job_payload;  // where a job has both
  std::string payload_prefix;
  std::string trace;
};

struct CancelOrder {
  TaskRef task;
  std::string reason;  // cancelled job_failed timeout expired; lost: another worker has it, do not report
};

// How an attempt ended.
struct Outcome {
  enum class Kind {
    kDone,
    kFailed,    // again after its backoff, if attempts are left
    kRejected,  // failed for good: no further attempt
    kReleased,  // not started: queued again, counting no attempt
  };
  Kind kind = Kind::kDone;
  std::string text;  // kDone: the result, JSON text; kFailed, kRejected: the error, plain text

  static Outcome Done(std::string result_json = {}) { return {Kind::kDone, std::move(result_json)}; }
  static Outcome Failed(std::string error) { return {Kind::kFailed, std::move(error)}; }
  static Outcome Rejected(std::string error) { return {Kind::kRejected, std::move(error)}; }
  static Outcome Released() { return {Kind::kReleased, {}}; }
};

struct Report {
  TaskRef task;
  Outcome outcome;
};

// Tasks of one job in a worker's queue.
struct PromisedShare {
  std::string job;
  std::uint64_t tasks = 0;
  std::optional<std::int64_t> priority;
  std::string user;
  std::vector<std::string> tags;
};

struct WorkerInfo {
  std::string id;
  std::string name;
  std::vector<std::string> tags;
  Properties properties;
  std::vector<std::string> constraint_tags;  // that it generates; only where one worker is asked for
  Meta attributes;
  std::string requirements, rank;  // empty: none
  std::string strategy;
  std::uint64_t slots = 0, running = 0, credit = 0;
  bool draining = false, connected = false, away = false;
  std::string address, user;
  std::int64_t registered_at_ms = 0, last_seen_at_ms = 0;
  std::vector<std::pair<std::string, std::uint64_t>> tasks;  // job, index; only where one worker is asked for
  // What it was promised, in tasks and in jobs; none where the queue's dispatch is not balanced.
  std::optional<std::uint64_t> promised, promised_jobs;
  std::vector<PromisedShare>
      queue;  // the first of them, in order, as far as one sees jobs; where one worker is asked for
  std::string json;
};

// What to change of a worker; what is not set stays.
struct WorkerChange {
  std::optional<std::vector<std::string>> tags = {};
  std::optional<Properties> properties = {};
  std::optional<Meta> attributes = {};
  std::optional<std::string> requirements = {}, rank = {};  // set to an empty text: none any more
  std::optional<std::string> strategy = {};                 // set to an empty text: the default

  bool empty() const { return !tags && !properties && !attributes && !requirements && !rank && !strategy; }
};

struct WorkerPage {
  std::vector<WorkerInfo> workers;
  std::string next;  // empty: that was all
};

struct QueueSettings {
  std::optional<std::uint64_t> max_finished_jobs = {};
  std::optional<milliseconds> worker_grace = {};
  std::optional<std::uint64_t> max_result_bytes = {};
  std::optional<std::vector<std::string>> property_keys = {};
  std::optional<std::uint64_t> max_property_keys = {};
  std::optional<std::string> policy = {};                           // a strategy with the word `worker` in it
  std::vector<std::pair<std::string, std::uint64_t>> weights = {};  // to change: {"user.acme", 3}; 0: none any more
  bool no_weights = false;                                          // takes all away; not together with `weights`
  std::optional<milliseconds> max_limit_expiration = {};
  std::optional<milliseconds> limit_ban_window = {};
  std::optional<milliseconds> demand_lookahead = {};
  std::optional<std::string> dispatch = {};  // fanout balanced; set to an empty text: fanout
  std::optional<std::string> balance = {};   // least_queue round_robin random; set to an empty text: least_queue
  std::optional<std::uint64_t> memory_budget_bytes = {};  // 0: as much as the server has for all queues
};

struct Queue {
  std::string name;
  bool paused = false;
  std::int64_t created_at_ms = 0;
  std::uint64_t jobs_scheduled = 0, jobs_active = 0, jobs_paused = 0, jobs_done = 0, jobs_failed = 0,
                jobs_cancelled = 0;
  std::uint64_t tasks_queued = 0, tasks_retrying = 0, tasks_running = 0;
  std::uint64_t workers = 0, workers_waiting = 0;
  QueueSettings settings;
  std::uint64_t file_bytes = 0, journal_rows = 0;
  std::uint64_t memory_bytes = 0, memory_budget_bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> memory_parts = {};  // what uses it
  std::string json;
};

// A strategy that has a name in the server's configuration.
struct NamedStrategy {
  std::string name, strategy;
  std::string words;  // what it does, several lines
};

struct ServerInfo {
  // Who asks.
  struct You {
    bool tokens = false;            // none are configured: everyone may do everything
    std::string name, user, queue;  // empty: not fixed to one
    std::vector<std::string> scopes;
  };
  std::string name, version;
  You you;
  std::uint64_t protocol = 0, queues = 0;
  std::int64_t started_at_ms = 0, now_at_ms = 0;
  std::string json;
};

// A worker's introduction, for plain HTTP.
struct Hello {
  std::string name = {};
  std::vector<std::string> tags = {};
  Properties properties = {};
  Meta attributes = {};
  std::string requirements = {}, rank = {};  // empty: none
  std::string strategy = {};                 // empty: the default
  std::uint32_t slots = 1;
  std::string worker, key = {};      // of the same process before; empty: a new one
  std::vector<TaskRef> resume = {};  // what it still holds
};

struct Welcome {
  std::string worker, key;
  milliseconds heartbeat{0};
  std::vector<TaskRef> resumed, lost;
};

struct PullRequest {
  std::vector<Report> reports = {};
  std::vector<TaskRef> extend = {};
  WorkerChange set = {};  // of itself
  std::uint32_t pull = 0;
  std::string strategy = {};  // of this pull; empty: the worker's own
  milliseconds wait{0};
};

struct PullAnswer {
  std::vector<TaskRef> stale;
  std::vector<Assignment> tasks;
  std::vector<CancelOrder> cancel;
  bool drain = false;
  WorkerChange set;  // what others changed of it: to be said when it registers again
};

}  // namespace allotter
