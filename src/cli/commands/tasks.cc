// SPDX-License-Identifier: Apache-2.0
// allot tasks, results, wait.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "allotter/job_waiter.h"
#include "base/state_words.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/follow.h"
#include "cli/selector.h"
#include "cli/text/payload_text.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::Task;

struct TasksOptions {
  std::string job;
  allotter::TaskQuery query;
  std::optional<std::uint64_t> index;
  std::size_t limit = 50;
  bool all = false;
};

// `25% (3 of 12) frames`.
std::string DoneText(const allotter::TaskProgress& progress) {
  std::string text = fmt::format("{:g}", progress.done);
  if (progress.of && *progress.of > 0) {
    const double part = std::clamp(progress.done / *progress.of, 0.0, 1.0);
    text = fmt::format("{:.0f}% ({} of {:g})", std::floor(part * 100), text, *progress.of);
  }
  return progress.note.empty() ? text : text + " " + progress.note;
}

std::vector<Table::Column> TaskColumns() {
  return {{"INDEX", true}, {"STATE"}, {"ATTEMPTS", true}, {"WORKER"}, {"SINCE"}, {"PROGRESS"}, {"ERROR"}};
}

Result<void> ShowTask(const Context& context, Client& client, const std::string& job, std::uint64_t index) {
  auto task = client.tasks().Get(job, index);
  if (!task) return task.error();
  Show(context, task->json, std::to_string(task->index), [&] {
    std::cout << Fields({{"task", std::to_string(task->index)},
                         {"state", task->state},
                         {"attempts", task->attempts == 0 ? "" : std::to_string(task->attempts)},
                         {"worker", task->worker},
                         {"since", task->started_at_ms ? TimeText(task->started_at_ms) : ""},
                         {"progress", task->progress ? DoneText(*task->progress) : ""},
                         {"next attempt", task->retry_at_ms ? TimeText(task->retry_at_ms) : ""},
                         {"error", task->error},
                         {"payload", JsonToBytes(task->payload)},
                         {"result", JsonToBytes(task->result)}},
                        StdoutStyle());
  });
  return {};
}

Result<void> ListTasks(const Context& context, Client& client, const TasksOptions& options) {
  auto job = FindJob(client, options.job);
  if (!job) return job.error();
  if (options.index) return ShowTask(context, client, *job, *options.index);
  Table table(TaskColumns());
  table.ColourStates(1);
  allotter::TaskQuery query = options.query;
  std::size_t left = options.all ? SIZE_MAX : options.limit;
  bool first = true, more = false;
  if (context.format == Format::kJson) std::cout << "{\"tasks\":[";
  while (left > 0) {
    query.limit = std::min<std::size_t>(left, 1000);
    auto page = client.tasks().List(*job, query);
    if (!page) return page.error();
    for (const Task& task : page->tasks) {
      if (left == 0) break;
      --left;
      switch (context.format) {
        case Format::kTable:
          table.Add({std::to_string(task.index), task.state, task.attempts == 0 ? "-" : std::to_string(task.attempts),
                     task.worker.empty() ? "-" : task.worker, task.started_at_ms ? TimeText(task.started_at_ms) : "-",
                     task.progress ? DoneText(*task.progress) : "-", task.error});
          break;
        case Format::kId:
          std::cout << task.index << '\n';
          break;
        case Format::kNdjson:
          std::cout << task.json << '\n';
          break;
        case Format::kJson:
          std::cout << (first ? "\n" : ",\n") << task.json;
          break;
      }
      first = false;
    }
    more = page->next.has_value();
    if (!more || !std::cout) break;
    query.from = *page->next;
    // A table of everything is printed piece by piece: a job may have millions of tasks.
    if (options.all && context.format == Format::kTable && !table.empty()) {
      std::cout << table.Text(StdoutStyle());
      table = Table(TaskColumns());
      table.ColourStates(1);
    }
  }
  if (context.format == Format::kJson) std::cout << "\n]}\n";
  if (context.format == Format::kTable) {
    if (!table.empty()) std::cout << table.Text(StdoutStyle());
    if (table.empty() && first) std::cout << "no tasks\n";
    if (more && StdoutStyle().terminal)
      std::cout << Paint(Colour::kDim, "there are more: --limit N or --all", StdoutStyle()) << '\n';
  }
  return {};
}

// Several jobs, over one connection; in the order in which they end.
Result<void> WaitForMany(Context& context, Client& client, const std::vector<std::string>& ids) {
  auto waiter = allotter::JobWaiter::Open(client.options());
  if (!waiter) return waiter.error();
  if (auto added = waiter->Add(ids); !added) return added.error();
  for (std::size_t left = ids.size(); left > 0;) {
    auto ended = waiter->Next();
    if (!ended) return ended.error();
    for (const auto& one : *ended) {
      if (left > 0) --left;
      if (one.state.empty()) {
        context.Fail(Error{Code::kUnknownJob, "there is no job " + one.id, "it may be past its retention"});
        continue;
      }
      if (context.format == Format::kTable) {
        std::cout << one.id << ' ' << Visible(one.state) << '\n';
      } else {
        auto job = client.jobs().Get(one.id);
        if (!job) return job.error();
        Show(context, job->json, job->id, [] {});
      }
      std::cout.flush();
      if (one.state != "done" && context.exit_code == ExitCode::kOk) context.exit_code = ExitCode::kFailed;
    }
  }
  return {};
}

Result<void> Wait(Context& context, Client& client, const std::vector<std::string>& selectors, bool quiet) {
  std::vector<std::string> ids;
  for (const std::string& selector : selectors) {
    auto found = FindJob(client, selector);
    if (!found) return found.error();
    if (*found == "last") {  // fixed now: later there may be a newer one
      auto job = client.jobs().Get(*found);
      if (!job) return job.error();
      found = job->id;
    }
    if (std::find(ids.begin(), ids.end(), *found) == ids.end()) ids.push_back(*found);
  }
  if (ids.size() > 1) return WaitForMany(context, client, ids);
  auto ended = Follow(context, client, ids.front(), {.progress = !quiet});
  if (!ended) return ended.error();
  Show(context, ended->json, ended->id, [&] { std::cout << ended->id << ' ' << Visible(ended->state) << '\n'; });
  context.exit_code = ExitCodeOfJob(*ended);
  return {};
}

}  // namespace

void AddTaskCommands(CLI::App& app, Context& context) {
  CLI::App& tasks = *app.add_subcommand("tasks", "List a job's tasks, or show one with payload and result");
  auto list = std::make_shared<TasksOptions>();
  tasks.add_option("JOB", list->job, kJobHelp)->required();
  tasks.add_option("INDEX", list->index, "Only this one, in full");
  tasks.add_option("--state", list->query.state, "Only those in this state")
      ->type_name("STATE")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kTaskStateWords), std::end(kTaskStateWords))));
  tasks.add_option("--from", list->query.from, "Beginning with this index")->type_name("INDEX");
  tasks.add_option("-n,--limit", list->limit, "At most so many (50)")->type_name("N");
  tasks.add_flag("-a,--all", list->all, "All of them");
  OnRun(tasks, context, [&context, list](Client& client) { return ListTasks(context, client, *list); });

  CLI::App& results = *app.add_subcommand("results", "Print results, one per line in order; waits while the job runs");
  auto job = std::make_shared<std::string>();
  auto follow = std::make_shared<FollowOptions>();
  auto quiet = std::make_shared<bool>(false);
  results.add_option("JOB", *job, kJobHelp)->required();
  auto* from = results.add_option("--from", follow->from, "Beginning with this index")->type_name("INDEX");
  results.add_flag("--as-completed", follow->as_completed, "In the order in which tasks end")->excludes(from);
  results.add_flag("--quiet", *quiet, "No progress");
  OnRun(results, context, [&context, job, follow, quiet](Client& client) -> Result<void> {
    auto found = FindJob(client, *job);
    if (!found) return found.error();
    auto now = client.jobs().Get(*found);  // fixes `last`
    if (!now) return now.error();
    follow->results = true;
    follow->progress = !*quiet && !now->ended();
    auto ended = Follow(context, client, now->id, *follow);
    if (!ended) return ended.error();
    context.exit_code = ExitCodeOfJob(*ended);
    return {};
  });

  CLI::App& wait = *app.add_subcommand("wait", "Stay until jobs have ended; 0 if all are done");
  auto ids = std::make_shared<std::vector<std::string>>();
  auto wait_quiet = std::make_shared<bool>(false);
  wait.add_option("JOB", *ids, kJobHelp)->required();
  wait.add_flag("--quiet", *wait_quiet, "No progress");
  OnRun(wait, context,
        [&context, ids, wait_quiet](Client& client) { return Wait(context, client, *ids, *wait_quiet); });
}

}  // namespace allot::cli
