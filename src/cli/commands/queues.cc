// SPDX-License-Identifier: Apache-2.0
// allot queue create|list|show|set|pause|resume|delete.
#include <iostream>
#include <sstream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/spec_options.h"
#include "cli/text/strategy_text.h"
#include "strategy/weights.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::Queue;

struct SettingOptions {
  std::string name;
  std::optional<std::uint64_t> max_finished_jobs;
  std::string worker_grace, max_result, max_limit_expiration, limit_ban_window, demand_lookahead, memory_budget;
  std::optional<std::string> property_keys;
  bool no_property_keys = false;
  std::optional<std::uint64_t> max_property_keys;
  std::string policy;
  std::optional<std::string> dispatch, balance;
  std::vector<std::string> weights, gone_weights;
  bool no_weights = false;
};

void AddSettingOptions(CLI::App& command, SettingOptions& options) {
  command.add_option("--max-finished-jobs", options.max_finished_jobs, "How many ended jobs are kept")->type_name("N");
  command
      .add_option("--worker-grace", options.worker_grace, "How long a worker that lost its connection may stay away")
      ->type_name("DURATION");
  command
      .add_option("--max-limit-expiration", options.max_limit_expiration,
                  "How long a limit lives without being renewed, at most")
      ->type_name("DURATION");
  command
      .add_option("--limit-ban-window", options.limit_ban_window,
                  "How long a user counts as denied after a limit denied it a start")
      ->type_name("DURATION");
  command
      .add_option("--demand-lookahead", options.demand_lookahead,
                  "Within which time the demand counts what limits can pay for")
      ->type_name("DURATION");
  command.add_option("--max-result-bytes", options.max_result, "How large a result may be, as in 64KiB")
      ->type_name("SIZE");
  command
      .add_option("--memory-budget", options.memory_budget,
                  "How much memory it may use, as in 4GiB; 0: as much as the server has for all queues")
      ->type_name("SIZE");
  command
      .add_option("--property-keys", options.property_keys, "Which properties workers may have, as in gpu,mem,region")
      ->type_name("KEYS");
  command.add_flag("--no-property-keys", options.no_property_keys, "None");
  command.add_option("--max-property-keys", options.max_property_keys, "How many of them there may be (3; at most 6)")
      ->type_name("N");
  command
      .add_option("--policy", options.policy,
                  "What holds for all workers: a strategy with the word worker in it; worker alone: nothing")
      ->type_name("STRATEGY")
      ->check(CLI::Validator(
          [](std::string& text) { return text.empty() ? "a policy must not be empty: worker is none" : ""; }, ""));
  command
      .add_option("--dispatch", options.dispatch,
                  "Who holds a queued task: fanout, all workers that may run it; balanced, one of them")
      ->type_name("MODE");
  command
      .add_option("--balance", options.balance,
                  "Which one, where dispatch is balanced: least_queue, round_robin or random")
      ->type_name("CHOICE");
  command
      .add_option("--weight", options.weights,
                  "Shares of a value under `fair`, as in user.acme=3; may be repeated; others stay")
      ->type_name("KEY.VALUE=N")
      ->allow_extra_args(false);
  command.add_option("--no-weight", options.gone_weights, "One share again, as in user.acme; may be repeated")
      ->type_name("KEY.VALUE")
      ->allow_extra_args(false);
  command.add_flag("--no-weights", options.no_weights, "One share for everyone");
}

Result<allotter::QueueSettings> ToSettings(const SettingOptions& options, const Client& client) {
  allotter::QueueSettings settings;
  settings.max_finished_jobs = options.max_finished_jobs;
  auto grace = DurationOption("--worker-grace", options.worker_grace);
  if (!grace) return grace.error();
  settings.worker_grace = *grace;
  auto expiration = DurationOption("--max-limit-expiration", options.max_limit_expiration);
  if (!expiration) return expiration.error();
  settings.max_limit_expiration = *expiration;
  auto ban = DurationOption("--limit-ban-window", options.limit_ban_window);
  if (!ban) return ban.error();
  settings.limit_ban_window = *ban;
  auto lookahead = DurationOption("--demand-lookahead", options.demand_lookahead);
  if (!lookahead) return lookahead.error();
  settings.demand_lookahead = *lookahead;
  if (!options.max_result.empty()) {
    settings.max_result_bytes = ParseSize(options.max_result);
    if (!settings.max_result_bytes) {
      return Error{Code::kBadValue, "--max-result-bytes cannot be `" + options.max_result + "`",
                   "a size looks like 64KiB or 1MB"};
    }
  }
  if (!options.memory_budget.empty()) {
    settings.memory_budget_bytes = ParseSize(options.memory_budget);
    if (!settings.memory_budget_bytes) {
      return Error{Code::kBadValue, "--memory-budget cannot be `" + options.memory_budget + "`",
                   "a size looks like 512MiB or 4GiB"};
    }
  }
  settings.max_property_keys = options.max_property_keys;
  if (options.property_keys && options.no_property_keys)
    return Error{Code::kBadValue, "--no-property-keys and --property-keys exclude each other", ""};
  if (options.property_keys || options.no_property_keys) {
    auto& keys = settings.property_keys.emplace();
    std::istringstream list(options.property_keys.value_or(""));
    for (std::string key; std::getline(list, key, ',');) keys.push_back(key);
  }
  if (!options.policy.empty()) {
    if (auto checked = CheckStrategyText("policy", options.policy, true, client.options()); !checked)
      return checked.error();
    settings.policy = options.policy;
  }
  for (const auto& [flag, word] :
       {std::pair("--dispatch", &options.dispatch), std::pair("--balance", &options.balance)}) {
    if (*word && (*word)->empty()) return Error{Code::kBadValue, std::string(flag) + " must not be empty", ""};
  }
  settings.dispatch = options.dispatch;
  settings.balance = options.balance;
  if (options.no_weights && (!options.weights.empty() || !options.gone_weights.empty()))
    return Error{Code::kBadValue, "--no-weights and --weight exclude each other", ""};
  settings.no_weights = options.no_weights;
  for (const std::string& text : options.weights) {
    auto weight = ParseWeight(text);
    if (!weight) return Error{Code::kBadValue, "--weight: " + weight.error().message, weight.error().hint};
    settings.weights.emplace_back(*weight);
  }
  for (const std::string& text : options.gone_weights) {
    auto name = CheckWeightName(text);
    if (!name) return Error{Code::kBadValue, "--no-weight: " + name.error().message, name.error().hint};
    const bool both = std::any_of(settings.weights.begin(), settings.weights.end(),
                                  [&](const auto& weight) { return weight.first == *name; });
    if (both) return Error{Code::kBadValue, "--weight and --no-weight both name " + *name, ""};
    settings.weights.emplace_back(*name, 0);
  }
  return settings;
}

// Of very many the first ones.
std::string WeightsText(const allotter::QueueSettings& settings) {
  constexpr std::size_t kMost = 20;
  Weights shown;
  for (const auto& [name, weight] : settings.weights) {
    if (shown.size() < kMost) shown.emplace(name, static_cast<std::uint32_t>(weight));
  }
  const std::size_t more = settings.weights.size() - shown.size();
  return PrintWeights(shown) + (more > 0 ? ", and " + FormatCount(more) + " more" : "");
}

// Which worker is of interest only where it is one.
std::string DispatchText(const allotter::QueueSettings& settings) {
  const std::string mode = settings.dispatch.value_or("");
  return mode == "balanced" ? mode + ", " + settings.balance.value_or("") : mode;
}

// What uses it, without what is hardly anything.
std::string MemoryText(const Queue& queue) {
  std::string text = FormatSize(queue.memory_bytes);
  if (queue.memory_budget_bytes > 0) text += " of " + FormatSize(queue.memory_budget_bytes);
  std::string parts;
  for (const auto& [part, bytes] : queue.memory_parts) {
    if (bytes * 100 >= queue.memory_bytes && bytes > 0)
      parts += (parts.empty() ? "" : ", ") + part + " " + FormatSize(bytes);
  }
  return parts.empty() ? text : text + ": " + parts;
}

void Print(const Queue& queue) {
  std::cout << Fields(
      {{"queue", queue.name},
       {"state", queue.paused ? "paused" : "active"},
       {"tasks queued", FormatCount(queue.tasks_queued)},
       {"tasks running", FormatCount(queue.tasks_running)},
       {"tasks retrying", FormatCount(queue.tasks_retrying)},
       {"jobs", FormatCount(queue.jobs_active) + " active, " + FormatCount(queue.jobs_scheduled) + " scheduled, " +
                    FormatCount(queue.jobs_paused) + " paused, " + FormatCount(queue.jobs_done) + " done, " +
                    FormatCount(queue.jobs_failed) + " failed, " + FormatCount(queue.jobs_cancelled) + " cancelled"},
       {"workers", FormatCount(queue.workers) + ", " + FormatCount(queue.workers_waiting) + " waiting for tasks"},
       {"file", FormatSize(queue.file_bytes) + ", journal of " + FormatCount(queue.journal_rows)},
       {"memory", MemoryText(queue)},
       {"max finished jobs", FormatCount(queue.settings.max_finished_jobs.value_or(0))},
       {"worker grace", FormatDuration(queue.settings.worker_grace.value_or(std::chrono::milliseconds(0)))},
       {"max limit expiration",
        FormatDuration(queue.settings.max_limit_expiration.value_or(std::chrono::milliseconds(0)))},
       {"limit ban window", FormatDuration(queue.settings.limit_ban_window.value_or(std::chrono::milliseconds(0)))},
       {"demand lookahead", FormatDuration(queue.settings.demand_lookahead.value_or(std::chrono::milliseconds(0)))},
       {"max result", FormatSize(queue.settings.max_result_bytes.value_or(0))},
       {"property keys", Joined(queue.settings.property_keys.value_or(std::vector<std::string>()), ", ")},
       {"max property keys", FormatCount(queue.settings.max_property_keys.value_or(0))},
       {"policy", queue.settings.policy.value_or("")},
       {"weights", WeightsText(queue.settings)},
       {"dispatch", DispatchText(queue.settings)},
       {"created", queue.created_at_ms == 0 ? "" : TimeText(queue.created_at_ms)}},
      StdoutStyle());
}

Result<void> List(const Context& context, Client& client) {
  auto queues = client.queues().List();
  if (!queues) return queues.error();
  Table table({{"NAME"},
               {"STATE"},
               {"ACTIVE", true},
               {"QUEUED", true},
               {"RUNNING", true},
               {"WORKERS", true},
               {"DISPATCH"},
               {"FILE", true}});
  table.ColourStates(1);
  if (context.format == Format::kJson) std::cout << "{\"queues\":[";
  for (const Queue& queue : *queues) {
    switch (context.format) {
      case Format::kTable:
        table.Add({queue.name, queue.paused ? "paused" : "active", FormatCount(queue.jobs_active),
                   FormatCount(queue.tasks_queued), FormatCount(queue.tasks_running), FormatCount(queue.workers),
                   queue.settings.dispatch.value_or("-"), FormatSize(queue.file_bytes)});
        break;
      case Format::kId:
        std::cout << queue.name << '\n';
        break;
      case Format::kNdjson:
        std::cout << queue.json << '\n';
        break;
      case Format::kJson:
        std::cout << (&queue == queues->data() ? "\n" : ",\n") << queue.json;
        break;
    }
  }
  if (context.format == Format::kJson) std::cout << "\n]}\n";
  if (context.format == Format::kTable) std::cout << table.Text(StdoutStyle());
  return {};
}

// A command on one queue, named by its argument, else by --queue or ALLOT_QUEUE.
using QueueCall = std::function<Result<Queue>(Client&, const std::string& name)>;
void AddOne(CLI::App& parent, Context& context, const char* name, const char* help, const QueueCall& call, bool brief,
            const std::function<void(CLI::App&)>& more = {}) {
  CLI::App& command = *parent.add_subcommand(name, help);
  auto queue = std::make_shared<std::string>();
  command.add_option("NAME", *queue, "The queue's name");
  if (more) more(command);
  OnRun(command, context, [&context, queue, call, brief](Client& client) -> Result<void> {
    auto shown = call(client, queue->empty() ? client.options().queue : *queue);
    if (!shown) return shown.error();
    Show(context, shown->json, shown->name, [&] {
      if (!brief) return Print(*shown);
      std::cout << Visible(shown->name) << ' ' << (shown->paused ? "paused" : "active") << '\n';
    });
    return {};
  });
}

}  // namespace

void AddQueueCommands(CLI::App& app, Context& context) {
  CLI::App& queue = *app.add_subcommand("queue", "Create, show and change queues");
  queue.require_subcommand(1);

  auto created = std::make_shared<SettingOptions>();
  AddOne(
      queue, context, "create", "Create a queue",
      [created](Client& client, const std::string& name) -> Result<Queue> {
        auto settings = ToSettings(*created, client);
        if (!settings) return settings.error();
        return client.queues().Create(name, *settings);
      },
      true, [created](CLI::App& command) { AddSettingOptions(command, *created); });
  OnRun(*queue.add_subcommand("list", "List queues"), context,
        [&context](Client& client) { return List(context, client); });
  AddOne(
      queue, context, "show", "Show a queue",
      [](Client& client, const std::string& name) { return client.queues().Get(name); }, false);
  auto changed = std::make_shared<SettingOptions>();
  AddOne(
      queue, context, "set", "Change a queue's settings",
      [changed](Client& client, const std::string& name) -> Result<Queue> {
        auto settings = ToSettings(*changed, client);
        if (!settings) return settings.error();
        if (!settings->max_finished_jobs && !settings->worker_grace && !settings->max_result_bytes &&
            !settings->property_keys && !settings->max_property_keys && !settings->policy &&
            settings->weights.empty() && !settings->no_weights && !settings->max_limit_expiration &&
            !settings->limit_ban_window && !settings->demand_lookahead && !settings->dispatch && !settings->balance &&
            !settings->memory_budget_bytes) {
          return Error{Code::kBadValue, "nothing to change was named",
                       "`allot queue set --help` lists what can be changed"};
        }
        return client.queues().Change(name, *settings);
      },
      false, [changed](CLI::App& command) { AddSettingOptions(command, *changed); });
  AddOne(
      queue, context, "pause", "Hand nothing out; submits and reports go on",
      [](Client& client, const std::string& name) { return client.queues().Pause(name); }, true);
  AddOne(
      queue, context, "resume", "Hand out again",
      [](Client& client, const std::string& name) { return client.queues().Resume(name); }, true);

  AddQueueMove(queue, context);
  CLI::App& gone = *queue.add_subcommand("delete", "Delete a queue with all its jobs");
  auto name = std::make_shared<std::string>();
  auto force = std::make_shared<bool>(false);
  gone.add_option("NAME", *name, "The queue's name")->required();
  gone.add_flag("--force", *force, "Even if it has jobs that have not ended");
  OnRun(gone, context, [&context, name, force](Client& client) -> Result<void> {
    if (auto deleted = client.queues().Delete(*name, *force); !deleted) return deleted.error();
    Show(context, "{\"deleted\":\"" + *name + "\"}", *name, [&] { std::cout << *name << " deleted\n"; });
    return {};
  });
}

}  // namespace allot::cli
