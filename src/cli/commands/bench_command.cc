// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/bench_command.h"

#include <cstdio>
#include <iostream>
#include <memory>

#include "cli/bench/scenario.h"
#include "client/url.h"

namespace allot::cli {
namespace {

struct BenchOptions {
  bench::Plan plan;
  std::vector<std::string> scenarios;
  bool quick = false;
};

Result<bench::Target> TargetOf(const Context& context) {
  auto options = context.Connection();
  if (!options) return options.error();
  auto endpoint = allotter::ParseServerUrl(options->server);
  if (!endpoint) return endpoint.error();
  if (endpoint->tls || (endpoint->host != "127.0.0.1" && endpoint->host != "localhost")) {
    return Error{Code::kBadValue, "bench measures servers on 127.0.0.1 only, without TLS",
                 "a load generator on another machine measures the network"};
  }
  bench::Target target;
  target.port = static_cast<std::uint16_t>(std::stoul(endpoint->port));
  target.queue = options->queue;
  target.token = options->token;
  return target;
}

std::vector<const bench::Scenario*> Chosen(const BenchOptions& options) {
  std::vector<const bench::Scenario*> chosen;
  for (const bench::Scenario& scenario : bench::Scenarios()) {
    const auto& names = options.scenarios;
    if (names.empty() ? !(options.plan.running && scenario.needs_own_server)
                      : std::find(names.begin(), names.end(), scenario.name) != names.end()) {
      chosen.push_back(&scenario);
    }
  }
  return chosen;
}

void Run(Context& context, BenchOptions& options) {
  if (!context.server.empty()) {
    auto target = TargetOf(context);
    if (!target) return context.Fail(target.error());
    options.plan.running = std::move(*target);
  }
  options.plan.program = context.program;
  if (options.quick) {
    options.plan.scale = 0.1;
    options.plan.seconds = std::min(options.plan.seconds, 1.0);
    options.plan.samples = std::min<std::size_t>(options.plan.samples, 1'000);
  }
  bench::Figures figures;
  for (const bench::Scenario* scenario : Chosen(options)) {
    if (options.plan.running && scenario->needs_own_server) {
      return context.Fail(ExitCode::kUsage, std::string(scenario->name) + " looks at the server's own process",
                          "leave --server away: it starts a server of its own");
    }
    if (StderrStyle().terminal) std::cerr << "measuring " << scenario->name << " …\n";
    try {
      scenario->measure(options.plan, figures);
    } catch (const bench::Failure& failure) {
      context.Fail(ExitCode::kFailed, std::string(scenario->name) + ": " + failure.what());
      break;  // what was measured before is still told
    }
  }
  std::string text;
  if (context.format == Format::kTable) {
    figures.AppendTable(text);
  } else {
    figures.AppendJson(text);
  }
  std::cout << text;
}

}  // namespace

void AddBenchCommand(CLI::App& app, Context& context) {
  CLI::App* const command = app.add_subcommand("bench", "Measure a server of its own, or the one of --server");
  std::string scenarios = "What to measure (all of them by default):";
  std::vector<std::string> names;
  for (const bench::Scenario& scenario : bench::Scenarios()) {
    scenarios.append("\n  ").append(scenario.name).append(": ").append(scenario.help);
    names.emplace_back(scenario.name);
  }
  auto options = std::make_shared<BenchOptions>();
  bench::Plan& plan = options->plan;
  command->add_option("scenario", options->scenarios, scenarios)->check(CLI::IsMember(names));
  command->add_option("--clients", plan.clients, "Numbers of submitting clients")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--workers", plan.workers, "Numbers of workers")->delimiter(',')->capture_default_str();
  command->add_option("--batch", plan.batches, "Tasks per message")->delimiter(',')->capture_default_str();
  command->add_option("--seconds", plan.seconds, "How long to measure each rate")
      ->check(CLI::Range(0.1, 600.0))
      ->capture_default_str();
  command->add_option("--samples", plan.samples, "How many submits to take the latency from")
      ->check(CLI::Range(100, 1'000'000))
      ->capture_default_str();
  command->add_option("--payload-bytes", plan.payload_bytes, "Size of a payload")
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  command->add_option("--scale", plan.scale, "Part of the jobs, tasks and connections of the scenarios of fixed size")
      ->check(CLI::Range(0.001, 10.0))
      ->capture_default_str();
  command->add_option("--serve-flag", plan.serve_flags, "A further flag for its own server");
  command->add_flag("--quick", options->quick, "A tenth of everything, and a second for each rate");
  AddConnectionOptions(*command, context);
  command->callback([&context, options] { Run(context, *options); });
}

}  // namespace allot::cli
