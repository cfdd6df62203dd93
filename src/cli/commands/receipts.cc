// SPDX-License-Identifier: Apache-2.0
// allot receipt, receipts: how starts were decided.
#include <iostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/selector.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::Receipt;

std::string NameOf(const Receipt& receipt) {
  return receipt.worker_name.empty() ? receipt.worker : receipt.worker_name + " (" + receipt.worker + ")";
}

void Print(const Receipt& receipt) {
  const Style style = StdoutStyle();
  std::cout << Fields({{"task", std::to_string(receipt.index) + " of job " + receipt.job},
                       {"user", receipt.user},
                       {"attempt", std::to_string(receipt.attempt)},
                       {"worker", NameOf(receipt)},
                       {"started", TimeText(receipt.at_ms)},
                       {"waited", FormatDuration(std::chrono::milliseconds(receipt.waited_ms))},
                       {"strategy", receipt.strategy},
                       {"policy", receipt.policy}},
                      style);
  Table table({{"STAGE"}, {"WHY"}});
  for (const Receipt::Stage& stage : receipt.stages) table.Add({stage.stage, stage.text});
  for (const allotter::StrategyPreview::Step& step : receipt.why) table.Add({step.of, step.text});
  if (!table.empty()) std::cout << '\n' << table.Text(style);
}

Result<void> List(const Context& context, Client& client, std::size_t limit) {
  auto page = client.tasks().Receipts({}, limit);
  if (!page) return page.error();
  Table table({{"STARTED"}, {"JOB"}, {"TASK", true}, {"USER"}, {"WORKER"}, {"WAITED", true}, {"WHY"}});
  bool first = true;
  if (context.format == Format::kJson) std::cout << "{\"receipts\":[";
  for (const Receipt& receipt : page->receipts) {
    switch (context.format) {
      case Format::kTable:
        table.Add({TimeText(receipt.at_ms), receipt.job, std::to_string(receipt.index),
                   receipt.user.empty() ? "-" : receipt.user,
                   receipt.worker_name.empty() ? receipt.worker : receipt.worker_name,
                   FormatDuration(std::chrono::milliseconds(receipt.waited_ms)),
                   receipt.why.empty() ? "-" : receipt.why.back().text});
        break;
      case Format::kJson:
        std::cout << (first ? "" : ",") << receipt.json;
        break;
      case Format::kNdjson:
        std::cout << receipt.json << '\n';
        break;
      case Format::kId:
        std::cout << receipt.job << '\n';
        break;
    }
    first = false;
  }
  if (context.format == Format::kJson) std::cout << "]}\n";
  if (context.format == Format::kTable) {
    std::cout << (table.empty() ? std::string("no starts are remembered\n") : table.Text(StdoutStyle()));
  }
  return {};
}

}  // namespace

void AddReceiptCommands(CLI::App& app, Context& context) {
  CLI::App& one = *app.add_subcommand("receipt", "How the last start of a task was decided");
  auto job = std::make_shared<std::string>();
  auto index = std::make_shared<std::uint64_t>(0);
  one.add_option("JOB", *job, kJobHelp);
  one.add_option("TASK", *index, "The task's index (0)");
  OnRun(one, context, [&context, job, index](Client& client) -> Result<void> {
    auto id = FindJob(client, job->empty() ? "last" : *job);
    if (!id) return id.error();
    auto receipt = client.tasks().Receipt(*id, *index);
    if (!receipt) return receipt.error();
    Show(context, receipt->json, receipt->job, [&] { Print(*receipt); });
    return {};
  });

  CLI::App& all = *app.add_subcommand("receipts", "The latest starts, and how they were decided");
  auto limit = std::make_shared<std::size_t>(20);
  all.add_option("-n,--limit", *limit, "How many")->type_name("N")->check(CLI::Range(1, 1000))->capture_default_str();
  OnRun(all, context, [&context, limit](Client& client) { return List(context, client, *limit); });
}

}  // namespace allot::cli
