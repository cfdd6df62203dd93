// SPDX-License-Identifier: Apache-2.0
// allot jobs, job, job set, cancel, pause, resume, retry.
#include <iostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/selector.h"
#include "cli/spec_options.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::Job;

std::string CountCell(std::uint64_t number) { return number == 0 ? "-" : FormatCount(number); }

void AddJobRow(Table& table, const Job& job, std::int64_t now) {
  table.Add({job.id, job.state, Joined(job.tags), job.priority ? std::to_string(*job.priority) : "-",
             job.user.empty() ? "-" : job.user, FormatCount(job.count), CountCell(job.done), CountCell(job.failed),
             CountCell(job.running), CountCell(job.queued), CountCell(job.retrying),
             AgeText(job.submitted_at_ms, now)});
}

Table JobTable() {
  Table table({{"ID"},
               {"STATE"},
               {"TAGS"},
               {"PRIO", true},
               {"USER"},
               {"TASKS", true},
               {"DONE", true},
               {"FAILED", true},
               {"RUNNING", true},
               {"QUEUED", true},
               {"RETRYING", true},
               {"AGE"}});
  table.ColourStates(1);
  return table;
}

struct ListOptions {
  allotter::JobQuery query;
  std::size_t limit = 20;
  bool all = false;
};

Result<void> List(const Context& context, Client& client, const ListOptions& options) {
  allotter::JobQuery query = options.query;
  Table table = JobTable();
  const std::int64_t now = NowMillis();
  std::size_t left = options.all ? SIZE_MAX : options.limit;
  bool first = true;
  bool more = false;
  if (context.format == Format::kJson) std::cout << "{\"jobs\":[";
  while (left > 0) {
    query.limit = std::min<std::size_t>(left, 1000);
    auto page = client.jobs().List(query);
    if (!page) return page.error();
    for (const Job& job : page->jobs) {
      if (left-- == 0) break;
      switch (context.format) {
        case Format::kTable:
          AddJobRow(table, job, now);
          break;
        case Format::kId:
          std::cout << job.id << '\n';
          break;
        case Format::kNdjson:
          std::cout << job.json << '\n';
          break;
        case Format::kJson:
          std::cout << (first ? "\n" : ",\n") << job.json;
          break;
      }
      first = false;
      if (left == 0) break;
    }
    more = !page->next.empty();
    if (!more || !std::cout) break;
    query.before = page->next;
  }
  if (context.format == Format::kJson) std::cout << "\n]}\n";
  if (context.format == Format::kTable) {
    std::cout << (table.empty() ? "no jobs\n" : table.Text(StdoutStyle()));
    if (more && StdoutStyle().terminal)
      std::cout << Paint(Colour::kDim, "there are more: --limit N or --all", StdoutStyle()) << '\n';
  }
  return {};
}

void PrintJob(const Job& job) {
  const auto time = [](std::optional<std::int64_t> at) { return at && *at != 0 ? TimeText(at) : std::string(); };
  std::string took;
  if (job.started_at_ms && job.ended_at_ms)
    took = FormatDuration(std::chrono::milliseconds(*job.ended_at_ms - *job.started_at_ms));
  const auto count = [](std::uint64_t n) { return n == 0 ? std::string() : FormatCount(n); };
  std::cout << Fields({{"job", job.id},
                       {"state", job.state},
                       {"reason", job.reason},
                       {"tags", Joined(job.tags)},
                       {"constraint tags", Joined(job.constraint_tags, " or ")},
                       {"requirements", job.requirements},
                       {"rank", job.rank},
                       {"meta", MetaText(job.meta)},
                       {"priority", job.priority ? std::to_string(*job.priority) : ""},
                       {"user", job.user},
                       {"tasks", FormatCount(job.count)},
                       {"  done", count(job.done)},
                       {"  failed", count(job.failed)},
                       {"  skipped", count(job.skipped)},
                       {"  running", count(job.running)},
                       {"  queued", count(job.queued)},
                       {"    promised", count(job.promised)},
                       {"  retrying", count(job.retrying)},
                       {"submitted", time(job.submitted_at_ms)},
                       {"not before", job.scheduled_at_ms > job.submitted_at_ms ? time(job.scheduled_at_ms) : ""},
                       {"started", time(job.started_at_ms)},
                       {"ended", time(job.ended_at_ms)},
                       {"took", took},
                       {"next retry", job.ended() ? "" : time(job.next_retry_at_ms)}},
                      StdoutStyle());
}

void ShowJob(const Context& context, const Job& job) {
  Show(context, job.json, job.id, [&] { PrintJob(job); });
}

// cancel, pause, resume: the same call for each of several jobs.
void AddChangeCommand(CLI::App& app, Context& context, const char* name, const char* help,
                      Result<Job> (allotter::Jobs::*call)(std::string_view)) {
  CLI::App& command = *app.add_subcommand(name, help);
  auto ids = std::make_shared<std::vector<std::string>>();
  command.add_option("JOB", *ids, kJobHelp)->required();
  OnRun(command, context, [&context, ids, call](Client& client) -> Result<void> {
    for (const std::string& id : *ids) {
      auto job = FindJob(client, id);
      if (!job) return job.error();
      auto changed = (client.jobs().*call)(*job);
      if (!changed) return changed.error();
      Show(context, changed->json, changed->id, [&] { std::cout << changed->id << ' ' << changed->state << '\n'; });
    }
    return {};
  });
}

}  // namespace

void AddJobCommands(CLI::App& app, Context& context) {
  CLI::App& jobs = *app.add_subcommand("jobs", "List jobs, newest first");
  auto list = std::make_shared<ListOptions>();
  jobs.add_option("--state", list->query.state, "Only those in this state")
      ->type_name("STATE")
      ->check(CLI::IsMember({"scheduled", "active", "paused", "done", "failed", "cancelled"}));
  jobs.add_option("-t,--tag", list->query.tag, "Only those with this tag")->type_name("TAG");
  jobs.add_option("-u,--user", list->query.user, "Only those of this user")->type_name("USER");
  jobs.add_option("-n,--limit", list->limit, "At most so many (20)")->type_name("N");
  jobs.add_flag("-a,--all", list->all, "All of them");
  OnRun(jobs, context, [&context, list](Client& client) { return List(context, client, *list); });

  CLI::App& job = *app.add_subcommand("job", "Show a job; `job set` changes one");
  auto id = std::make_shared<std::string>();
  job.add_option("JOB", *id, kJobHelp);
  OnRun(job, context, [&context, id](Client& client) -> Result<void> {
    auto found = FindJob(client, id->empty() ? "last" : *id);
    if (!found) return found.error();
    auto shown = client.jobs().Get(*found);
    if (!shown) return shown.error();
    ShowJob(context, *shown);
    return {};
  });

  CLI::App& set = *job.add_subcommand("set", "Change a job that has not ended; what runs goes on");
  auto set_id = std::make_shared<std::string>();
  auto change = std::make_shared<ChangeOptions>();
  set.add_option("JOB", *set_id, kJobHelp)->required();
  AddChangeOptions(set, *change);
  OnRun(set, context, [&context, set_id, change](Client& client) -> Result<void> {
    auto wanted = ToChange(*change);
    if (!wanted) return wanted.error();
    auto found = FindJob(client, *set_id);
    if (!found) return found.error();
    auto changed = client.jobs().Change(*found, *wanted);
    if (!changed) return changed.error();
    ShowJob(context, *changed);
    return {};
  });

  AddChangeCommand(app, context, "cancel", "Cancel jobs: what waits is skipped, what runs is stopped",
                   &allotter::Jobs::Cancel);
  AddChangeCommand(app, context, "pause", "Pause jobs: nothing new starts, what runs goes on", &allotter::Jobs::Pause);
  AddChangeCommand(app, context, "resume", "Resume paused jobs", &allotter::Jobs::Resume);

  CLI::App& retry = *app.add_subcommand("retry", "Run failed and skipped tasks of ended jobs again");
  auto ids = std::make_shared<std::vector<std::string>>();
  retry.add_option("JOB", *ids, kJobHelp)->required();
  OnRun(retry, context, [&context, ids](Client& client) -> Result<void> {
    for (const std::string& one : *ids) {
      auto found = FindJob(client, one);
      if (!found) return found.error();
      auto retried = client.jobs().Retry(*found);
      if (!retried) return retried.error();
      Show(context, retried->json, retried->job.id,
           [&] { std::cout << retried->job.id << ' ' << FormatCount(retried->retried) << " tasks will run again\n"; });
    }
    return {};
  });
}

}  // namespace allot::cli
