// SPDX-License-Identifier: Apache-2.0
// allot serve.
#include "server/server.h"
#include "server/web_assets.h"

#include <iostream>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/setting_flags.h"
#include "server/ops/log.h"
#include "server/ops/tokens.h"

namespace allot::cli {
namespace {

// Where the dashboard is, and what to try next, to be pasted as it is.
void PrintHints(const Context& context, const Config& config, std::uint16_t port) {
  std::string server;
  const std::string host =
      config.listen.host == "0.0.0.0" || config.listen.host == "::" ? "127.0.0.1" : config.listen.host;
  if (config.tls() || host != "127.0.0.1" || port != 7420) {
    server = std::string(" --server ") + (config.tls() ? "https://" : "http://") + Endpoint{host, port}.Text();
  }
  std::string text;
  if (!WebAssets().empty()) {
    text +=
        std::string("The dashboard: ") + (config.tls() ? "https://" : "http://") + Endpoint{host, port}.Text() + "/\n";
  }
  text += "Try, in two other terminals:\n";
  if (TokenFile(config.tokens_file()).Exists())
    text += "  (each with ALLOT_TOKEN set: see `" + context.program + " token create --help`)\n";
  text += "  " + context.program + " work --tag square -j 4" + server + " -- sh -c 'read n; echo $((n*n))'\n";
  text += "  seq 1000 | " + context.program + " submit --tag square --wait --results" + server + "\n";
  std::cerr << text << std::flush;
}

}  // namespace

void AddServeCommand(CLI::App& app, Context& context) {
  CLI::App& command = *app.add_subcommand("serve", "Run the server");
  auto flags = std::make_shared<SettingFlags>();
  auto hints = std::make_shared<bool>(false);
  command.add_flag("--hints", *hints,
                   "Print the dashboard's address and two commands to try; on a terminal it does anyway");
  auto accept_loss = std::make_shared<bool>(false);
  command.add_flag("--accept-loss", *accept_loss,
                   "Start although a queue's files have lost something that was promised; the log says what");
  AddSettingFlags(command, *flags);
  command.callback([&context, flags, hints, accept_loss] {
    auto config = flags->Load();
    if (!config) return context.Fail(config.error());
    InitLog(*config);
    auto server = Server::Start(*config, WebAssets(), {.accept_loss = *accept_loss, .stop_on_signals = true});
    if (!server) return context.Fail(server.error());
    if (*hints || StderrStyle().terminal) PrintHints(context, *config, (*server)->port());
    context.exit_code = static_cast<ExitCode>((*server)->Wait());
  });
}

}  // namespace allot::cli
