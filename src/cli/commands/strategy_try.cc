// SPDX-License-Identifier: Apache-2.0
// allot strategy try: which tasks a worker would get, and why.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands/strategy_try.h"
#include "cli/context.h"
#include "cli/text/strategy_text.h"
#include "cli/worker_options.h"

namespace allot::cli {
namespace {

using allotter::StrategyPreview;

struct TryOptions {
  std::string text, policy, worker;
  WorkerDescription like;
  std::uint32_t count = 20;
};

// Whatever would make it otherwise.
std::string Notes(const StrategyPreview& preview, Style style) {
  std::string out;
  const auto note = [&](std::string_view text) { out += Paint(Colour::kYellow, text, style) + "\n"; };
  if (preview.paused) note("the queue is paused: nothing is given until `allot queue resume`");
  if (preview.blocked_jobs > 0) {
    note(fmt::format("limits block {} of {} now, which are left out: `allot explain {}` says which limits",
                     Counted(preview.blocked_tasks, "task"), Counted(preview.blocked_jobs, "job"),
                     preview.blocked_job));
  }
  if (preview.limited && !preview.picks.empty()) note("after these, limits let nothing more start for now");
  if (preview.draining) note("the worker is draining: it gets no more tasks");
  if (!preview.complete) note("this is not all: there was no time to look at every job for every pick");
  return out;
}

}  // namespace

std::string PicksText(const std::vector<StrategyPreview::Pick>& picks, Style style) {
  Table table({{"PICK", true}, {"JOB"}, {"TASK", true}, {"USER"}, {"WHY"}});
  for (std::size_t i = 0; i < picks.size(); ++i) {
    const StrategyPreview::Pick& pick = picks[i];
    std::string task = pick.index ? std::to_string(*pick.index) : "-";
    for (std::size_t line = 0; line < std::max<std::size_t>(1, pick.why.size()); ++line) {
      const std::string why = line < pick.why.size() ? pick.why[line].text : "";
      if (line == 0) {
        table.Add({std::to_string(i + 1), pick.job, task, pick.user.empty() ? "-" : pick.user, why});
      } else {
        table.Add({"", "", "", "", why});
      }
    }
  }
  return table.Text(style);
}

std::string TryText(const StrategyPreview& preview, Style style) {
  std::string out = Fields({{"strategy", preview.strategy}, {"policy", preview.policy}}, style);
  out += fmt::format("{} of {} {} a queued task for this worker, {} in all\n", FormatCount(preview.may_run),
                     Counted(preview.jobs_looked_at, "job"), preview.may_run == 1 ? "has" : "have",
                     Counted(preview.queued_tasks, "task"));
  if (preview.picks.empty()) {
    const bool none_open = preview.may_run > 0 && preview.complete;
    out += none_open                  ? "\nnothing: policy and strategy leave none of them\n"
           : preview.blocked_jobs > 0 ? "\nnothing: limits block it\n"
                                      : "\nnothing\n";
    return out + Notes(preview, style);
  }
  return out + "\n" + PicksText(preview.picks, style) + Notes(preview, style);
}

void AddTryCommand(CLI::App& family, Context& context) {
  CLI::App& command = *family.add_subcommand("try", "Which tasks a worker with it would get now, and why");
  auto options = std::make_shared<TryOptions>();
  command.add_option("TEXT", options->text, "The strategy, or its name in the server's configuration")
      ->required()
      ->type_name("");
  command.add_option("-n,--count", options->count, "How many tasks to show")
      ->type_name("N")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--policy", options->policy, "Below this policy instead of the queue's own")
      ->type_name("STRATEGY");
  CLI::Option* worker =
      command.add_option("--worker", options->worker, "A registered worker's id")->type_name("ID")->group("Matching");
  AddWorkerDescription(command, options->like);
  command.remove_option(command.get_option("--strategy"));
  for (const char* name : {"--tag", "--property", "--attribute", "--requirements", "--rank"}) {
    worker->excludes(command.get_option(name));
  }
  OnRun(command, context, [&context, options](allotter::Client& client) -> Result<void> {
    const auto& connection = client.options();
    if (auto ok = CheckStrategyText("strategy", options->text, false, connection); !ok) return ok.error();
    if (!options->policy.empty()) {
      if (auto ok = CheckStrategyText("policy", options->policy, true, connection); !ok) return ok.error();
    }
    auto like = ToWorkerChange(options->like);
    if (!like) return like.error();
    allotter::StrategyTry what{options->text, options->policy, options->worker, std::nullopt, options->count};
    if (!like->empty()) what.like = std::move(*like);
    auto preview = client.strategies().Try(what);
    if (!preview) return preview.error();
    switch (context.format) {
      case Format::kJson:
        std::cout << preview->json << '\n';
        break;
      case Format::kTable:
        std::cout << TryText(*preview, StdoutStyle());
        break;
      default:
        for (const StrategyPreview::Pick& pick : preview->picks) {
          std::cout << (context.format == Format::kId ? pick.job : pick.json) << '\n';
        }
    }
    return {};
  });
}

}  // namespace allot::cli
