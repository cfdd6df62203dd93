// SPDX-License-Identifier: Apache-2.0
#include "cli/context.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>

namespace allot::cli {
namespace {

std::string Env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string FirstOf(const std::string& flag, const char* variable, std::string_view otherwise = {}) {
  if (!flag.empty()) return flag;
  std::string value = Env(variable);
  return value.empty() ? std::string(otherwise) : value;
}

Result<std::string> ReadTokenFile(const std::string& path) {
  std::ifstream file(path);
  std::string token;
  if (!file || !(file >> token)) {
    return Error{Code::kBadValue, "cannot read a token from `" + path + "`",
                 "the file holds the text of `allot token create`"};
  }
  return token;
}

// The server's hints speak to programs: who sits at the command line has commands.
std::string HintFor(const Error& error) {
  if (error.code == Code::kUnknownWorker) return "`allot workers` lists them";
  if (error.code == Code::kUnknownQueue) return "`allot queue list` lists them";
  return error.hint;
}

}  // namespace

Result<allotter::ConnectionOptions> Context::Connection() const {
  allotter::ConnectionOptions options;
  options.server = FirstOf(server, "ALLOT_SERVER", options.server);
  options.queue = FirstOf(queue, "ALLOT_QUEUE", options.queue);
  options.ca_file = FirstOf(ca_file, "ALLOT_CA_FILE");
  options.token = token;
  if (options.token.empty()) {
    // A file named on the command line goes before the environment's token.
    const std::string file = token_file.empty() && Env("ALLOT_TOKEN").empty() ? Env("ALLOT_TOKEN_FILE") : token_file;
    if (!file.empty()) {
      auto read = ReadTokenFile(file);
      if (!read) return read.error();
      options.token = std::move(*read);
    } else {
      options.token = Env("ALLOT_TOKEN");
    }
  }
  return options;
}

Result<allotter::Client> Context::Connect() const {
  auto options = Connection();
  if (!options) return options.error();
  return allotter::Client::Open(std::move(*options));
}

void Context::Fail(const Error& error) { Fail(ExitCodeOf(error.code), error.message, HintFor(error)); }

void Context::Fail(ExitCode code, std::string_view message, std::string_view hint) {
  std::cout.flush();
  std::string text = Paint(Colour::kRed, "error:", StderrStyle());
  // Further lines are indented: carets stay below what they point at, and no text passes for an error of its own.
  for (bool first = true; first || !message.empty(); first = false) {
    const std::size_t end = std::min(message.find('\n'), message.size());
    text += (first ? " " : "       ") + Visible(message.substr(0, end)) + "\n";
    message.remove_prefix(std::min(end + 1, message.size()));
  }
  if (!hint.empty()) text += Paint(Colour::kDim, "hint:", StderrStyle()) + "  " + Visible(hint) + "\n";
  std::cerr << text;
  exit_code = code;
}

void AddOutputOption(CLI::App& command, Context& context) {
  static const std::map<std::string, Format> kFormats = {
      {"table", Format::kTable}, {"json", Format::kJson}, {"ndjson", Format::kNdjson}, {"id", Format::kId}};
  command.add_option("-o,--output", context.format, "How to print")
      ->transform(CLI::Transformer(kFormats, CLI::ignore_case).description("{table,json,ndjson,id}"))
      ->check(CLI::IsMember({Format::kTable, Format::kJson, Format::kNdjson, Format::kId}).description(""))
      ->type_name("FORMAT")
      ->group("Output");
}

void AddConnectionOptions(CLI::App& command, Context& context) {
  const std::string group = "Connection";
  command.add_option("--server", context.server, "The server's URL (ALLOT_SERVER; http://127.0.0.1:7420)")
      ->type_name("URL")
      ->group(group);
  command.add_option("-q,--queue", context.queue, "The queue (ALLOT_QUEUE; default)")->type_name("NAME")->group(group);
  command.add_option("--token-file", context.token_file, "A file that holds the token (ALLOT_TOKEN_FILE)")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--token", context.token,
                  "The token; others can see it in the list of processes, so prefer ALLOT_TOKEN")
      ->type_name("TOKEN")
      ->group(group);
  command.add_option("--ca-file", context.ca_file, "https: the authorities to trust (ALLOT_CA_FILE)")
      ->type_name("FILE")
      ->group(group);
  AddOutputOption(command, context);
}

void OnRun(CLI::App& command, Context& context, ClientCommand run) {
  AddConnectionOptions(command, context);
  command.callback([&command, &context, run = std::move(run)] {
    if (!command.get_subcommands().empty()) return;  // that one runs instead
    auto client = context.Connect();
    if (!client) return context.Fail(client.error());
    if (auto ran = run(*client); !ran) context.Fail(ran.error());
  });
}

void Show(const Context& context, const std::string& json, const std::string& id, const std::function<void()>& table) {
  switch (context.format) {
    case Format::kJson:
    case Format::kNdjson:
      std::cout << json << '\n';
      break;
    case Format::kId:
      std::cout << id << '\n';
      break;
    case Format::kTable:
      table();
      break;
  }
}

}  // namespace allot::cli
