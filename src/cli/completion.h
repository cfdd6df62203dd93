// SPDX-License-Identifier: Apache-2.0
// Completion scripts for shells, made from the command line's own tree.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace allot::cli {

// `shell` is bash, zsh or fish.
std::string CompletionScript(const CLI::App& app, std::string_view shell);

}  // namespace allot::cli
