// SPDX-License-Identifier: Apache-2.0
// allot config show|check|template, allot version.
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "allotter/client.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/setting_flags.h"
#include "server/ops/tokens.h"

namespace allot::cli {
namespace {

// A file of settings with every one in it: those that are given hold, the others are remarks with what holds without
// them.
std::string Template(const Config& config) {
  std::string text =
      "# Settings of `allot serve`. A flag (--worker-grace) or a variable (ALLOT_WORKER_GRACE) goes before what is "
      "said\n"
      "# here; what nothing says has the value that is shown. `allot config show` tells what holds, and why.\n";
  std::map<std::string_view, std::string_view> help;
  for (const SettingInfo& setting : Settings()) help[setting.name] = setting.help;
  for (const auto& [name, value, origin] : DescribeConfig(config)) {
    const bool number = !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    const auto line = help.find(name);  // names of strategies have none
    text += line == help.end() ? "\n" : "\n# " + std::string(line->second) + "\n";
    if (origin == "default") text += "#";
    text += name + " = " + (number ? value : JsonString(value)) + "\n";
  }
  return text +
         "\n# Names of strategies, for all queues.\n"
         "#[strategies]\n"
         "#batch = \"fair(user, oldest)\"\n";
}

}  // namespace

void AddConfigCommands(CLI::App& app, Context& context) {
  CLI::App& config = *app.add_subcommand("config", "Show and check the server's settings");
  config.require_subcommand(1);

  CLI::App& show = *config.add_subcommand("show", "Every setting, its value, and where that comes from");
  auto flags = std::make_shared<SettingFlags>();
  AddSettingFlags(show, *flags);
  AddOutputOption(show, context);
  show.callback([&context, flags] {
    auto loaded = flags->Load();
    if (!loaded) return context.Fail(loaded.error());
    Table table({{"SETTING"}, {"VALUE"}, {"FROM"}});
    std::string json = "{\"settings\":[";
    for (const SettingValue& setting : DescribeConfig(*loaded)) {
      table.Add({std::string(setting.name), setting.value, setting.origin});
      std::string one;
      JsonWriter(one)
          .BeginObject()
          .Key("name")
          .String(setting.name)
          .Key("value")
          .String(setting.value)
          .Key("from")
          .String(setting.origin)
          .EndObject();
      if (context.format == Format::kNdjson) std::cout << one << '\n';
      if (context.format == Format::kId) std::cout << setting.name << '\n';
      json += (json.back() == '[' ? "\n" : ",\n") + one;
    }
    if (context.format == Format::kJson) std::cout << json << "\n]}\n";
    if (context.format == Format::kTable) std::cout << table.Text(StdoutStyle());
  });

  CLI::App& check = *config.add_subcommand("check", "Would a server start with these settings?");
  auto check_flags = std::make_shared<SettingFlags>();
  AddSettingFlags(check, *check_flags);
  AddOutputOption(check, context);
  check.callback([&context, check_flags] {
    auto loaded = check_flags->Load();
    if (!loaded) return context.Fail(loaded.error());
    if (auto safe = CheckExposure(*loaded, TokenFile(loaded->tokens_file()).Exists()); !safe)
      return context.Fail(safe.error());
    Show(context, "{\"status\":\"ok\"}", "ok", [] { std::cout << "ok\n"; });
  });

  CLI::App& blank = *config.add_subcommand("template", "A file of settings, with every one explained");
  auto template_flags = std::make_shared<SettingFlags>();
  AddSettingFlags(blank, *template_flags);
  blank.callback([&context, template_flags] {
    // Of flags and the named file alone: what this machine says otherwise is not for another one's file.
    ConfigSources sources;
    sources.flags = template_flags->given;
    sources.getenv = [](const std::string& name) -> std::optional<std::string> {
      const bool settings = name.starts_with("ALLOT_") || name.starts_with("OTEL_");
      const char* const text = settings ? nullptr : std::getenv(name.c_str());
      return text == nullptr ? std::nullopt : std::optional<std::string>(text);
    };
    sources.config_file = template_flags->config_file.empty() ? "/dev/null" : template_flags->config_file;
    auto loaded = LoadConfig(sources);
    if (!loaded) return context.Fail(loaded.error());
    std::cout << Template(*loaded);
  });
}

void AddReadyCommand(CLI::App& app, Context& context) {
  CLI::App& ready = *app.add_subcommand("ready", "Can the server take work? For health checks: no token is needed");
  OnRun(ready, context, [&context](allotter::Client& client) -> Result<void> {
    const auto answer = client.Call("GET", "/readyz");
    if (!answer) return answer.error();
    Show(context, *answer, "ready", [] { std::cout << "ready\n"; });
    return {};
  });
}

void AddVersionCommand(CLI::App& app, Context& context) {
  CLI::App& version = *app.add_subcommand("version", "This program's version, and the server's if one answers");
  AddConnectionOptions(version, context);
  version.callback([&context] {
    std::string server, json;
    if (auto client = context.Connect()) {
      if (auto info = client->Server()) {
        server = info->version;
        json = info->json;
      }
    }
    const std::string own(Version());
    Show(context, "{\"version\":" + JsonString(own) + ",\"server\":" + (json.empty() ? "null" : json) + "}", own, [&] {
      std::cout << "allot " << own << '\n';
      if (!server.empty()) std::cout << "server " << Visible(server) << '\n';
    });
  });
}

}  // namespace allot::cli
