// SPDX-License-Identifier: Apache-2.0
// One queue at work: its engine thread, its store thread, and the file behind them.
//
// Commands are run in rounds: all that wait are taken, run with one reading of the clock, and one batch of effects
// goes, with the answers that depend on it, to the store thread. Answers that depend on nothing unsaved leave at once.
//
// Rounds are run by whoever brings light commands, if nobody is at it, and otherwise by the engine thread
// (command_box.h). Ticks, looks at much, folding and what is left over are its alone. A little work for an idle store
// is committed by whoever ran the round.
//
// A round is short, so that nobody waits long for others: after kRoundTime of commands what is left waits for the next
// round, by asker, one after the other; looks at many things come after them, for kBrowseTime in a round, likewise.
//
// Threading: all public methods may be called from any thread, except as said.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "cluster/lease.h"
#include "engine/engine.h"
#include "server/ops/memory_quota.h"
#include "server/ops/metrics.h"
#include "server/ops/step_meter.h"
#include "server/queue/command_box.h"
#include "server/queue/committer.h"
#include "server/queue/fair_queue.h"
#include "server/queue/queue_history.h"
#include "server/queue/round.h"
#include "server/queue/spans.h"
#include "server/queue/wait_table.h"
#include "server/queue/worker_table.h"
#include "server/wire/queue_settings.h"
#include "store/store.h"

namespace allot {

class QueueRuntime {
 public:
  struct Options {
    std::string name;
    QueueSettings defaults;                       // of a queue whose file has none yet
    const NamedStrategies* strategies = nullptr;  // of the configuration; they outlive it
    Duration restart_grace{0};                    // how long leases found in the file are kept
    IdAllocator* ids = nullptr;
    QueueMetrics* metrics = nullptr;
    MemoryQuota* memory = nullptr;  // of all queues; null: memory has no bound
    SpanExporter* spans = nullptr;  // of jobs that carry a trace; null: nobody wants them. Outlives the queue
    Committer::Fatal on_fatal;      // must not return
    // Of a node of a cluster, whose queues may be lost to others; null otherwise. They are answered for while it holds.
    const cluster::Lease* lease = nullptr;
    std::function<void()> on_lost;  // another node has the queue: it is to be ended, by FinishLost()
  };
  // Loads everything and starts the threads.
  static Result<std::shared_ptr<QueueRuntime>> Open(std::unique_ptr<Store> store, Options options);
  // As Finish().
  ~QueueRuntime();

  const std::string& name() const { return options_.name; }
  WallTime created_at() const { return created_at_; }
  QueueSettings settings() const;
  // Durable when `done` runs, on the store thread. kBadValue, changing nothing, for settings that do not go together;
  // kDiskFull and kUnavailable likewise.
  void ChangeSettings(const QueueSettingsChange& change, UniqueFunction<void(Result<void>)> done);
  std::uint64_t max_result_bytes() const { return max_result_bytes_.load(std::memory_order_relaxed); }
  DispatchMode dispatch() const { return dispatch_.load(std::memory_order_relaxed); }
  // Those that hold now, for checking a request; it lives no longer than the queue.
  KeySource property_keys() const;
  Vocabulary vocabulary() const { return {property_keys(), options_.strategies}; }
  Store& store() { return *store_; }
  // Why it takes nothing new at the moment, if so.
  Stall stall() const;
  // What was looked at just now is as the queue is. False: another server may have it, and have changed it.
  bool MayAnswer() const {
    return !lost_.load(std::memory_order_acquire) && (options_.lease == nullptr || options_.lease->Valid());
  }
  QueueMetrics* metrics() const { return options_.metrics; }
  // In a round alone.
  QueueHistory& history() { return history_; }
  // It was deleted, or the server stops: its file may be gone.
  bool finished() const { return finished_; }
  // It was deleted, or another server has it: whoever still holds it is to let go.
  bool gone() const { return deleted_.load(std::memory_order_relaxed) || moved_.load(std::memory_order_relaxed); }
  // The answer for those whose commands are dropped: kUnknownQueue, or kStopping.
  Error WhyFinished() const;
  // Metrics know all steps so far. In a round alone.
  void PublishSteps();
  // The store cannot be read: nothing more may be promised.
  [[noreturn]] void Fatal(const Error& error);

  // Runs in a round. False, dropping it, once the queue is finished: whoever waits for an answer must notice
  // by its destruction.
  bool Post(Command command) { return commands_.Push(std::move(command)); }
  // The same for a network thread; they may run before this returns, and `after_round` after each round that did.
  // Empties `commands`.
  bool Bring(std::vector<Command>& commands, const std::function<void()>& after_round);
  // Straight to the store thread: payloads of a stream that is still coming in.
  bool PostWork(CommitWork work) { return committer_->Push(std::move(work)); }

  // Nothing is handed out any more, waiting requests are answered, submits refused. Reports go on.
  void BeginStop();
  // Works off what has been posted, folds, commits, and ends the threads. Once, from a thread that is none of its own.
  // What is not folded by `fold_until` stays in the journal. The engine's memory is given back, whoever still holds the
  // queue. With `leaving` the process is about to end: the memory is left to the system, which is faster by far than to
  // take it apart.
  void Finish(Instant fold_until = Instant::max(), bool leaving = false);
  // Notifies its workers and all who wait or watch, and ends as Finish() does.
  void FinishDeleted();
  // Another server may have it from now on: nothing more is said or written.
  void Lose();
  // After Lose(): sends everybody away.
  void FinishLost();
  // The same with all that was promised, for another server to go on.
  void FinishMoved();
  // Streams that are coming in: they cannot go on elsewhere.
  std::atomic<int>& streams() { return streams_; }

 private:
  QueueRuntime(std::unique_ptr<Store> store, Options options);
  Result<void> Load();
  void EngineLoop();
  bool Waiting() const { return !changes_.empty() || !browses_.empty(); }
  Round NewRound();
  enum class Runner { kEngineThread, kBringer };
  void RunRound(std::vector<Command>& commands, Runner runner);
  void TickIfDue(Round& round, bool tick_late, bool look_late);
  // Commands in order, or, once some are left over, by asker; as long as the round is no older than that.
  void RunCommands(Round& round, std::vector<Command>& commands, std::int64_t nanoseconds);
  // One that looks at much goes into its line, any other runs.
  void Run(Round& round, Command& command);
  // Puts it into the line; where that is too long already, it runs and refuses.
  void Line(Round& round, Command command);
  // The next in line. False: none, or enough for this round.
  bool BrowseNext(Round& round, std::int64_t& nanoseconds);
  // While the store takes nothing: what only looks, runs; the rest is put off.
  void RunStalledRound(std::vector<Command>& commands, Stall stall);
  // Nobody hears of what was decided: it is another server's to say.
  void DropAll(std::vector<Command>& commands);
  void TakeEffects(Round& round);
  void PushWork(Round& round, Runner runner = Runner::kEngineThread);
  void ForgetDurable();  // of touched_
  void FoldSome(Round& round);
  void FoldAll(Round& round);
  CommandBox::Deadline NextWake();
  // The step that ends now; a long one is logged. Its length in nanoseconds.
  std::int64_t EndStep(StepKind kind, const Round& round);
  // At the beginning of a round: what was since the last one.
  void Sample(const Now& now);

  std::unique_ptr<Store> store_;
  const Options options_;
  WallTime created_at_{};
  mutable std::mutex settings_mutex_;
  QueueSettings settings_;         // guarded by settings_mutex_
  PropertyKeysPtr property_keys_;  // the same as settings_.property_keys; guarded by settings_mutex_
  std::atomic<std::uint64_t> max_result_bytes_{0};
  std::atomic<DispatchMode> dispatch_{DispatchMode::kFanout};
  std::atomic<std::uint64_t> memory_budget_{0};
  std::atomic<bool> finished_{false};
  std::atomic<bool> deleted_{false};
  std::atomic<bool> moved_{false};  // lost, or handed over
  std::atomic<bool> lost_{false};
  std::atomic<int> streams_{0};
  std::atomic<Instant::rep> stop_folding_at_{Instant::max().time_since_epoch().count()};

  // From here to committer_: whoever runs commands, one thread at a time.
  std::unique_ptr<Engine> engine_;  // null once the engine thread has ended
  WaitTable waits_;
  QueueWorkers workers_;
  QueueHistory history_;
  CommandBox commands_;
  bool stopping_ = false;
  bool folding_ = false;  // a sweep over what is dirty has begun
  Instant last_tick_{}, last_look_{};
  bool tick_waits_ = false;  // it was due in a round that was long already
  bool tick_soon_ = false;   // others have run rounds since the last one
  Instant last_fold_{};
  Position fold_until_ = 0;  // where the sweep ends
  Position last_position_ = 0;
  std::uint64_t memory_used_ = 0;  // as others know it
  FairQueue<Command> changes_;     // left over from earlier rounds
  FairQueue<Command> browses_;     // looks at much
  StepMeter meter_;
  Instant published_steps_{};
  std::vector<Command> deferred_;        // until there is space
  std::unordered_set<JobId> unsaved_;    // while the disk is full
  std::unordered_set<JobId> uncreated_;  // of those, the new ones
  struct Touched {
    std::uint64_t number;  // of its work
    std::vector<JobId> jobs;
    std::vector<JobId> created;
  };
  std::deque<Touched> touched_;  // by work that may not be durable yet
  std::uint64_t last_touch_ = 0;
  std::unique_ptr<Committer> committer_;
  std::thread engine_thread_;
};

}  // namespace allot
