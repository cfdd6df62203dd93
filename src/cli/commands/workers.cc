// SPDX-License-Identifier: Apache-2.0
// allot workers, worker, worker set, drain.
#include <iostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/spec_options.h"
#include "cli/text/strategy_text.h"
#include "cli/text/worker_text.h"
#include "cli/worker_options.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::WorkerInfo;

Result<void> ListWorkers(const Context& context, Client& client) {
  WorkerList table;
  const std::int64_t now = NowMillis();
  std::string after;
  bool first = true;
  if (context.format == Format::kJson) std::cout << "{\"workers\":[";
  do {
    auto page = client.workers().List(after);
    if (!page) return page.error();
    for (const WorkerInfo& worker : page->workers) {
      switch (context.format) {
        case Format::kTable:
          table.Add(worker, now);
          break;
        case Format::kId:
          std::cout << worker.id << '\n';
          break;
        case Format::kNdjson:
          std::cout << worker.json << '\n';
          break;
        case Format::kJson:
          std::cout << (first ? "\n" : ",\n") << worker.json;
          break;
      }
      first = false;
    }
    after = page->next;
  } while (!after.empty() && std::cout);
  if (context.format == Format::kJson) std::cout << "\n]}\n";
  if (context.format == Format::kTable) std::cout << table.Text(StdoutStyle());
  return {};
}

std::string PropertyText(const allotter::Properties& properties) {
  allotter::Meta pairs;
  for (const auto& [key, value] : properties) pairs.emplace_back(key, value);
  return MetaText(pairs);
}

void Print(const WorkerInfo& worker) {
  std::cout << Fields({{"worker", worker.id},
                       {"name", worker.name},
                       {"state", StateOf(worker)},
                       {"tags", Joined(worker.tags)},
                       {"properties", PropertyText(worker.properties)},
                       {"constraint tags", worker.properties.empty() ? "" : Joined(worker.constraint_tags, " ")},
                       {"attributes", MetaText(worker.attributes)},
                       {"requirements", worker.requirements},
                       {"rank", worker.rank},
                       {"strategy", worker.strategy},
                       {"slots", std::to_string(worker.slots)},
                       {"running", std::to_string(worker.running)},
                       {"queue", PromisedText(worker)},
                       {"wants", std::to_string(worker.credit)},
                       {"address", worker.address},
                       {"user", worker.user},
                       {"registered", TimeText(worker.registered_at_ms)},
                       {"last seen", TimeText(worker.last_seen_at_ms)}},
                      StdoutStyle());
  if (!worker.tasks.empty()) {
    Table table({{"JOB"}, {"INDEX", true}});
    for (const auto& [job, index] : worker.tasks) table.Add({job, std::to_string(index)});
    std::cout << '\n' << table.Text(StdoutStyle());
  }
  if (const std::string queue = QueueText(worker, StdoutStyle()); !queue.empty()) std::cout << '\n' << queue;
}

}  // namespace

void AddWorkerCommands(CLI::App& app, Context& context) {
  OnRun(*app.add_subcommand("workers", "ListWorkers workers"), context,
        [&context](Client& client) { return ListWorkers(context, client); });

  CLI::App& worker = *app.add_subcommand(
      "worker", "Show a worker, what it holds and its queue; `worker set` changes one, `worker next` looks ahead");
  auto id = std::make_shared<std::string>();
  worker.add_option("WORKER", *id, "A worker's id");
  OnRun(worker, context, [&context, id](Client& client) -> Result<void> {
    if (id->empty()) return Error{Code::kBadValue, "WORKER is required", "`allot workers` lists them"};
    auto found = client.workers().Get(*id);
    if (!found) return found.error();
    Show(context, found->json, found->id, [&] { Print(*found); });
    return {};
  });

  CLI::App& set = *worker.add_subcommand("set", "Change a worker: waiting jobs are matched anew, what it holds stays");
  auto set_id = std::make_shared<std::string>();
  auto change = std::make_shared<WorkerChangeOptions>();
  set.add_option("WORKER", *set_id, "A worker's id")->required();
  AddWorkerChangeOptions(set, *change);
  OnRun(set, context, [&context, set_id, change](Client& client) -> Result<void> {
    auto wanted = ToWorkerChange(*change);
    if (!wanted) return wanted.error();
    if (wanted->strategy && !wanted->strategy->empty()) {
      auto checked = CheckStrategyText("strategy", *wanted->strategy, false, client.options());
      if (!checked) return checked.error();
    }
    auto changed = client.workers().Change(*set_id, *wanted);
    if (!changed) return changed.error();
    Show(context, changed->json, changed->id, [&] { Print(*changed); });
    return {};
  });

  CLI::App& next = *worker.add_subcommand("next", "What a worker would get next and why, and why not the others");
  auto next_id = std::make_shared<std::string>();
  auto count = std::make_shared<std::uint32_t>(5);
  next.add_option("WORKER", *next_id, "A worker's id")->required();
  next.add_option("-n,--count", *count, "How many tasks to show")
      ->type_name("N")
      ->check(CLI::Range(1, 50))
      ->capture_default_str();
  OnRun(next, context, [&context, next_id, count](Client& client) -> Result<void> {
    auto outlook = client.workers().Next(*next_id, *count);
    if (!outlook) return outlook.error();
    Show(context, outlook->json, outlook->worker, [&] { std::cout << OutlookText(*outlook, StdoutStyle()); });
    return {};
  });

  CLI::App& drain = *app.add_subcommand("drain", "Let workers finish what they hold, and go");
  auto ids = std::make_shared<std::vector<std::string>>();
  drain.add_option("WORKER", *ids, "A worker's id")->required();
  OnRun(drain, context, [&context, ids](Client& client) -> Result<void> {
    for (const std::string& one : *ids) {
      auto drained = client.workers().Drain(one);
      if (!drained) return drained.error();
      Show(context, drained->json, drained->id, [&] { std::cout << drained->id << ' ' << StateOf(*drained) << '\n'; });
    }
    return {};
  });
}

}  // namespace allot::cli
