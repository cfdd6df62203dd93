// SPDX-License-Identifier: Apache-2.0
// The workers of a queue as connections: where their grants go.
//
// A worker over WebSocket has a link that stays; one over HTTP has one only while a pull of it waits, and what comes in
// between (cancels, a drain) is kept for its next one.
//
// Threading: confined to the queue's engine thread; links deliver on their own threads.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/types.h"
#include "server/queue/round.h"
#include "server/queue/worker_news.h"
#include "server/wire/grants_json.h"
#include "server/wire/request_json.h"

namespace allot {

// A worker's message without ties to the text that it came in.
struct WorkerInput {
  std::optional<std::uint64_t> seq;
  std::vector<Report> reports;
  std::vector<std::string> texts;  // of each report: a result, or an error; empty: none
  std::vector<TaskRef> extend;
  std::vector<ProgressReport> progress;
  std::optional<std::uint32_t> pull;
  StrategyPtr strategy;  // of that pull; null: the worker's own
  std::optional<WorkerChange> set;
  bool job_headers = false;
  bool bye = false;
};
WorkerInput ToInput(WorkerMessage& message);

class QueueWorkers {
 public:
  struct Origin {
    std::string address;
    std::string user;
    std::string token;  // its id
    bool connected = false;
  };
  // Registers with the engine. With `origin.connected`, `link` is the worker's from now on, and one before it is
  // closed.
  Result<RegisterAnswer> Register(Round& round, const Hello& hello, const Origin& origin, WorkerLinkPtr link);

  // A message of a connected worker; the answer goes to its link.
  void OnMessage(Round& round, WorkerId worker, const WorkerLinkPtr& link, WorkerInput input);
  // A request of a worker over HTTP. `link` delivers once: when there are tasks, or the wait is over.
  void OnPull(Round& round, WorkerId worker, std::uint64_t key, milliseconds wait, WorkerInput input,
              WorkerLinkPtr link);
  // The connection is gone; `unsent` never left. What a newer connection of the same worker does is untouched.
  void OnGone(Round& round, WorkerId worker, const WorkerLink* link, std::vector<TaskRef> unsent);
  // These never left.
  void GiveBack(Round& round, const std::vector<TaskRef>& tasks);
  // Their payloads cannot be read: they fail for good, with that as their error, as if the worker had reported it.
  void FailDamaged(Round& round, WorkerId worker, const std::vector<DamagedGrant>& damaged);
  Result<void> Unregister(Round& round, WorkerId worker, std::uint64_t key);
  // With `key`, the worker's own doing. Without, it is notified, so that it can say so when it comes back.
  Result<void> Change(Round& round, WorkerId worker, std::optional<std::uint64_t> key, const WorkerChange& change);

  // What the engine decided.
  void OnEffects(Round& round, Effects& effects);
  // Pulls that did not want to wait, and got nothing.
  void EndOfRound(Round& round);
  // Takes all credit away and lets waiting pulls go.
  void OnStop(Round& round);
  // Every connection is to be closed.
  void CloseAll(Round& round, const Error& why);

  // Forgets everyone, without a word.
  void Clear() { sessions_.clear(); }

  std::size_t size() const { return sessions_.size(); }

 private:
  struct Session {
    WorkerLinkPtr link;  // over HTTP: of the pull that waits
    bool connected = false;
    bool draining = false;   // over HTTP: sent with every answer
    WorkerNews undelivered;  // over HTTP: for the pull that waits, or the next one
    // Of those jobs whose headers it had last, the newest behind; null: it wants none.
    std::unique_ptr<std::deque<JobId>> headers;
  };
  Session* Find(WorkerId worker);
  static Result<void> Set(Round& round, WorkerId worker, const WorkerChange& change);
  // Reports, results, errors, extensions. Fills stale.
  Result<void> Apply(Round& round, WorkerId worker, WorkerInput& input, WorkerNews& news);
  static void Send(Round& round, const WorkerLinkPtr& link, WorkerNews news) { round.news.Add(link, std::move(news)); }
  // The headers that go with these tasks, where the worker wants them and does not have them.
  static void AddHeaders(const Round& round, Session& session, WorkerNews& news);
  // Answers the HTTP pull that waits with what there is.
  void Answer(Round& round, Session& session);

  std::unordered_map<WorkerId, Session> sessions_;
  std::vector<WorkerId> impatient_;
};

}  // namespace allot
