// SPDX-License-Identifier: Apache-2.0
// The server's settings as flags: one for every row of the configuration's table.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "server/ops/config.h"

namespace allot::cli {

struct SettingFlags {
  std::map<std::string, std::string> given;  // by the setting's name
  std::string config_file;
  Result<Config> Load() const;
};
// --config and all settings, or only those named.
void AddSettingFlags(CLI::App& command, SettingFlags& flags, const std::vector<std::string>& only = {});

}  // namespace allot::cli
