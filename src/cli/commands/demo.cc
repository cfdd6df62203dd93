// SPDX-License-Identifier: Apache-2.0
// allot demo: a server in a temporary folder, with users, jobs and workers to look at.
#include <stdlib.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/demo/crew.h"
#include "cli/demo/feeder.h"
#include "cli/demo/world.h"
#include "server/ops/log.h"
#include "server/server.h"
#include "server/web_assets.h"

namespace allot::cli {
namespace {

constexpr std::string_view kQueue = "default";

// Gone when it goes.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> Make() {
    std::error_code ec;
    std::string path = (std::filesystem::temp_directory_path(ec) / "allot-demo-XXXXXX").string();
    if (ec || ::mkdtemp(path.data()) == nullptr)
      return Error{Code::kUnavailable, "no temporary folder can be made at " + path,
                   "set TMPDIR to a folder that may be written to"};
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
  }
  ~TemporaryFolder() {
    std::error_code ec;
    std::filesystem::remove_all(path_, ec);
    if (ec) std::cerr << "warning: " << path_ << " could not be removed: " << ec.message() << '\n';
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  const std::string path_;
};

// Stops the server after a time, unless it goes before.
class EndLater {
 public:
  EndLater(Server& server, std::optional<Duration> time) {
    if (!time) return;
    thread_ = std::thread([this, &server, time = *time] {
      std::unique_lock lock(mutex_);
      if (!wakeup_.wait_for(lock, time, [this] { return over_; })) server.Stop();
    });
  }
  ~EndLater() {
    {
      std::lock_guard lock(mutex_);
      over_ = true;
    }
    wakeup_.notify_one();
    if (thread_.joinable()) thread_.join();
  }
  EndLater(const EndLater&) = delete;
  EndLater& operator=(const EndLater&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wakeup_;
  bool over_ = false;  // guarded by mutex_
  std::thread thread_;
};

struct DemoOptions {
  std::string listen;  // empty: the usual place, or any free port
  std::string time;    // empty: until it is interrupted
};

// On the usual port; where that is taken and nobody asked for it, on any.
Result<std::unique_ptr<Server>> StartServer(Config& config, bool any_port) {
  auto server = Server::Start(config, WebAssets(), {.stop_on_signals = true});
  if (server || !any_port || server.error().code != Code::kUnavailable) return server;
  config.listen.port = 0;
  return Server::Start(config, WebAssets(), {.stop_on_signals = true});
}

std::string Hints(const Context& context, const std::string& url) {
  const std::string server = url == "http://127.0.0.1:7420" ? "" : " --server " + url;
  std::string text;
  if (!WebAssets().empty()) text += "The dashboard: " + url + "/\n";
  text += "Seven users submit jobs, five workers run them. Try, in another terminal:\n";
  std::vector<std::pair<std::string, std::string_view>> lines;
  const auto add = [&](std::string_view command, std::string_view why) {
    std::string line = "  " + context.program + " " + std::string(command) + server;
    lines.emplace_back(std::move(line), why);
  };
  add("top", "how it is all going; q ends it");
  add("jobs", "what is there");
  add("explain last", "why the newest job does, or does not, run");
  add("limit list", "what may start how fast");
  add("submit --tag thumbnails --count 20 --wait", "a job of your own");
  std::size_t width = 0;
  for (const auto& [line, why] : lines) width = std::max(width, line.size());
  for (auto& [line, why] : lines) {
    line.resize(width, ' ');
    text += line + "  # " + std::string(why) + '\n';
  }
  text += "Ctrl-C ends it, and leaves nothing behind.\n";
  return text;
}

Result<int> RunDemo(const Context& context, const DemoOptions& options) {
  std::optional<Duration> time;
  if (!options.time.empty()) {
    time = ParseDuration(options.time);
    if (!time) return Error{Code::kBadValue, "--for must be a duration, such as 30s", ""};
  }
  auto folder = TemporaryFolder::Make();
  if (!folder) return folder.error();
  Config config;
  config.data = (*folder)->path();
  if (!options.listen.empty()) {
    const auto listen = ParseEndpoint(options.listen);
    if (!listen) return listen.error();
    config.listen = *listen;
  }
  // What the server says of its work would hide what to try. It lives as long as the log is written to.
  static std::ofstream log(config.data + "/server.log");
  InitLogTo(log, LogLevel::kInfo, LogFormat::kText);
  auto server = StartServer(config, options.listen.empty());
  if (!server) return server.error();

  allotter::ConnectionOptions connection;
  connection.queue = kQueue;
  const bool everywhere = config.listen.host == "0.0.0.0" || config.listen.host == "::";
  connection.server = "http://" + Endpoint{everywhere ? "127.0.0.1" : config.listen.host, (*server)->port()}.Text();
  {
    auto client = allotter::Client::Open(connection);
    if (!client) return client.error();
    const auto set = client->Call("PATCH", "/v1/queues/" + connection.queue, demo::kSettings);
    if (!set) return set.error();
  }
  const demo::Crew crew(connection);
  const demo::Feeder feeder(connection);
  std::cout << Hints(context, connection.server) << std::flush;
  const EndLater later(**server, time);
  return (*server)->Wait();
}

}  // namespace

void AddDemoCommand(CLI::App& app, Context& context) {
  CLI::App& command =
      *app.add_subcommand("demo", "Run a server with users, jobs and workers to look at; it leaves nothing behind");
  auto options = std::make_shared<DemoOptions>();
  command.add_option("--listen", options->listen, "Where it listens (127.0.0.1:7420; if that is taken, any free port)")
      ->type_name("HOST:PORT");
  command.add_option("--for", options->time, "End by itself after this time")->type_name("DURATION");
  command.callback([&context, options] {
    const auto code = RunDemo(context, *options);
    if (!code) return context.Fail(code.error());
    context.exit_code = static_cast<ExitCode>(*code);
  });
}

}  // namespace allot::cli
