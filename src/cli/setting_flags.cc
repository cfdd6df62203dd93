// SPDX-License-Identifier: Apache-2.0
#include "cli/setting_flags.h"

#include <algorithm>

namespace allot::cli {

Result<Config> SettingFlags::Load() const {
  ConfigSources sources;
  sources.flags = given;
  if (!config_file.empty()) sources.config_file = config_file;
  return LoadConfig(sources);
}

void AddSettingFlags(CLI::App& command, SettingFlags& flags, const std::vector<std::string>& only) {
  command
      .add_option("--config", flags.config_file, "A TOML file of settings (ALLOT_CONFIG; /etc/allotter/allotter.toml)")
      ->type_name("FILE")
      ->group("Settings");
  for (const SettingInfo& setting : Settings()) {
    const std::string name(setting.name);
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    std::string help(setting.help);
    help += " (" + setting.variable + (setting.default_text.empty() ? "" : "; " + setting.default_text) + ")";
    command
        .add_option_function<std::string>(
            setting.flag, [&flags, name](const std::string& value) { flags.given[name] = value; }, help)
        ->type_name(std::string(setting.operand))
        ->group("Settings");
  }
}

}  // namespace allot::cli
