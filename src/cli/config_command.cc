// allot config show|check, allot version.
#include <iostream>

#include "allotter/client.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/setting_flags.h"
#include "server/tokens.h"

namespace allot::cli {

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
