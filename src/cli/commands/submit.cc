// SPDX-License-Identifier: Apache-2.0
// allot submit: lines of a file or stdin, a count, or one payload, as a job.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <iostream>

#include "base/bounds.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/follow.h"
#include "cli/interrupt.h"
#include "cli/spec_options.h"
#include "cli/text/explain.h"
#include "cli/text/payload_text.h"

#include <unistd.h>

namespace allot::cli {
namespace {

struct SubmitOptions {
  SpecOptions spec;
  std::string file;
  std::optional<std::uint64_t> count;
  std::optional<std::string> payload;
  bool json = false, wait = false, results = false, quiet = false, dry_run = false;
};

Result<std::string> ToPayload(const std::string& text, bool json) {
  if (!json) return BytesToJson(text);
  if (!IsJson(text))
    return Error{Code::kBadJson, "the payload is not JSON: " + text.substr(0, 60),
                 "leave --json out to send it as text"};
  return text;
}

// Until the last line is there, the server has nothing but a part, which it forgets.
constexpr const char* kNothing = "nothing was submitted";

// Once all is sent, it may be stored before its answer comes.
void SayThatItMayBeThere(const Context& context) {
  SayOnInterrupt("interrupted before the server answered: it may be submitted all the same, `" + context.program +
                 " jobs` tells");
}

Result<allotter::Submitted> SubmitLines(const Context& context, allotter::Client& client, const allotter::JobSpec& spec,
                                        std::istream& in, bool json) {
  SayOnInterrupt(std::string("interrupted: ") + kNothing);
  std::string line;
  std::uint64_t number = 0;
  return client.jobs().SubmitStream(spec, [&](std::string& payload) -> Result<bool> {
    if (!std::getline(in, line)) {
      if (in.bad()) return Error{Code::kBadValue, "cannot read line " + std::to_string(number + 1), kNothing};
      SayThatItMayBeThere(context);
      return false;
    }
    ++number;
    if (line.size() > bounds::kMaxPayloadBytes) {
      return Error{Code::kTooLarge,
                   "line " + std::to_string(number) + " is over " + FormatSize(bounds::kMaxPayloadBytes), kNothing};
    }
    if (json && !IsJson(line)) {
      return Error{Code::kBadJson, "line " + std::to_string(number) + " is not JSON: " + line.substr(0, 60),
                   std::string(kNothing) + "; leave --json out to send lines as text"};
    }
    payload = json ? line : BytesToJson(line);
    return true;
  });
}

// All of the spec but lines: those that are still to come have no `count`.
Result<allotter::JobSpec> MakeSpec(const SubmitOptions& options) {
  auto spec = ToSpec(options.spec);
  if (!spec) return spec.error();
  if (options.payload) {
    auto payload = ToPayload(*options.payload, options.json);
    if (!payload) return payload.error();
    spec->payload = std::move(*payload);
  }
  if (options.count || (options.payload && options.file.empty())) {
    if (!options.file.empty())
      return Error{Code::kBadValue, "--count and a file exclude each other", "a file's lines are the tasks"};
    spec->count = options.count.value_or(1);
  }
  return spec;
}

// Gives the lines to `take`, wherever they come from.
template <typename T>
Result<T> WithLines(const SubmitOptions& options, const std::function<Result<T>(std::istream&)>& take) {
  if (options.file.empty() || options.file == "-") {
    if (::isatty(STDIN_FILENO) == 1) std::cerr << "a task a line, Ctrl-D ends\n";
    return take(std::cin);
  }
  std::ifstream file(options.file, std::ios::binary);
  if (!file)
    return Error{Code::kBadValue, "cannot read `" + options.file + "`", "a file with a task a line, or - for stdin"};
  return take(file);
}

Result<allotter::Submitted> Submit(const Context& context, allotter::Client& client, const SubmitOptions& options) {
  auto spec = MakeSpec(options);
  if (!spec) return spec.error();
  if (spec->count) {
    SayThatItMayBeThere(context);
    return client.jobs().Submit(*spec);
  }
  return WithLines<allotter::Submitted>(
      options, [&](std::istream& in) { return SubmitLines(context, client, *spec, in, options.json); });
}

// Nothing is stored. Lines are only counted: how many tasks a job has may matter to workers, what is in them does not.
Result<void> DryRun(const Context& context, allotter::Client& client, const SubmitOptions& options) {
  auto spec = MakeSpec(options);
  if (!spec) return spec.error();
  if (!spec->count) {
    auto lines = WithLines<std::uint64_t>(options, [](std::istream& in) -> Result<std::uint64_t> {
      std::uint64_t count = 0;
      std::string line;
      while (std::getline(in, line)) ++count;
      if (in.bad()) return Error{Code::kBadValue, "cannot read line " + std::to_string(count + 1), ""};
      return count;
    });
    if (!lines) return lines.error();
    spec->count = *lines;
  }
  return ShowDryRun(context, client, *spec);
}

// As a word of a shell's command line.
std::string Quoted(const std::string& word) {
  const bool plain = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_./=:@%+-").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string out = "'";
  for (const char c : word) c == '\'' ? out.append("'\\''") : out.append(1, c);
  return out + "'";
}

// What is not as expected of a submit: it made no new job, or one without anything to do. Empty otherwise.
std::string OddText(const allotter::Submitted& submitted) {
  const allotter::Job& job = submitted.job;
  if (submitted.existing) {
    return "job " + job.id + " was there already, by its idempotency key; it is " + job.state +
           (job.reason.empty() ? "" : ": " + job.reason);
  }
  if (job.count == 0) return "job " + job.id + " has no tasks, so it is " + job.state + " at once";
  return {};
}

Result<void> Run(Context& context, allotter::Client& client, const SubmitOptions& options) {
  if (options.dry_run) return DryRun(context, client, options);
  auto submitted = Submit(context, client, options);
  if (!submitted) return submitted.error();
  const allotter::Job& job = submitted->job;
  if (const std::string odd = OddText(*submitted); !odd.empty() && !options.quiet) std::cerr << Visible(odd) << '\n';
  const bool wait = options.wait || options.results;
  if (submitted->matching_workers == 0 && !job.ended() && !options.quiet && (wait || StderrStyle().terminal)) {
    std::string flags = job.tags.empty() ? "" : " --tag " + Joined(job.tags, " --tag ");
    if (!job.constraints.empty()) {
      for (const auto& [key, value] : job.constraints.front())
        flags += " --property " + Quoted(fmt::format("{}={}", key, value));
    }
    std::cerr << Visible("no worker is there for it yet; start one" +
                         std::string(job.requirements.empty() ? "" : " that meets its requirements") + ": " +
                         context.program + " work" + flags + " -- COMMAND")
              << '\n';
  }
  if (!wait) {
    Show(context, submitted->json, job.id, [&] { std::cout << job.id << '\n'; });
    return {};
  }
  auto ended = Follow(context, client, job.id,
                      {.results = options.results, .progress = !options.quiet, .say_on_interrupt = true});
  if (!ended) return ended.error();
  if (!options.results) {
    Show(context, ended->json, ended->id, [&] { std::cout << ended->id << ' ' << ended->state << '\n'; });
  }
  context.exit_code = ExitCodeOfJob(*ended);
  if (context.exit_code != ExitCode::kOk) {
    context.Fail(ExitCode::kFailed,
                 "job " + ended->id + " " + ended->state + (ended->reason.empty() ? "" : ": " + ended->reason),
                 ended->failed > 0 ? context.program + " tasks " + ended->id + " --state failed" : "");
  }
  return {};
}

}  // namespace

void AddSubmitCommand(CLI::App& app, Context& context) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App& command = *app.add_subcommand("submit", "Submit a job: a task for every line, or --count of them");
  command.add_option("FILE", options->file, "A task a line; - or nothing: stdin");
  command.add_option("-n,--count", options->count, "So many tasks, instead of lines")->type_name("N");
  command.add_option("--payload", options->payload, "For all tasks; without FILE and --count: one task")
      ->type_name("TEXT");
  command.add_flag("--json", options->json, "Lines and payload are JSON values, not text");
  command.add_flag("-w,--wait", options->wait, "Stay until it has ended; the exit code tells how");
  command.add_flag("-r,--results", options->results, "Stay, and print each task's result, one per line, in order");
  command.add_flag("--dry-run", options->dry_run, "Only say whether and where it could run; nothing is submitted");
  command.add_flag("--quiet", options->quiet, "No progress, no advice");
  AddSpecOptions(command, options->spec);
  OnRun(command, context, [&context, options](allotter::Client& client) { return Run(context, client, *options); });
}

}  // namespace allot::cli
