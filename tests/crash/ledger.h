// SPDX-License-Identifier: Apache-2.0
// What the clients of a server that is killed again and again were told, and whether the server still stands by it.
//
// Everything that the server acknowledged is entered here; a statement of the server that contradicts an earlier one is
// a violation. The ledger knows only docs/reference/protocol.
//
// Two clocks never agree, so a lease is called live only where it must be: any message of a worker extends its leases,
// and so a lease that a worker was given cannot have ended before `hold` has passed since that worker last *began to
// send* something, if lease_ms, worker_grace and restart_grace are all longer than `hold`. (A message that a crash
// swallowed is no sign of life, but then the next start, which is later, gives its own grace.)
//
// Threading: all methods may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/wire.h"

namespace allot::testing {

struct TaskKey {
  std::uint64_t job = 0;
  std::uint32_t index = 0;
  friend auto operator<=>(const TaskKey&, const TaskKey&) = default;
};

// One identity of a worker: from its first hello until it dies or says bye.
struct Life {
  int number = 0;
  std::string worker, key;              // of its welcome; empty before
  std::atomic<SteadyTime> last_send{};  // when it last began to send
  std::atomic<SteadyTime> last_gap{};   // when it last broke a silence that was long enough to lose its leases
};
using LifePtr = std::shared_ptr<Life>;

enum class ReportKind { kDone, kFailed, kFinal, kReleased };

struct LedgerJob {
  std::uint64_t id = 0;
  std::string key;  // idempotency
  std::uint32_t count = 0;
  std::uint32_t max_attempts = 0;
  bool may_fail = false;  // a failed task fails it
  // Filled in by what happens.
  bool cancel_sent = false;
  bool cancelled = false;  // acknowledged
  bool ended = false;      // somebody saw that it had ended
  SteadyTime cancelled_at{};
  std::uint32_t done = 0, failed = 0;  // acknowledged, failed: for good
};

struct LedgerTotals {
  std::uint64_t jobs = 0, tasks = 0, grants = 0, done = 0, failed = 0, released = 0, refused = 0, cancelled = 0;
  std::uint64_t resumed = 0;        // leases that a worker found again
  std::uint64_t resumed_later = 0;  // of these, after a restart
  std::uint64_t expired = 0;        // grants of a task whose former holder had been silent for long
};

class Ledger {
 public:
  explicit Ledger(milliseconds hold) : hold_(hold) {}

  // --- Jobs.
  // A submit was acknowledged: the same key must always give the same id.
  void Submitted(const LedgerJob& job);
  void CancelSent(std::uint64_t job);
  // `state` as in the answer.
  void CancelAcknowledged(std::uint64_t job, const std::string& state);
  std::optional<std::uint64_t> AnyJob(std::uint64_t choice) const;

  // --- Leases. `connected_at`: when the connection was made on which it came.
  void Granted(const LifePtr& life, TaskKey task, const std::string& lease, std::uint32_t attempt,
               SteadyTime connected_at);
  // Call before the message with the report leaves.
  void ReportSent(TaskKey task, const std::string& lease, ReportKind kind, const std::string& result);
  void ReportTaken(TaskKey task, const std::string& lease, ReportKind kind, SteadyTime sent_at);
  // `maybe`: it had been sent before, on a connection that was lost.
  void ReportRefused(TaskKey task, const std::string& lease, const std::string& code, bool maybe);
  // Call before the hello leaves that does not list it.
  void Dropped(TaskKey task, const std::string& lease, const char* how = "dropped");
  // The answer to a resume. `reported`: a report of it may have been taken already. `silent_since`: when the worker
  // last began to send something before.
  void Resumed(TaskKey task, const std::string& lease, bool after_restart);
  void Lost(const LifePtr& life, TaskKey task, const std::string& lease, bool reported, SteadyTime silent_since);
  // The server said that the lease had expired.
  void SaidExpired(const LifePtr& life, TaskKey task, const std::string& lease, SteadyTime running_since);

  // --- What the server says of itself.
  // All jobs as they are now: every one that was acknowledged before must be among them, with at least what was
  // acknowledged. `complete`: looks at all of them, and another one was never acknowledged; otherwise at the newest.
  void CheckJobs(std::uint16_t port, bool complete);
  // Every result of every job, once all have ended.
  void CheckResults(std::uint16_t port);
  std::vector<LedgerJob> Jobs() const;
  // A lease of a task that is done, for reporting it once more.
  struct DoneLease {
    TaskKey task;
    std::string lease;
  };
  std::vector<DoneLease> SomeDone(std::size_t max) const;

  void Violation(const std::string& text);
  std::vector<std::string> violations() const;
  LedgerTotals totals() const;
  milliseconds hold() const { return hold_; }

 private:
  struct Hold {
    std::string lease;
    LifePtr life;
    SteadyTime since;
  };
  struct Sent {
    std::string lease;
    std::string result;
    bool refused = false;  // surely not taken
  };
  struct Task {
    std::vector<Hold> holds;
    std::vector<Sent> done_sent;
    std::uint32_t failures = 0;  // acknowledged
    std::string done_lease;      // acknowledged
    SteadyTime done_at{};        // when the acknowledgement came
    bool final_sent = false;     // a final failure was sent
    bool final_taken = false;    //
    std::string history;         // for people
  };
  void Complain(const std::string& text);  // under mutex_
  void Complain(TaskKey task, const std::string& text);
  void Note(Task& task, const std::string& what, const std::string& lease, int life = 0);
  void EndHold(Task& task, const std::string& lease);
  bool Alive(const Life& life, SteadyTime now) const { return now - life.last_send.load() < hold_; }
  static std::string Name(TaskKey task);
  void CheckOneJob(const LedgerJob& known, const Json& job);
  void CheckTaskResult(const LedgerJob& job, TaskKey key, const Json& result);

  const milliseconds hold_;
  const SteadyTime begun_ = SteadyNow();
  mutable std::mutex mutex_;
  std::map<std::uint64_t, LedgerJob> jobs_;
  std::vector<std::uint64_t> order_;
  std::unordered_map<std::string, std::uint64_t> keys_;
  std::map<TaskKey, Task> tasks_;
  std::unordered_set<std::string> leases_;
  LedgerTotals totals_;
  std::vector<std::string> violations_;
};

}  // namespace allot::testing
