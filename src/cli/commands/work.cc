// SPDX-License-Identifier: Apache-2.0
// allot work: runs a command per task.
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <iostream>
#include <unordered_map>

#include "allotter/async_worker.h"
#include "base/bounds.h"
#include "base/text.h"
#include "cli/command_runner.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/process.h"
#include "cli/spec_options.h"
#include "cli/text/strategy_text.h"
#include "cli/worker_options.h"

namespace allot::cli {
namespace {

namespace asio = boost::asio;
using allotter::Assignment;
using allotter::Outcome;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopGrace{5'000};
// Tasks shorter than this are fetched ahead: otherwise the way to the server and back would be most of their time.
// Longer ones are not, so that none waits here while another worker is idle.
constexpr double kShortTaskSeconds = 0.2;

struct WorkOptions {
  CommandOptions command;
  WorkerDescription description;
  allotter::WorkerChange what;  // the same, read
  std::string name, timeout, idle_exit, prefetch = "auto";
  std::uint32_t jobs = 1;
  bool once = false, quiet = false;
};

class CommandWorker {
 public:
  CommandWorker(Context& context, const WorkOptions& options, allotter::ConnectionOptions connection)
      : context_(context),
        options_(options),
        signals_(io_, SIGINT, SIGTERM),
        idle_(io_),
        worker_(io_, Options(options, std::move(connection)), Events()) {}

  // Zero: no limit, no idle exit.
  void Run(std::chrono::milliseconds timeout, std::optional<std::chrono::milliseconds> idle_exit,
           std::optional<std::uint32_t> prefetch) {
    timeout_ = timeout;
    idle_exit_ = idle_exit;
    prefetch_ = prefetch;
    if (prefetch_) worker_.SetCapacity(Capacity(*prefetch_));
    if (auto started = worker_.Start(); !started) return context_.Fail(started.error());
    AwaitSignal();
    ArmIdle();
    io_.run();
  }

 private:
  struct Running {
    std::shared_ptr<Process> process;
    std::unique_ptr<asio::steady_timer> timer;
    Clock::time_point since;
    std::string stop_reason;  // empty: not stopped
    bool report = true;
  };

  static allotter::WorkerOptions Options(const WorkOptions& options, allotter::ConnectionOptions connection) {
    allotter::WorkerOptions made;
    made.connection = std::move(connection);
    made.name = options.name;
    made.tags = options.what.tags.value_or(std::vector<std::string>());
    made.properties = options.what.properties.value_or(allotter::Properties());
    made.attributes = options.what.attributes.value_or(allotter::Meta());
    made.requirements = options.what.requirements.value_or("");
    made.rank = options.what.rank.value_or("");
    made.strategy = options.what.strategy.value_or("");
    made.slots = options.once ? 1 : options.jobs;
    return made;
  }

  std::uint32_t Capacity(std::uint32_t prefetch) const {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(std::uint64_t{options_.jobs} + prefetch, bounds::kMaxCredit));
  }

  void Say(const std::string& text) const {
    if (!options_.quiet) std::cerr << "allot work: " << Visible(text) << '\n';
  }

  allotter::WorkerEvents Events() {
    allotter::WorkerEvents events;
    events.on_tasks = [this](std::vector<Assignment>&& tasks) {
      for (Assignment& task : tasks) waiting_.push_back(std::move(task));
      if (options_.once) Drain();
      StartWaiting();
    };
    events.on_cancel = [this](const allotter::StopRequest& order) { OnCancel(order); };
    events.on_drain = [this] {
      Say("told to finish and go");
      Drain();
    };
    events.on_changed = [this](const allotter::WorkerChange&) { Say("an operator changed what this worker is"); };
    events.on_connected = [this](const std::string& id) {
      if (StderrStyle().terminal || was_lost_) Say("connected as worker " + id);
      was_lost_ = false;
    };
    events.on_disconnected = [this](const Error& error, std::chrono::milliseconds) {
      if (!was_lost_) Say(error.message + "; trying again for as long as it takes");
      was_lost_ = true;
    };
    events.on_refused = [this](const allotter::TaskRef& task, const Error& error) {
      if (error.code == Code::kStale || error.code == Code::kJobEnded)
        return;  // ended meanwhile: nothing to worry about
      Say("the report of task " + task.job + "/" + std::to_string(task.index) + " was refused: " + error.message);
    };
    events.on_stopped = [this](const Result<void>& why) {
      if (!why) context_.Fail(why.error());
      StopAll();
      io_.stop();
    };
    return events;
  }

  // --- Tasks.

  void StartWaiting() {
    while (!waiting_.empty() && running_.size() < options_.jobs) {
      const Assignment task = std::move(waiting_.front());
      waiting_.pop_front();
      Launch(task);
    }
    ArmIdle();
  }

  void Launch(const Assignment& task) {
    const std::string lease = task.task.lease;
    auto process = Process::Start(io_, ProcessFor(options_.command, task),
                                  [this, ref = task.task](ProcessEnd&& end) { Ended(ref, std::move(end)); });
    if (!process) {
      Say(process.error().message);
      worker_.Finish(task.task, Outcome::Failed(process.error().message));
      return;
    }
    Running& running = running_[lease];
    running.process = std::move(*process);
    running.since = Clock::now();
    if (timeout_.count() > 0) {
      running.timer = std::make_unique<asio::steady_timer>(io_, timeout_);
      running.timer->async_wait([this, lease](const boost::system::error_code& ec) {
        if (!ec) Stop(lease, "timed out after " + FormatDuration(timeout_));
      });
    }
  }

  void Stop(const std::string& lease, const std::string& reason) {
    const auto found = running_.find(lease);
    if (found == running_.end() || !found->second.stop_reason.empty()) return;
    found->second.stop_reason = reason;
    found->second.process->Stop(kStopGrace);
  }

  void OnCancel(const allotter::StopRequest& order) {
    const auto queued = std::find_if(waiting_.begin(), waiting_.end(),
                                     [&](const Assignment& task) { return task.task.lease == order.task.lease; });
    if (queued != waiting_.end()) {
      worker_.Finish(queued->task, Outcome::Released());
      waiting_.erase(queued);
      return;
    }
    Stop(order.task.lease, "stopped: " + order.reason);
    const auto running = running_.find(order.task.lease);
    if (running != running_.end() && order.reason == "lost") running->second.report = false;
  }

  void Ended(const allotter::TaskRef& task, ProcessEnd&& end) {
    const auto found = running_.find(task.lease);
    if (found == running_.end()) return;
    const Running running = std::move(found->second);
    running_.erase(found);
    Learn(std::chrono::duration<double>(Clock::now() - running.since).count());
    const bool stopped = !running.stop_reason.empty() && (end.signal != 0 || end.status != 0);
    if (!running.report) {
      // another worker has it
    } else if (killing_ && stopped) {
      worker_.Finish(task, Outcome::Released());  // that we end is not the task's fault
    } else if (stopped) {
      worker_.Finish(task, Outcome::Failed(running.stop_reason));
    } else {
      worker_.Finish(task, OutcomeOf(options_.command, std::move(end)));
    }
    StartWaiting();
  }

  // Fetch ahead as much as short tasks deserve.
  void Learn(double seconds) {
    average_seconds_ = average_seconds_ < 0 ? seconds : 0.8 * average_seconds_ + 0.2 * seconds;
    if (prefetch_ || options_.once) return;
    worker_.SetCapacity(Capacity(average_seconds_ < kShortTaskSeconds ? options_.jobs : 0));
  }

  // --- The end.

  void Drain() {
    if (draining_) return;
    draining_ = true;
    idle_.cancel();
    if (!options_.once) {
      for (const Assignment& task : waiting_) worker_.Finish(task.task, Outcome::Released());
      waiting_.clear();
    }
    worker_.Drain();
  }

  void StopAll() {
    for (auto& [lease, running] : running_) {
      running.stop_reason = "stopped: the worker ends";
      running.process->Stop(std::chrono::milliseconds(0));
    }
  }

  void AwaitSignal() {
    signals_.async_wait([this](const boost::system::error_code& ec, int) {
      if (ec) return;
      ++signals_seen_;
      if (signals_seen_ == 1) {
        if (!running_.empty()) Say("finishing " + std::to_string(running_.size()) + " running; once more to kill them");
        Drain();
      } else if (signals_seen_ == 2) {
        killing_ = true;
        StopAll();
        context_.exit_code = ExitCode::kInterrupted;
      } else {
        ::_exit(static_cast<int>(ExitCode::kInterrupted));
      }
      AwaitSignal();
    });
  }

  void ArmIdle() {
    if (!idle_exit_ || draining_) return;
    if (!running_.empty() || !waiting_.empty()) {
      idle_.cancel();
      return;
    }
    idle_.expires_after(*idle_exit_);
    idle_.async_wait([this](const boost::system::error_code& ec) {
      if (!ec && running_.empty() && waiting_.empty()) Drain();
    });
  }

  Context& context_;
  const WorkOptions& options_;
  asio::io_context io_{1};
  asio::signal_set signals_;
  asio::steady_timer idle_;
  allotter::AsyncWorker worker_;
  std::deque<Assignment> waiting_;
  std::unordered_map<std::string, Running> running_;  // by lease
  std::chrono::milliseconds timeout_{0};
  std::optional<std::chrono::milliseconds> idle_exit_;
  std::optional<std::uint32_t> prefetch_;
  double average_seconds_ = -1;
  int signals_seen_ = 0;
  bool draining_ = false;
  bool killing_ = false;
  bool was_lost_ = false;
};

Result<void> Work(Context& context, WorkOptions& options) {
  if (FindProgram(options.command.argv[0]).empty()) {
    return Error{Code::kBadValue, "there is no program `" + options.command.argv[0] + "`",
                 "it is looked for as the shell does, in PATH"};
  }
  auto timeout = DurationOption("--timeout", options.timeout);
  if (!timeout) return timeout.error();
  auto idle_exit = DurationOption("--idle-exit", options.idle_exit);
  if (!idle_exit) return idle_exit.error();
  std::optional<std::uint32_t> prefetch;
  if (options.prefetch != "auto") {
    if (options.prefetch.empty() || options.prefetch.size() > 5 ||
        options.prefetch.find_first_not_of("0123456789") != std::string::npos) {
      return Error{Code::kBadValue, "--prefetch cannot be `" + options.prefetch + "`", "a number, or `auto`"};
    }
    prefetch = static_cast<std::uint32_t>(std::stoul(options.prefetch));
  }
  auto what = ToWorkerChange(options.description);
  if (!what) return what.error();
  options.what = std::move(*what);
  auto connection = context.Connection();
  if (!connection) return connection.error();
  if (options.what.strategy) {
    auto checked = CheckStrategyText("strategy", *options.what.strategy, false, *connection);
    if (!checked) return checked.error();
  }
  options.command.queue = connection->queue;
  if (options.once) {
    options.jobs = 1;
    prefetch = 0;
  }
  CommandWorker worker(context, options, std::move(*connection));
  worker.Run(timeout->value_or(std::chrono::milliseconds(0)), *idle_exit, prefetch);
  return {};
}

}  // namespace

void AddWorkCommand(CLI::App& app, Context& context) {
  auto options = std::make_shared<WorkOptions>();
  CLI::App& command = *app.add_subcommand("work", "Run a command for every task: payload on stdin, result on stdout");
  command.add_option("COMMAND", options->command.argv, "The command and its arguments, best after --")->required();
  command.add_option("-j,--jobs", options->jobs, "How many at a time (1)")
      ->type_name("N")
      ->check(CLI::Range(1u, bounds::kMaxSlots));
  command.add_option("--name", options->name, "The worker's name (host and process id)")->type_name("NAME");
  command.add_option("--timeout", options->timeout, "Stop a task that takes longer; a failed attempt")
      ->type_name("DURATION");
  command.add_option("--prefetch", options->prefetch, "Tasks to fetch ahead; auto: as many as -j, if they are short")
      ->type_name("N|auto");
  command.add_flag("--raw", options->command.raw, "The payload as it is, without a newline after it");
  command.add_flag("--json-result", options->command.json_result, "The output is JSON, not text");
  command
      .add_option("--final-status", options->command.final_status, "The exit status that fails a task for good (100)")
      ->type_name("N")
      ->check(CLI::Range(1, 255));
  command.add_flag("--once", options->once, "Run one task, then stop");
  command.add_option("--idle-exit", options->idle_exit, "Stop when there was nothing to do for so long")
      ->type_name("DURATION");
  command.add_flag("--quiet", options->quiet, "Say nothing of the connection, nor pass stderr on");
  AddWorkerDescription(command, options->description);
  command.positionals_at_end();
  AddConnectionOptions(command, context);
  command.callback([&context, options] {
    options->command.pass_stderr = !options->quiet;
    if (auto ran = Work(context, *options); !ran) context.Fail(ran.error());
  });
}

}  // namespace allot::cli
