// SPDX-License-Identifier: Apache-2.0
// allot strategy check|list|try: what a strategy will do, before anything does it.
#include "strategy/strategy.h"

#include <iostream>
#include <memory>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/commands/strategy_try.h"
#include "cli/context.h"
#include "cli/text/strategy_text.h"

namespace allot::cli {
namespace {

struct CheckOptions {
  std::string text;
  bool policy = false;
};

void PrintCheck(const Context& context, const Strategy& strategy) {
  const std::string text = PrintStrategy(strategy);
  std::string form, json;
  AppendStrategyJson(strategy, form);
  JsonWriter w(json);
  w.BeginObject().Key("strategy").String(text).Key("json").Raw(form);
  w.Key("words").String(DescribeStrategy(strategy)).EndObject();
  Show(context, json, text, [&] { std::cout << text << "\n\n" << DescribeStrategy(strategy); });
}

Result<void> ListStrategies(const Context& context, allotter::Client& client) {
  auto strategies = client.strategies().List();
  if (!strategies) return strategies.error();
  Table table({{"NAME"}, {"STRATEGY"}});
  std::string json = "{\"strategies\":[";
  for (const allotter::NamedStrategy& one : *strategies) {
    std::string entry;
    JsonWriter w(entry);
    w.BeginObject().Key("name").String(one.name).Key("strategy").String(one.strategy).EndObject();
    if (context.format == Format::kId) std::cout << one.name << '\n';
    if (context.format == Format::kNdjson) std::cout << entry << '\n';
    json += (json.back() == '[' ? "\n" : ",\n") + entry;
    table.Add({one.name, one.strategy});
  }
  if (context.format == Format::kJson) std::cout << json << "\n]}\n";
  if (context.format == Format::kTable) std::cout << table.Text(StdoutStyle());
  return {};
}

}  // namespace

void AddStrategyCommands(CLI::App& app, Context& context) {
  CLI::App& family = *app.add_subcommand("strategy", "Which tasks first: check strategies, try them out");
  family.require_subcommand(1);

  CLI::App& check = *family.add_subcommand("check", "Is it a strategy, and what will it do?");
  auto options = std::make_shared<CheckOptions>();
  check.add_option("TEXT", options->text, "The strategy, or its name in the server's configuration")
      ->required()
      ->type_name("");
  check.add_flag("--policy", options->policy, "It is a queue's policy, with the word `worker` in it");
  AddConnectionOptions(check, context);
  check.callback([&context, options] {
    auto connection = context.Connection();
    if (!connection) return context.Fail(connection.error());
    const char* const label = options->policy ? "policy" : "strategy";
    auto strategy = ReadStrategyText(label, options->text, options->policy, *connection);
    // What is wrong is wrong, whether the server could be asked or not.
    if (!strategy) return context.Fail(Error{Code::kBadValue, strategy.error().message, strategy.error().hint});
    PrintCheck(context, **strategy);
  });

  OnRun(*family.add_subcommand("list", "Strategies that have a name in the server's configuration"), context,
        [&context](allotter::Client& client) { return ListStrategies(context, client); });
  AddTryCommand(family, context);
}

}  // namespace allot::cli
