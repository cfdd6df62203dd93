// SPDX-License-Identifier: Apache-2.0
// Client: everything of the protocol but the worker's WebSocket, as blocking calls over one kept-alive connection.
//
//   auto client = allotter::Client::Open({.server = "http://127.0.0.1:7420"});
//   allotter::JobSpec spec;
//   spec.tags = {"square"};
//   spec.payloads = {"1", "2", "3"};
//   auto submitted = client->jobs().Submit(spec);
//   if (!submitted) return Fail(submitted.error());
//   client->tasks().EachResult(submitted->job.id, [](const allotter::TaskResult& r) {
//     puts(r.result.c_str());
//     return true;
//   });
//
// The calls are parted by what they are about: client.jobs(), tasks(), workers(), limits() and stats() are of the
// client's queue; queues() and strategies() are of the server. These parts are as cheap as a pointer, and good as long
// as the client, which may be moved.
//
// Connects when first needed, and again after the connection was lost. A read that finds its kept connection closed is
// repeated once; a change never is, since it may have been worked off: give an idempotency key to submit again safely.
// Threading: one call at a time, of all parts. Use one Client per thread; they are cheap.
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

class ClientConnection;

// What the parts of a client have in common.
class ClientPart {
 protected:
  friend class Client;
  explicit ClientPart(ClientConnection& connection) : connection_(&connection) {}
  ClientConnection* connection_;
};

class Jobs : public ClientPart {
 public:
  using ClientPart::ClientPart;

  Result<Submitted> Submit(const JobSpec& spec);
  // All, or none.
  Result<std::vector<SubmittedId>> SubmitBatch(std::span<const JobSpec> specs);
  // One task per payload that `next` puts into its argument, until it returns false; in constant memory. An error of
  // `next`'s own, or of the connection, leaves no job. REQUIRES: no count and no payloads in `spec`.
  using NextPayload = std::function<Result<bool>(std::string& payload)>;
  Result<Submitted> SubmitStream(const JobSpec& spec, const NextPayload& next);
  // As Submit, with the spec given as JSON text.
  Result<Submitted> SubmitJson(std::string_view spec_json);

  Result<JobPage> List(const JobQuery& query = {});
  // With `wait`: once it has ended, or as it is after that time. With `payload` needs the feature `job_payload`.
  Result<Job> Get(std::string_view job, milliseconds wait = {}, bool payload = false);
  Result<Job> Change(std::string_view job, const JobChange& change);
  Result<Job> Cancel(std::string_view job);
  Result<Job> Pause(std::string_view job);
  Result<Job> Resume(std::string_view job);
  Result<Retried> Retry(std::string_view job);
  // To all that `which` finds. Ask with `dry_run` first, and give back its `up_to`: then no other jobs are touched.
  Result<ManyJobsAnswer> ChangeMany(JobAction action, const ManyJobs& which);
  // Calls `on_change` with the job now and after changes, until it has ended or `on_change` returns false. Returns the
  // last state told.
  Result<Job> Watch(std::string_view job, const std::function<bool(const Job&)>& on_change);
  // Why it, or one task of it, does not run; why not on that worker; and the same of a job that is not submitted.
  Result<Explanation> Explain(std::string_view job, std::optional<std::uint32_t> task = std::nullopt);
  Result<PairExplanation> ExplainPair(std::string_view job, std::string_view worker);
  Result<Explanation> ExplainSpec(const JobSpec& spec);
};

// Of one job, but for the list of receipts.
class Tasks : public ClientPart {
 public:
  using ClientPart::ClientPart;

  Result<TaskPage> List(std::string_view job, const TaskQuery& query = {});
  Result<Task> Get(std::string_view job, std::uint64_t index);
  // How many are in which state, over the range of their indices.
  Result<allotter::Picture> Picture(std::string_view job, const PictureQuery& query = {});
  Result<ResultPage> Results(std::string_view job, const ResultQuery& query);
  // Every result in order of index, as the tasks end, until all are told or `on_result` returns false. Returns how many
  // were told.
  Result<std::uint64_t> EachResult(std::string_view job, const std::function<bool(const TaskResult&)>& on_result,
                                   std::uint64_t from = 0);
  // How its last start was decided. kUnknownReceipt where that is not remembered.
  Result<allotter::Receipt> Receipt(std::string_view job, std::uint64_t index);
  // Of all jobs, the newest first.
  Result<ReceiptPage> Receipts(std::optional<std::uint64_t> before = {}, std::size_t limit = 100);
};

class Workers : public ClientPart {
 public:
  using ClientPart::ClientPart;

  Result<WorkerPage> List(std::string_view after = {}, std::size_t limit = 1000);
  Result<WorkerInfo> Get(std::string_view worker);
  Result<WorkerInfo> Drain(std::string_view worker);
  // As an operator. What it holds stays; waiting jobs are matched with it anew.
  Result<WorkerInfo> Change(std::string_view worker, const WorkerChange& change);
  // What a registered worker would get next, and why not the others.
  Result<WorkerOutlook> Next(std::string_view worker, std::uint32_t count = 10);
  // Being a worker over plain HTTP. For more than a trickle of tasks take Worker or AsyncWorker.
  Result<Welcome> Register(const Hello& hello);
  Result<PullAnswer> Pull(const Welcome& self, const PullRequest& request);
  Result<WorkerInfo> Change(const Welcome& self, const WorkerChange& change);
  Result<void> Leave(const Welcome& self);
};

// Limits on starts.
class Limits : public ClientPart {
 public:
  using ClientPart::ClientPart;

  Result<LimitLease> Create(const LimitSpec& spec);
  // Under a uuid of one's own choice (letters, digits, `-`): makes it, or changes the one that is there, which keeps
  // its level. May be repeated at will, also after a restart of the server.
  Result<LimitLease> Put(std::string_view uuid, const LimitSpec& spec);
  // For as long as the last time if `expires_in` is 0.
  Result<LimitLease> Renew(std::string_view uuid, milliseconds expires_in = {});
  Result<void> Delete(std::string_view uuid);
  Result<std::vector<Limit>> List(const LimitFilter& filter = {});
  Result<Limit> Get(std::string_view uuid);
  // Which queued tasks and workers it would apply to. An empty `cost` is 1.
  Result<LimitTrial> Try(std::string_view expr, std::string_view cost = {});
};

// How the queue stands, and its users. LiveView (live.h) has the same as it changes.
class Stats : public ClientPart {
 public:
  using ClientPart::ClientPart;

  Result<allotter::Overview> Overview();
  // Of the last 10 minutes, a step being a second; or of the last 24 hours.
  Result<allotter::History> History(bool by_minute = false);
  Result<UserPage> Users(const UserQuery& query = {});
  // What could start if there were workers.
  Result<allotter::Demand> Demand(const DemandQuery& query = {});
};

class Strategies : public ClientPart {
 public:
  using ClientPart::ClientPart;

  // The built-in `fair` first, then those of the configuration.
  Result<std::vector<NamedStrategy>> List();
  // Which tasks of this client's queue a worker would get now, without taking them.
  Result<StrategyPreview> Try(const StrategyTry& what);
};

// By name.
class Queues : public ClientPart {
 public:
  using ClientPart::ClientPart;

  Result<std::vector<Queue>> List();
  Result<Queue> Create(std::string_view name, const QueueSettings& settings);
  Result<Queue> Get(std::string_view name);
  Result<Queue> Change(std::string_view name, const QueueSettings& settings);
  Result<Queue> Pause(std::string_view name);
  Result<Queue> Resume(std::string_view name);
  Result<void> Delete(std::string_view name, bool force);
  // Gives a complete copy of the queue's file to `sink`, piece by piece; false from it ends the transfer with
  // kUnavailable.
  Result<void> Backup(std::string_view name, const std::function<bool(std::string_view)>& sink);
};

class Client {
 public:
  // Checks the options; connects to nothing yet. kBadValue for a URL, token or queue name that cannot be.
  static Result<Client> Open(ConnectionOptions options);
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();
  const ConnectionOptions& options() const;

  Jobs jobs() { return Jobs(*connection_); }
  Tasks tasks() { return Tasks(*connection_); }
  Workers workers() { return Workers(*connection_); }
  Limits limits() { return Limits(*connection_); }
  Stats stats() { return Stats(*connection_); }
  Strategies strategies() { return Strategies(*connection_); }
  Queues queues() { return Queues(*connection_); }

  Result<ServerInfo> Server();
  // Anything else: the body of a successful answer to a request of the protocol. `path` begins with "/".
  Result<std::string> Call(std::string_view method, std::string_view path, std::string_view body = {},
                           milliseconds wait = {});

 private:
  explicit Client(std::unique_ptr<ClientConnection> connection);
  std::unique_ptr<ClientConnection> connection_;
};

}  // namespace allotter
