// SPDX-License-Identifier: Apache-2.0
// The one connection by which a queue's owner writes: claims the queue, commits under the fence, and finds out what
// became of a commit whose answer was lost.
//
// Fence:  every commit ends by changing the queue's row in `heads` where it still has this owner's epoch, and the
// number
//         of the commit before. If it has not, nothing of the commit is there (kFenced).
// Doubt:  when the connection is lost before the answer, or the answer cannot be relied on, the own epoch is raised by
// a
//         write on a new connection. What was under way can then not happen any more, and the number of the last commit
//         tells whether it had. A read alone would not do: where a standby took over meanwhile, it might be answered by
//         one that is none any more.
//
// Threading: one thread at a time; the counters from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "store/postgres/database.h"

namespace allot::postgres {

// A queue's row in `heads`.
struct Head {
  std::int64_t epoch = 0;
  std::int64_t commits = 0;
  Position pos = 0;
  Position floor = 0;
  std::int64_t next_seq = 1;
  std::int64_t bytes = 0;
};

// How a node of a cluster takes a queue: where it is as the node saw it.
struct Ticket {
  std::int64_t epoch = 0;   // as it was seen
  std::string incarnation;  // of the writer before, which may hang in the middle of something; empty: none
  std::string node;         // the incarnation of the node that takes it
};

class Writer {
 public:
  // `queue` is its number, `name` for people. `node` is the incarnation of the node that it is of, if it is of one.
  Writer(std::shared_ptr<PostgresDatabase> database, std::int64_t queue, std::string name,
         const std::string& node = "");
  // Gives the queue back, if nothing is under way.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Makes the queue this one's. kStoreLocked while its owner is alive.
  Result<void> Claim();
  // The same without asking whether the owner is alive: whoever comes with a ticket knows. kFenced if the queue is not
  // as the ticket says, or its node is dead.
  Result<void> Take(const Ticket& ticket);
  // Gives the queue back, if nothing is under way. Nothing is written after that.
  void Release();

  // As of the last commit.
  const Head& head() const { return head_; }
  // What statements of the last commit said that they replaced: the next one writes it.
  void AddBytes(std::int64_t bytes) { head_.bytes = head_.bytes + bytes > 0 ? head_.bytes + bytes : 0; }
  std::int64_t queue() const { return queue_; }
  // What became of a commit is not known yet.
  bool in_flight() const { return in_flight_.has_value(); }

  // Durable on return, or nothing of it happened. `send` puts statements into the pipeline, and says what the head is
  // to be; it may be called more than once.
  // kUnavailable: it may be under way. The same `work` is to be tried again, until the answer is another one; whoever
  // gives it up will not learn what became of it. Other errors: nothing was done.
  // `rows` is what its statements gave; empty if the answer was lost and it was found to have happened.
  using Send = std::function<void(Connection& db, Head& next)>;
  Result<void> Commit(std::uint64_t work, const Send& send, std::vector<Rows>* rows = nullptr);
  static constexpr std::uint64_t kSmallWork = 0;  // waits as long as it takes

  // One statement that only looks.
  Result<Rows> Look(const Statement& statement, const Params& params);

  std::atomic<std::uint64_t> epoch{0};
  std::atomic<std::uint64_t> doubts{0};      // commits whose answer was lost
  std::atomic<std::uint64_t> reconnects{0};  // of this connection
  std::atomic<std::uint64_t> fenced{0};      // commits that came too late

 private:
  struct InFlight {
    std::uint64_t work = 0;
    Head next;
  };
  Result<void> Connect();
  Result<void> RaiseEpoch();
  // Those of an owner, but not this connection.
  Result<void> EndBackends(std::string_view incarnation);
  Result<bool> Settle(Connection::Deadline deadline, std::vector<Rows>* rows);
  // By which pg_stat_activity tells whether an owner is alive.
  std::string NameOfBackends(std::string_view incarnation) const;
  Error Fenced();

  const std::shared_ptr<PostgresDatabase> database_;
  const std::int64_t queue_;
  const std::string name_;
  const std::string incarnation_;  // of this owner; no two are alike
  std::unique_ptr<Connection> connection_;
  bool claimed_ = false;
  Head head_;
  std::optional<InFlight> in_flight_;
};

}  // namespace allot::postgres
