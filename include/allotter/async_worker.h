// SPDX-License-Identifier: Apache-2.0
// AsyncWorker: a worker on its WebSocket, driven by an io_context: thousands share one thread.
//
// It introduces itself, keeps up to `capacity` tasks in hand, reports what is finished (reports and the next pull
// travel in one message, and everything that is finished meanwhile in the next), shows signs of life, and comes back
// after a lost connection with what it still holds, for as long as it takes. Reports are kept until the server says
// that they are durable, and sent again after a reconnect; the server knows a repeated one by its lease.
//
// Threading: all calls and all callbacks on the io_context's thread; run it from one thread only.
// Ownership: the worker may be destroyed at any time outside its own callbacks; callbacks end with it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "allotter/result.h"
#include "allotter/types.h"

namespace allotter {

struct WorkerOptions {
  ConnectionOptions connection = {};
  std::string name = {};  // empty: host name and process id
  std::vector<std::string> tags = {};
  Properties properties = {};                // declared keys of the queue
  Meta attributes = {};                      // what jobs' expressions see beside them
  std::string requirements = {}, rank = {};  // expressions over jobs; empty: none
  std::string strategy = {};                 // which tasks first; empty: the default
  std::uint32_t slots = 1;                   // told to the server; for people, and for its choice
  std::uint32_t capacity = 0;                // how many tasks to hold at most; 0: `slots`
  bool job_headers = false;                  // what jobs are (on_jobs), where the server has that
  milliseconds reconnect_first{100};
  milliseconds reconnect_max{10'000};
};

struct WorkerEvents {
  // New tasks. Each must be finished by Finish(), here or later.
  std::function<void(std::vector<Assignment>&& tasks)> on_tasks;
  // What the jobs of tasks are, before these come: of each job once for each connection, and again after 256 others.
  std::function<void(std::vector<JobHeader>&& jobs)> on_jobs = {};
  // Stop this task. Then Finish() it all the same, unless the reason is `lost`.
  std::function<void(const CancelOrder& order)> on_cancel;
  // The server wants it gone; Drain() has been called.
  std::function<void()> on_drain;
  // Others changed what it is. It will say so itself when it has to introduce itself again.
  std::function<void(const WorkerChange& change)> on_changed;
  // A Change() that the server refused; the worker is as it was.
  std::function<void(const Error& error)> on_change_refused;
  // So many reports are durable.
  std::function<void(std::size_t reports)> on_acknowledged;
  // A report that was not taken: the lease was not its own any more, or the server refused it (`error`).
  std::function<void(const TaskRef& task, const Error& error)> on_refused;
  std::function<void(const std::string& worker_id)> on_connected;
  // Trying again after `again_in`.
  std::function<void(const Error& error, milliseconds again_in)> on_disconnected;
  // The end: after Drain(), or with an error that trying again cannot mend (no right, no such queue). Nothing follows.
  std::function<void(const Result<void>& why)> on_stopped;
};

class AsyncWorker {
 public:
  // REQUIRES: on_tasks is set.
  AsyncWorker(boost::asio::io_context& context, WorkerOptions options, WorkerEvents events);
  ~AsyncWorker();
  AsyncWorker(const AsyncWorker&) = delete;
  AsyncWorker& operator=(const AsyncWorker&) = delete;

  // Connects, in the background. kBadValue for options that cannot be.
  Result<void> Start();
  // Reports a task. Unknown leases (lost meanwhile) are ignored.
  void Finish(const TaskRef& task, Outcome outcome);
  // How far a task is, which is in hand: told soon, where the server takes it, and not more often than four times a
  // second.
  void Progress(const TaskRef& task, TaskProgress progress);
  // How many tasks to hold from now on.
  void SetCapacity(std::uint32_t capacity);
  // Changes what it is, from now on and after every reconnect. Sent at once, or when there is a connection again.
  void Change(const WorkerChange& change);
  // Takes no more tasks; once the last one in hand is finished and acknowledged, says good-bye: on_stopped.
  void Drain();
  // Drops the connection at once, without a word: as if the process had died. No on_stopped.
  void Abandon();

  bool connected() const;
  std::size_t in_hand() const;  // assigned, and not finished

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace allotter
