// SPDX-License-Identifier: Apache-2.0
// What all commands share: the globals of the command line, and how a command ends.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "allotter/client.h"
#include "cli/exit_code.h"
#include "cli/text/output.h"

namespace allot::cli {

struct Context {
  std::string program = "allot";  // as it was started
  std::string server, token, token_file, queue, ca_file;
  Format format = Format::kTable;
  ExitCode exit_code = ExitCode::kOk;

  // From flags, else ALLOT_SERVER, ALLOT_TOKEN, ALLOT_TOKEN_FILE, ALLOT_QUEUE, ALLOT_CA_FILE, else defaults.
  Result<allotter::ConnectionOptions> Connection() const;
  Result<allotter::Client> Connect() const;

  // Prints message and hint on stderr, a line each (a message of several lines indented), and sets the exit code.
  void Fail(const Error& error);
  void Fail(ExitCode code, std::string_view message, std::string_view hint = {});
};

// --server, --token…, --queue, -o.
void AddConnectionOptions(CLI::App& command, Context& context);
// -o alone, for commands that reach no server.
void AddOutputOption(CLI::App& command, Context& context);

// A command with connection options whose `run` gets a client. An error from `run` is printed.
using ClientCommand = std::function<Result<void>(allotter::Client&)>;
void OnRun(CLI::App& command, Context& context, ClientCommand run);

// Prints one object: its JSON, its id, or whatever `table` prints.
void Show(const Context& context, const std::string& json, const std::string& id, const std::function<void()>& table);

}  // namespace allot::cli
