// Client: everything of the protocol but the worker's WebSocket, as blocking calls over one kept-alive connection.
//
//   auto client = allotter::Client::Open({.server = "http://127.0.0.1:7420"});
//   allotter::JobSpec spec;
//   spec.tags = {"square"};
//   spec.payloads = {"1", "2", "3"};
//   auto submitted = client->Submit(spec);
//   if (!submitted) return Fail(submitted.error());
//   client->EachResult(submitted->job.id, [](const allotter::TaskResult& r) { puts(r.result.c_str()); return true; });
//
// Connects when first needed, and again after the connection was lost. A read that finds its kept connection closed is
// repeated once; a change never is, since it may have been worked off: give an idempotency key to submit again safely.
// Threading: one call at a time. Use one Client per thread; they are cheap.
// Signals:   with https:// the program should ignore SIGPIPE.
// Jobs are named by their id, or `last`.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allotter/explanation.h"
#include "allotter/limits.h"
#include "allotter/overview.h"
#include "allotter/preview.h"
#include "allotter/result.h"
#include "allotter/types.h"

namespace allotter {

class Client {
 public:
  // Checks the options; connects to nothing yet. kBadValue for a URL, token or queue name that cannot be.
  static Result<Client> Open(ConnectionOptions options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();
  const ConnectionOptions& options() const;

  Result<ServerInfo> Server();
  // The built-in `fair` first, then those of the configuration.
  Result<std::vector<NamedStrategy>> Strategies();

  // --- Queues, by name.
  Result<std::vector<Queue>> Queues();
  Result<Queue> CreateQueue(std::string_view name, const QueueSettings& settings);
  Result<Queue> GetQueue(std::string_view name);
  Result<Queue> ChangeQueue(std::string_view name, const QueueSettings& settings);
  Result<Queue> PauseQueue(std::string_view name);
  Result<Queue> ResumeQueue(std::string_view name);
  Result<void> DeleteQueue(std::string_view name, bool force);
  // Gives a complete copy of the queue's file to `sink`, piece by piece; false from it ends the transfer with
  // kUnavailable.
  Result<void> Backup(std::string_view name, const std::function<bool(std::string_view)>& sink);

  // --- How this client's queue stands, and its users. LiveView (live.h) has the same as it changes.
  Result<Overview> GetOverview();
  // Of the last 10 minutes, a step being a second; or of the last 24 hours.
  Result<History> GetHistory(bool by_minute = false);
  Result<UserPage> Users(const UserQuery& query = {});

  // --- Jobs, of this client's queue.
  Result<Submitted> Submit(const JobSpec& spec);
  // All, or none.
  Result<std::vector<SubmittedId>> SubmitBatch(std::span<const JobSpec> specs);
  // One task per payload that `next` puts into its argument, until it returns false; in constant memory. An error of
  // `next`'s own, or of the connection, leaves no job. REQUIRES: no count and no payloads in `spec`.
  using NextPayload = std::function<Result<bool>(std::string& payload)>;
  Result<Submitted> SubmitStream(const JobSpec& spec, const NextPayload& next);
  // As Submit, with the spec given as JSON text.
  Result<Submitted> SubmitJson(std::string_view spec_json);

  Result<JobPage> Jobs(const JobQuery& query);
  // With `wait`: once it has ended, or as it is after that time.
  Result<Job> GetJob(std::string_view job, milliseconds wait = {});
  Result<Job> ChangeJob(std::string_view job, const JobChange& change);
  Result<Job> CancelJob(std::string_view job);
  Result<Job> PauseJob(std::string_view job);
  Result<Job> ResumeJob(std::string_view job);
  struct Retried {
    Job job;
    std::uint64_t retried = 0;
    std::string json;
  };
  Result<Retried> RetryJob(std::string_view job);
  // To all that `which` finds. Ask with `dry_run` first, and give back its `up_to`: then no other jobs are touched.
  Result<ManyJobsAnswer> ChangeJobs(JobAction action, const ManyJobs& which);
  Result<Picture> GetPicture(std::string_view job, const PictureQuery& query = {});
  // Why it, or one task of it, does not run; why not on that worker; and the same of a job that is not submitted.
  Result<Explanation> ExplainJob(std::string_view job, std::optional<std::uint32_t> task = std::nullopt);
  Result<PairExplanation> ExplainPair(std::string_view job, std::string_view worker);
  Result<Explanation> ExplainSpec(const JobSpec& spec);
  // Which tasks a worker would get now, without taking them.
  Result<StrategyPreview> TryStrategy(const StrategyTry& what);
  // What a registered worker would get next, and why not the others.
  Result<WorkerOutlook> NextFor(std::string_view worker, std::uint32_t count = 10);
  // Calls `on_change` with the job now and after changes, until it has ended or `on_change` returns false. Returns the
  // last state told.
  Result<Job> Watch(std::string_view job, const std::function<bool(const Job&)>& on_change);

  // --- Tasks and results.
  Result<TaskPage> Tasks(std::string_view job, const TaskQuery& query);
  Result<Task> GetTask(std::string_view job, std::uint64_t index);
  // How its last start was decided. kUnknownReceipt where that is not remembered.
  Result<Receipt> GetReceipt(std::string_view job, std::uint64_t index);
  // Of the queue's last starts, newest first.
  Result<ReceiptPage> Receipts(std::optional<std::uint64_t> before = {}, std::size_t limit = 100);
  Result<ResultPage> Results(std::string_view job, const ResultQuery& query);
  // Every result in order of index, as the tasks end, until all are told or `on_result` returns false. Returns how many
  // were told.
  Result<std::uint64_t> EachResult(std::string_view job, const std::function<bool(const TaskResult&)>& on_result,
                                   std::uint64_t from = 0);

  // --- Workers.
  Result<WorkerPage> Workers(std::string_view after = {}, std::size_t limit = 1000);
  Result<WorkerInfo> GetWorker(std::string_view worker);
  Result<WorkerInfo> DrainWorker(std::string_view worker);
  // As an operator. What it holds stays; waiting jobs are matched with it anew.
  Result<WorkerInfo> ChangeWorker(std::string_view worker, const WorkerChange& change);
  // Being a worker over plain HTTP. For more than a trickle of tasks take Worker or AsyncWorker.
  Result<Welcome> RegisterWorker(const Hello& hello);
  Result<PullAnswer> Pull(const Welcome& self, const PullRequest& request);
  Result<WorkerInfo> Change(const Welcome& self, const WorkerChange& change);
  Result<void> Leave(const Welcome& self);

  // --- Limits on starts, and what could start.
  Result<LimitLease> CreateLimit(const LimitSpec& spec);
  // Under a uuid of one's own choice (letters, digits, `-`): makes it, or changes the one that is there, which keeps
  // its level. May be repeated at will, also after a restart of the server.
  Result<LimitLease> PutLimit(std::string_view uuid, const LimitSpec& spec);
  // For as long as the last time if `expires_in` is 0.
  Result<LimitLease> RenewLimit(std::string_view uuid, milliseconds expires_in = {});
  Result<void> DeleteLimit(std::string_view uuid);
  Result<std::vector<Limit>> Limits(const LimitFilter& filter = {});
  Result<Limit> GetLimit(std::string_view uuid);
  // Which queued tasks and workers it would apply to. An empty `cost` is 1.
  Result<LimitTrial> TryLimit(std::string_view expr, std::string_view cost = {});
  Result<Demand> GetDemand(const DemandQuery& query = {});

  // --- Anything else: the body of a successful answer to a request of the protocol. `path` begins with "/".
  Result<std::string> Call(std::string_view method, std::string_view path, std::string_view body = {},
                           milliseconds wait = {});

 private:
  class Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Waits for many jobs at once, over one WebSocket.
// Threading: one call at a time.
class JobWaiter {
 public:
  struct Ended {
    std::string id;
    std::string state;  // empty: there is no such job
    std::uint64_t done = 0, failed = 0;
  };
  static Result<JobWaiter> Open(const ConnectionOptions& options);
  JobWaiter(JobWaiter&&) noexcept;
  JobWaiter& operator=(JobWaiter&&) noexcept;
  ~JobWaiter();
  // At most 10,000 may be waited for at once.
  Result<void> Add(std::span<const std::string> jobs);
  // The next ones that ended or are unknown. Blocks.
  Result<std::vector<Ended>> Next();

 private:
  class Impl;
  explicit JobWaiter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace allotter
