// SPDX-License-Identifier: Apache-2.0
#include "cli/app.h"

#include <signal.h>

#include <iostream>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/commands/bench_command.h"
#include "cli/context.h"

namespace allot::cli {
namespace {

// A word that is no command: which one was meant?
std::string NearestCommand(const CLI::App& app, std::string_view word) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  return std::string(Nearest(word, candidates));
}

int Explain(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv, Context& context) {
  if (error.get_exit_code() == 0) return app.exit(error, std::cout, std::cerr);  // help
  // The innermost command that was understood.
  const CLI::App* at = &app;
  std::string hint = context.program;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    hint += " " + at->get_name();
  }
  hint += " --help";
  if (at == &app && argc > 1 && argv[1][0] != '-') {
    const std::string near = NearestCommand(app, argv[1]);
    context.Fail(ExitCode::kUsage, "there is no command `" + std::string(argv[1]) + "`",
                 near.empty() ? hint : "did you mean `" + near + "`?");
    return static_cast<int>(ExitCode::kUsage);
  }
  // The flag that was meant, if one is near.
  std::string message = error.what();
  if (const auto dashes = message.find("--");
      dashes != std::string::npos && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::string word = message.substr(dashes, message.find_first_of(" =", dashes) - dashes);
    std::vector<std::string> flags;
    for (const CLI::Option* option : at->get_options([](const CLI::Option*) { return true; })) {
      for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
    const std::vector<std::string_view> candidates(flags.begin(), flags.end());
    if (const std::string_view near = Nearest(word, candidates); !near.empty())
      hint = "did you mean `" + std::string(near) + "`?";
    message = "there is no option `" + word + "`";
  }
  context.Fail(ExitCode::kUsage, message, hint);
  return static_cast<int>(ExitCode::kUsage);
}

}  // namespace

int Main(int argc, char** argv) {
  // A reader that goes away is no reason to die half-way through a line; writes fail, and the loops look.
  ::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  Context context;
  if (argc > 0 && argv[0] != nullptr && *argv[0] != '\0') context.program = argv[0];
  CLI::App app("Allotter: which worker gets which piece of work next", "allot");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of all commands");
  app.set_version_flag("--version", "allot " + std::string(Version()));
  AddConnectionOptions(app, context);  // before the command's name, too
  AddServeCommand(app, context);
  AddDemoCommand(app, context);
  AddSubmitCommand(app, context);
  AddWorkCommand(app, context);
  AddJobCommands(app, context);
  AddExplainCommand(app, context);
  AddTaskCommands(app, context);
  AddReceiptCommands(app, context);
  AddWorkerCommands(app, context);
  AddStrategyCommands(app, context);
  AddLimitCommands(app, context);
  AddDemandCommand(app, context);
  AddTopCommand(app, context);
  AddQueueCommands(app, context);
  AddNodeCommands(app, context);
  AddBackupCommands(app, context);
  AddCheckCommand(app, context);
  AddTokenCommands(app, context);
  AddConfigCommands(app, context);
  AddExprCommands(app, context);
  AddBenchCommand(app, context);
  AddCompletionCommand(app, context);
  AddReadyCommand(app, context);
  AddVersionCommand(app, context);
  if (argc <= 1) {
    std::cout << app.help();
    return static_cast<int>(ExitCode::kUsage);
  }
  // `allot help submit` as people type it.
  std::vector<char*> words(argv, argv + argc);
  std::string help_flag = "--help";
  if (std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help_flag.data());
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    return Explain(app, error, argc, argv, context);
  }
  std::cout.flush();
  return static_cast<int>(context.exit_code);
}

}  // namespace allot::cli
