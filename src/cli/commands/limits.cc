// SPDX-License-Identifier: Apache-2.0
// allot limit set|renew|list|show|delete|try: limits on starts.
#include <iostream>
#include <memory>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/spec_options.h"
#include "cli/text/limit_text.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::Limit;
using allotter::LimitLease;

struct SetOptions {
  std::string uuid, rate, expires;
  allotter::LimitSpec spec;
};

Result<allotter::LimitSpec> ToSpec(const SetOptions& options) {
  allotter::LimitSpec spec = options.spec;
  if (auto checked = CheckExpression("expr", spec.expr); !checked) return checked.error();
  if (auto checked = CheckExpression("cost", spec.cost); !checked) return checked.error();
  const std::optional<Rate> rate = ParseRate(options.rate);
  if (!rate) {
    return Error{Code::kBadValue, "--rate cannot be `" + options.rate + "`",
                 "a rate is a number of tokens and a window, as in 10/60s or 1/2m"};
  }
  spec.count = rate->count;
  spec.window = rate->window;
  auto expires = DurationOption("--expires", options.expires);
  if (!expires) return expires.error();
  spec.expires_in = expires->value_or(std::chrono::milliseconds(0));
  return spec;
}

// One that is gone does not keep the others waiting.
Result<void> ForEachOf(Context& context, const std::vector<std::string>& uuids,
                       const std::function<Result<void>(const std::string&)>& run) {
  for (const std::string& uuid : uuids) {
    const Result<void> done = run(uuid);
    if (done) continue;
    if (done.error().code != Code::kUnknownLimit) return done.error();
    context.Fail(done.error());
  }
  return {};
}

// A lease in words; on stderr, what is less than was asked for.
void Print(const Context& context, const LimitLease& lease, std::string_view what,
           std::optional<std::chrono::milliseconds> asked) {
  Show(context, lease.json, lease.uuid, [&] {
    std::cout << Visible(lease.uuid) << ' ' << what << ", expires in " << FormatDuration(lease.expires_in) << '\n';
  });
  if (!lease.capped) return;
  std::cout.flush();
  std::cerr << Paint(Colour::kYellow, "note:", StderrStyle()) << " it lives for " << FormatDuration(lease.expires_in)
            << (asked ? ", not " + FormatDuration(*asked) : std::string())
            << ": that is the most that the queue allows (max_limit_expiration); renew it in time\n";
}

Result<void> List(const Context& context, Client& client, const allotter::LimitFilter& filter) {
  auto limits = client.limits().List(filter);
  if (!limits) return limits.error();
  Table table({{"UUID"},
               {"TAG"},
               {"NAME"},
               {"RATE", true},
               {"BURST", true},
               {"LEVEL", true},
               {"WAITING", true},
               {"ALLOWED", true},
               {"SKIPPED", true},
               {"EXPIRES", true},
               {"EXPR"}});
  if (context.format == Format::kJson) std::cout << "{\"limits\":[";
  for (const Limit& limit : *limits) {
    switch (context.format) {
      case Format::kTable:
        table.Add({limit.uuid, limit.spec.tag, limit.spec.name.empty() ? "-" : limit.spec.name,
                   RateText(limit.spec) + (limit.spec.monitor ? " (monitor)" : ""), TokensText(limit.spec.burst),
                   TokensText(limit.tokens), FormatCount(limit.waiting), FormatCount(limit.allowed),
                   FormatCount(limit.skipped), FormatDuration(limit.spec.expires_in), limit.spec.expr});
        break;
      case Format::kId:
        std::cout << limit.uuid << '\n';
        break;
      case Format::kNdjson:
        std::cout << limit.json << '\n';
        break;
      case Format::kJson:
        std::cout << (&limit == limits->data() ? "\n" : ",\n") << limit.json;
        break;
    }
  }
  if (context.format == Format::kJson) std::cout << "\n]}\n";
  if (context.format == Format::kTable) std::cout << (table.empty() ? "no limits\n" : table.Text(StdoutStyle()));
  return {};
}

void AddExpressions(CLI::App& command, std::string& expr, std::string& cost) {
  command
      .add_option(
          "-e,--expr", expr,
          "An expression: starts for which it is true. MY is the job, TARGET the worker, as in 'MY.User == \"ann\"'")
      ->type_name("EXPR")
      ->check(GivenExpression())
      ->required();
  command.add_option("--cost", cost, "An expression: how many tokens such a start costs (1)")
      ->type_name("EXPR")
      ->check(GivenExpression());
}

void AddSet(CLI::App& family, Context& context) {
  CLI::App& set =
      *family.add_subcommand("set", "Set a limit, or change the one with that --uuid, which keeps its level");
  auto options = std::make_shared<SetOptions>();
  set.add_option("-t,--tag", options->spec.tag, "Whose limit it is: to find one's own again")
      ->type_name("TAG")
      ->required();
  set.add_option("--name", options->spec.name, "What it is for, for people")->type_name("TEXT");
  AddExpressions(set, options->spec.expr, options->spec.cost);
  set.add_option("-r,--rate", options->rate, "Tokens per window, as in 10/60s; 0/1s: nothing starts")
      ->type_name("COUNT/WINDOW")
      ->required();
  set.add_option("--burst", options->spec.burst, "How many tokens it may go into debt (0)")->type_name("TOKENS");
  set.add_option("--max-burst-cost", options->spec.max_burst_cost, "No start costs more than that (0: no such cap)")
      ->type_name("TOKENS");
  set.add_flag("--monitor", options->spec.monitor, "Count only: hold nothing back");
  set.add_option("--expires", options->expires, "After how long it goes away, unless it is renewed, as in 5m")
      ->type_name("DURATION")
      ->required();
  const CLI::Option* given =
      set.add_option("--uuid", options->uuid, "Its id: letters, digits and `-`; without one, a new limit with a new id")
          ->type_name("UUID");
  OnRun(set, context, [&context, options, given](Client& client) -> Result<void> {
    auto spec = ToSpec(*options);
    if (!spec) return spec.error();
    if (given->count() > 0 && options->uuid.empty())
      return Error{Code::kBadValue, "--uuid cannot be empty", "leave it out for a new limit with a new id"};
    auto lease = options->uuid.empty() ? client.limits().Create(*spec) : client.limits().Put(options->uuid, *spec);
    if (!lease) return lease.error();
    const double most = spec->count + spec->burst;
    if (spec->cost.empty() && most > 0 && most < 1 && (spec->max_burst_cost == 0 || spec->max_burst_cost > most))
      std::cerr << "note: it will let nothing start: a start costs 1, and count and burst together are less; for a "
                   "slower rate take a longer window, as in 1/2m\n";
    Print(context, *lease, lease->created ? "set" : "changed", spec->expires_in);
    return {};
  });
}

}  // namespace

void AddLimitCommands(CLI::App& app, Context& context) {
  CLI::App& family = *app.add_subcommand("limit", "May it start now? Limits on starts, kept by lease");
  family.require_subcommand(1);
  AddSet(family, context);

  CLI::App& renew = *family.add_subcommand("renew", "Let limits live on; this refills nothing");
  auto renewed = std::make_shared<std::vector<std::string>>();
  auto expires = std::make_shared<std::string>();
  renew.add_option("UUID", *renewed, "A limit's id")->required();
  renew.add_option("--expires", *expires, "For how long from now (as long as the last time)")->type_name("DURATION");
  OnRun(renew, context, [&context, renewed, expires](Client& client) -> Result<void> {
    auto asked = DurationOption("--expires", *expires);
    if (!asked) return asked.error();
    if (*asked && asked->value().count() == 0)
      return Error{Code::kBadValue, "--expires cannot be 0", "`allot limit delete` ends a limit at once"};
    return ForEachOf(context, *renewed, [&](const std::string& uuid) -> Result<void> {
      auto lease = client.limits().Renew(uuid, asked->value_or(std::chrono::milliseconds(0)));
      if (!lease) return lease.error();
      Print(context, *lease, "renewed", *asked);
      return {};
    });
  });

  CLI::App& list = *family.add_subcommand("list", "List limits");
  auto filter = std::make_shared<allotter::LimitFilter>();
  list.add_option("-t,--tag", filter->tag, "Those with this tag")->type_name("TAG");
  list.add_option("--uuid", filter->uuid, "The one with this id")->type_name("UUID");
  OnRun(list, context, [&context, filter](Client& client) { return List(context, client, *filter); });

  CLI::App& show = *family.add_subcommand("show", "Show a limit: its bucket, who is blocked, when the next can start");
  auto shown = std::make_shared<std::string>();
  show.add_option("UUID", *shown, "A limit's id")->required();
  OnRun(show, context, [&context, shown](Client& client) -> Result<void> {
    auto limit = client.limits().Get(*shown);
    if (!limit) return limit.error();
    Show(context, limit->json, limit->uuid, [&] { std::cout << LimitText(*limit, NowMillis(), StdoutStyle()); });
    return {};
  });

  CLI::App& gone = *family.add_subcommand("delete", "End limits at once");
  auto deleted = std::make_shared<std::vector<std::string>>();
  gone.add_option("UUID", *deleted, "A limit's id")->required();
  OnRun(gone, context, [&context, deleted](Client& client) -> Result<void> {
    return ForEachOf(context, *deleted, [&](const std::string& uuid) -> Result<void> {
      if (auto done = client.limits().Delete(uuid); !done) return done.error();
      Show(context, "{\"deleted\":\"" + uuid + "\"}", uuid, [&] { std::cout << Visible(uuid) << " deleted\n"; });
      return {};
    });
  });

  CLI::App& attempt = *family.add_subcommand("try", "Which queued tasks and workers a limit would apply to");
  auto expr = std::make_shared<std::string>();
  auto cost = std::make_shared<std::string>();
  AddExpressions(attempt, *expr, *cost);
  OnRun(attempt, context, [&context, expr, cost](Client& client) -> Result<void> {
    if (context.format == Format::kId) return Error{Code::kBadValue, "a try has no id to print", "leave -o id out"};
    if (auto checked = CheckExpression("expr", *expr); !checked) return checked.error();
    if (auto checked = CheckExpression("cost", *cost); !checked) return checked.error();
    auto trial = client.limits().Try(*expr, *cost);
    if (!trial) return trial.error();
    Show(context, trial->json, "", [&] { std::cout << TrialText(*trial, StdoutStyle()); });
    return {};
  });
}

void AddDemandCommand(CLI::App& app, Context& context) {
  CLI::App& command = *app.add_subcommand("demand", "What could start if workers were there, for those who start them");
  auto query = std::make_shared<allotter::DemandQuery>();
  command.add_option("-u,--user", query->user, "Of this user's jobs")->type_name("USER");
  command.add_option("-t,--tag", query->tag, "Of jobs that want this tag")->type_name("TAG");
  command.add_option("-n,--limit", query->limit, "How many rows to show")
      ->type_name("N")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  OnRun(command, context, [&context, query](Client& client) -> Result<void> {
    if (context.format == Format::kId)
      return Error{Code::kBadValue, "demand has no id to print", "`-o json` has the numbers, as in .totals.wanted"};
    auto demand = client.stats().Demand(*query);
    if (!demand) return demand.error();
    switch (context.format) {
      case Format::kNdjson:
        for (const allotter::Demand::Row& row : demand->rows) std::cout << row.json << '\n';
        break;
      case Format::kJson:
        std::cout << demand->json << '\n';
        break;
      default:
        std::cout << DemandText(*demand, StdoutStyle());
    }
    return {};
  });
}

}  // namespace allot::cli
