// SPDX-License-Identifier: Apache-2.0
// Worker: runs a function for every task, on `slots` threads.
//
//   allotter::Worker worker({.connection = {...}, .tags = {"square"}, .slots = 4}, [](const allotter::TaskContext&
//   task) {
//     return allotter::Outcome::Done(Square(task.assignment().payload));
//   });
//   auto why = worker.Run();   // until Drain(), from another thread or a signal's handler thread
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "allotter/async_worker.h"

namespace allotter {

// A task that runs.
class TaskContext {
 public:
  using Report = std::function<void(TaskProgress progress)>;
  explicit TaskContext(Assignment assignment, Report report = {})
      : assignment_(std::move(assignment)), report_(std::move(report)) {}
  const Assignment& assignment() const { return assignment_; }
  // The server wants it stopped: look now and then, and return anything.
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  // How far it is, for those who look: `done`, `of` how much, where that is known.
  void Progress(double done, std::optional<double> of = {}, std::string note = {}) const {
    if (report_) report_({done, of, std::move(note)});
  }

 private:
  friend class Worker;
  Assignment assignment_;
  const Report report_;
  std::atomic<bool> cancelled_{false};
};

class Worker {
 public:
  // Called on any of the threads. An exception is a failed attempt with its text.
  using Handler = std::function<Outcome(const TaskContext& task)>;
  Worker(WorkerOptions options, Handler handler);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Blocks until it is drained, or cannot go on.
  Result<void> Run();
  // As AsyncWorker::Change(); from any thread.
  void Change(WorkerChange change);
  // Finishes what runs, gives back what does not, and ends Run(). From any thread.
  void Drain();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace allotter
