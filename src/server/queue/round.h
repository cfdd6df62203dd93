// SPDX-License-Identifier: Apache-2.0
// What a command sees while it runs.
#pragma once

#include <string_view>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "engine/engine.h"
#include "server/queue/closure.h"
#include "server/queue/fair_queue.h"
#include "server/queue/outbox.h"
#include "server/queue/stall.h"
#include "server/queue/worker_news.h"
#include "store/store.h"

namespace allot {

class WaitTable;
class QueueWorkers;

// Threading: whoever runs the queue's commands (command_box.h). Lives for one round.
struct Round {
  Engine& engine;
  IdAllocator& ids;
  WaitTable& waits;
  QueueWorkers& workers;
  Now now{};
  bool stopping = false;       // nothing is handed out, nothing new is taken
  Stall stall = Stall::kNone;  // unless it is none, nothing new is taken
  AskerId asker = 0;           // who asked for the command that runs
  std::string_view what{};     // the request that it serves, if it is one; for the log
  bool crowded = false;        // too much of that asker's waits already: the command is to refuse
  Batch batch{};               // payloads and outcomes that go with this round's events
  NewsBox news{};              // for workers: leaves when they are durable, before all else
  Outbox outbox{};             // the same for others
  std::uint32_t events = 0;
  std::size_t starts = 0;    // that this round decided; for metrics
  std::size_t commands = 0;  // that it has run
  std::size_t looks = 0;     // of those who wait: they are notified in steps

  std::vector<JobId> touched{};                        // jobs that this round changed
  const std::unordered_set<JobId>* unsaved = nullptr;  // while the disk is full: changed, but not durable
  bool depends = false;                                // what is in the outbox shows such a job

  std::vector<JobId> created{};                          // of those, the ones that are new
  const std::unordered_set<JobId>* uncreated = nullptr;  // while the disk is full: new, but not durable

  void Touch(JobId job) { touched.push_back(job); }
  void Created(JobId job) {
    touched.push_back(job);
    created.push_back(job);
  }
  // False for a job that is not there yet, as far as anyone may know.
  bool MayList(JobId job) const { return uncreated == nullptr || uncreated->count(job) == 0; }
  // To be called by whoever shows a job without changing it.
  void DependsOn(JobId job) { depends = depends || (unsaved != nullptr && unsaved->count(job) != 0); }
  void Send(Executor& executor, Closure closure) { outbox.push_back({&executor, std::move(closure)}); }
};

// Commands run in the order in which they were posted, those of one asker always; where they take long, askers take
// turns. While the disk is full, those that change something wait.
class Command {
 public:
  Command() = default;
  template <typename F, typename = std::enable_if_t<std::is_invocable_v<std::decay_t<F>&, Round&>>>
  Command(F&& f) : run_(std::forward<F>(f)) {}  // NOLINT(google-explicit-constructor)
  // One that only looks, at little, or refuses to change anything while the disk is full.
  template <typename F>
  static Command Look(F&& f) {
    Command command(std::forward<F>(f));
    command.looks_ = true;
    return command;
  }
  // One that looks at much. It waits in line with others of its kind, by asker, which have only a part of the thread's
  // time; whatever the same asker posted before it has run by then.
  template <typename F>
  static Command Browse(AskerId asker, F&& f) {
    Command command = Look(std::forward<F>(f));
    command.browses_ = true;
    command.asker_ = asker;
    return command;
  }
  // Who asked; nobody is the server itself.
  Command By(AskerId asker) && {
    asker_ = asker;
    return std::move(*this);
  }
  // It runs at once, with round.crowded, where too many of its asker's wait in line.
  Command OrRefuse() && {
    refuses_ = true;
    return std::move(*this);
  }
  // Whether it is surely short, so that it may run on the network thread that brings it.
  Command Light(bool light) && {
    light_ = light;
    return std::move(*this);
  }
  bool light() const { return light_; }
  AskerId asker() const { return asker_; }
  bool looks() const { return looks_; }
  bool browses() const { return browses_; }
  bool refuses() const { return refuses_; }
  void operator()(Round& round) {
    round.asker = asker_;
    round.what = {};
    run_(round);
  }

 private:
  UniqueFunction<void(Round&)> run_;
  AskerId asker_ = 0;
  bool looks_ = false;
  bool browses_ = false;
  bool refuses_ = false;
  bool light_ = false;
};

}  // namespace allot
