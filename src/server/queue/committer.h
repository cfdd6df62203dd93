// SPDX-License-Identifier: Apache-2.0
// A queue's store thread: takes all work waiting, commits it as one transaction, then lets go what depended on it. A
// little work for a store that has nothing to do is committed by whoever brings it, which spares two hops.
//
// Threading: all methods may be called from any thread, except as said. Only one thread at a time uses the store.
// Errors:    a full disk, or a database that is away, is waited out, in order; any other error of the store goes to
//            `on_fatal`. Where that returns, or after GiveUp(), nothing more is committed, and what waits is dropped.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "server/ops/metrics.h"
#include "server/queue/closure.h"
#include "server/queue/mailbox.h"
#include "server/queue/outbox.h"
#include "server/queue/stall.h"
#include "store/store.h"

namespace allot {

struct CommitWork {
  Batch batch;                        // may be empty
  Outbox outbox;                      // leaves when the batch, and all before it, are durable
  UniqueFunction<void(Store&)> task;  // runs on the store thread, before the batch
  std::uint32_t events = 0;           // in the batch; for metrics
  std::size_t commands = 0;           // that it came of
  std::uint64_t touch = 0;            // grows from one work to the next that has one; 0: it has none
};

// True if committing it changes the file.
bool HasContent(const Batch& batch);

class Committer {
 public:
  using Fatal = std::function<void(const Error&)>;
  // `metrics` may be null.
  Committer(Store& store, Fatal on_fatal, QueueMetrics* metrics);
  // As Close().
  ~Committer();
  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // The queue is another server's now.
  void GiveUp() { abandoned_.store(true, std::memory_order_release); }
  // Commits what is left, then ends the thread; what is pushed from then on is dropped. Not on its own thread.
  void Close();
  // In order. False, dropping it, once it is closed.
  bool Push(CommitWork work);
  // Commits it here and now, and lets go what depends on it, if all before it is durable, it is little, and so was what
  // came lately: under load a commit is shared. And if the store commits at once: a database does not. False, changing
  // nothing, otherwise: it is to be pushed. REQUIRES: work that must come after it is pushed by this thread, or later.
  bool CommitHere(CommitWork& work);
  // Everything pushed so far is durable, and has been let go. Seen by the pushing thread, it stays so until it pushes
  // again.
  bool idle() const { return pending_.load(std::memory_order_acquire) == 0; }
  std::size_t pending() const { return pending_.load(std::memory_order_acquire); }
  // Why the last try to commit did not come to its end, if it did not.
  Stall stall() const { return stall_.load(std::memory_order_acquire); }
  // The last `touch` that is durable.
  std::uint64_t durable_touch() const { return durable_touch_.load(std::memory_order_acquire); }
  std::uint64_t commits() const { return commits_.load(std::memory_order_relaxed); }
  std::uint64_t commits_here() const { return commits_here_.load(std::memory_order_relaxed); }

 private:
  // What decides whether a commit may be made by whoever brings it.
  class Pace {
   public:
    void Note(Duration took, std::size_t commands);
    bool LittleAndQuick(std::size_t commands) const;

   private:
    double commands_ = 0;  // of a commit, lately
    double micros_ = 1e9;  // that it took; nothing is known yet
  };
  void Loop();
  void CommitAll(std::vector<CommitWork>& works);
  // What may leave then.
  Outbox CommitSlice(std::vector<CommitWork>& works, std::size_t begin, std::size_t end);
  void TidyOnce();

  Store& store_;
  const Fatal on_fatal_;
  QueueMetrics* const metrics_;
  Mailbox<CommitWork> mailbox_;
  std::atomic<std::size_t> pending_{0};
  std::atomic<std::uint64_t> durable_touch_{0};
  bool given_up_ = false;  // the store took nothing when it was closed
  std::atomic<Stall> stall_{Stall::kNone};
  std::atomic<bool> closing_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> commits_here_{0};
  std::mutex store_mutex_;  // whoever has it uses the store
  Pace pace_;               // guarded by store_mutex_
  bool untidy_ = true;      // after a start there may be something left to sweep
  std::size_t commits_since_tidy_ = 0;
  std::vector<Batch> batches_;  // guarded by store_mutex_
  std::thread thread_;
};

}  // namespace allot
