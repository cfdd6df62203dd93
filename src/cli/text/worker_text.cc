// SPDX-License-Identifier: Apache-2.0
#include "cli/text/worker_text.h"

#include <utility>

#include "base/text.h"
#include "cli/commands/strategy_try.h"
#include "cli/text/explain.h"

namespace allot::cli {
namespace {

std::string Count(std::uint64_t number, std::string_view noun) {
  return FormatCount(number) + ' ' + std::string(noun) + (number == 1 ? "" : "s");
}

}  // namespace

std::string StateOf(const allotter::WorkerInfo& worker) {
  if (worker.away) return "away";
  if (worker.draining) return "draining";
  return worker.connected ? "connected" : "polling";
}

void WorkerList::Add(const allotter::WorkerInfo& worker, std::int64_t now_ms) {
  balanced_ = balanced_ || worker.promised.has_value();
  rows_.push_back({{worker.id, worker.name, StateOf(worker), Joined(worker.tags), std::to_string(worker.slots),
                    std::to_string(worker.running)},
                   std::to_string(worker.credit),
                   worker.promised ? FormatCount(*worker.promised) : "-",
                   AgeText(worker.registered_at_ms, now_ms)});
}

std::string WorkerList::Text(Style style) const {
  if (rows_.empty()) return "no workers\n";
  std::vector<Table::Column> columns = {{"ID"}, {"NAME"}, {"STATE"}, {"TAGS"}, {"SLOTS", true}, {"RUNNING", true}};
  columns.push_back(balanced_ ? Table::Column{"QUEUE", true} : Table::Column{"WANTS", true});
  columns.push_back({"SINCE"});
  Table table(std::move(columns));
  table.ColourStates(2);
  for (const Row& row : rows_) {
    std::vector<std::string> cells = row.cells;
    cells.push_back(balanced_ ? row.queue : row.wants);
    cells.push_back(row.since);
    table.Add(std::move(cells));
  }
  return table.Text(style);
}

std::string PromisedText(const allotter::WorkerInfo& worker) {
  if (!worker.promised) return "";
  if (*worker.promised == 0) return "empty";
  return Count(*worker.promised, "task") + " of " + Count(worker.promised_jobs.value_or(0), "job");
}

std::string QueueText(const allotter::WorkerInfo& worker, Style style) {
  const std::uint64_t jobs = worker.promised_jobs.value_or(0);
  if (worker.queue.empty()) return jobs == 0 ? "" : "the jobs in its queue are not shown to this token\n";
  Table table({{"JOB"}, {"TASKS", true}, {"PRIO", true}, {"USER"}, {"TAGS"}});
  for (const allotter::PromisedShare& share : worker.queue) {
    table.Add({share.job, FormatCount(share.tasks), share.priority ? std::to_string(*share.priority) : "-",
               share.user.empty() ? "-" : share.user, Joined(share.tags)});
  }
  std::string out = table.Text(style);
  if (jobs > worker.queue.size()) out += "and " + FormatCount(jobs - worker.queue.size()) + " more\n";
  return out;
}

std::string OutlookText(const allotter::WorkerOutlook& outlook, Style style) {
  std::string out = Fields({{"strategy", outlook.next.strategy}, {"policy", outlook.next.policy}}, style);
  if (!outlook.next.picks.empty()) out += "\n" + PicksText(outlook.next.picks, style);
  if (!outlook.others.empty()) {
    Table table({{"NOT", true}, {"STAGE"}, {"EXAMPLE"}, {"WHY"}});
    for (const allotter::WorkerOutlook::Other& other : outlook.others) {
      table.Add({Count(other.tasks, "task"), other.stage, other.job.empty() ? "-" : other.job, other.message});
    }
    out += "\n" + table.Text(style);
  }
  if (!outlook.next.complete) out += "\nthis is not all: there was no time to look at every job\n";
  return out + "\n" + ReasonText(outlook.verdict, NowMillis(), style);
}

}  // namespace allot::cli
