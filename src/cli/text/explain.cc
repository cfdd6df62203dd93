// SPDX-License-Identifier: Apache-2.0
// allot explain: why a job does not run.
#include "cli/text/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string_view>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/selector.h"
#include "cli/text/limit_text.h"

namespace allot::cli {
namespace {

using allotter::Client;
using allotter::Explanation;
using allotter::PairExplanation;

constexpr std::uint64_t kBarColumns = 24;

struct StageName {
  std::string_view stage, funnel, heading;
};
constexpr StageName kStages[] = {
    {"total", "workers", ""},
    {"available", "available", "availability"},
    {"tags", "with its tags", "tags"},
    {"constraint", "with its properties", "constraint"},
    {"requirements", "that meet its requirements", "requirements"},
    {"worker_requirements", "that accept it", "the worker's own requirements"},
    {"free_slot", "with a free slot", "slots"},
};

const StageName* FindStage(const std::string& stage) {
  for (const StageName& known : kStages) {
    if (known.stage == stage) return &known;
  }
  return nullptr;
}

std::string Bar(std::uint64_t n, std::uint64_t of) {
  std::string bar;
  // Whoever is there is seen.
  const std::uint64_t full =
      of == 0 || n == 0
          ? 0
          : std::max<std::uint64_t>(
                1, static_cast<std::uint64_t>(static_cast<double>(n) / static_cast<double>(of) * kBarColumns));
  for (std::uint64_t i = 0; i < kBarColumns; ++i) bar += i < full ? "█" : "░";
  return bar;
}

std::uint64_t CountAt(const Explanation& e, std::string_view stage) {
  for (const auto& [name, workers] : e.funnel) {
    if (name == stage) return workers;
  }
  return 0;
}

std::string FunnelText(const Explanation& e, Style style) {
  Table table({{"WORKERS", true}, {""}, {""}, {""}});
  for (const auto& [stage, workers] : e.funnel) {
    const StageName* known = FindStage(stage);
    std::string note;
    if (stage == "available") {
      if (e.draining > 0) note += FormatCount(e.draining) + " draining";
      if (e.away > 0) note += (note.empty() ? "" : ", ") + FormatCount(e.away) + " away";
    }
    if (stage == "total" && e.examined < e.workers) note = FormatCount(e.examined) + " of them looked at";
    table.Add(
        {FormatCount(workers), Bar(workers, e.workers), known == nullptr ? stage : std::string(known->funnel), note});
  }
  return table.Text(style);
}

std::string StatusText(const Explanation::Tag& tag, std::int64_t now_ms) {
  if (tag.status == "never_seen") return "never seen";
  if (tag.status == "gone") {
    const std::string age = tag.last_seen_at_ms ? AgeText(*tag.last_seen_at_ms, now_ms) : std::string("?");
    return "gone: the last worker left " + (age == "now" ? "just now" : age + " ago");
  }
  if (tag.status == "unavailable") return "all draining or away";
  return tag.status;
}

std::string DetailText(const Explanation& e, std::int64_t now_ms, Style style) {
  std::string out;
  const auto add = [&](const Table& table) {
    if (!table.empty()) out += "\n" + table.Text(style);
  };
  Table tags({{"TAG"}, {"WORKERS", true}, {"FREE", true}, {"STATUS"}});
  const bool none_has_all = CountAt(e, "tags") == 0;
  for (const Explanation::Tag& tag : e.tags) {
    if (tag.status == "free" && !none_has_all) continue;
    tags.Add({tag.tag, FormatCount(tag.workers), FormatCount(tag.free), StatusText(tag, now_ms)});
  }
  add(tags);

  Table properties({{"PROPERTY"}, {"WORKERS", true}});
  if (CountAt(e, "constraint") < CountAt(e, "tags") || CountAt(e, "constraint") == 0) {
    for (const Explanation::Alternative& alternative : e.constraints) {
      if (e.constraints.size() > 1 || alternative.properties.size() > 1)
        properties.Add({alternative.tag, FormatCount(alternative.workers)});
      for (const auto& [key, value, workers] : alternative.properties) {
        const bool part = e.constraints.size() > 1 || alternative.properties.size() > 1;
        properties.Add({fmt::format("{}{}={}", part ? "  " : "", key, value), FormatCount(workers)});
      }
    }
  }
  add(properties);

  const auto clauses = [&](const char* title, const std::vector<Explanation::Clause>& all) {
    Table table({{"FAIL", true}, {"OF", true}, {"UNDEFINED", true}, {"ERROR", true}, {"NEAREST", true}, {title}});
    for (const Explanation::Clause& clause : all) {
      if (clause.failed == 0) continue;
      const auto cell = [](std::uint64_t n) { return n == 0 ? std::string("-") : FormatCount(n); };
      table.Add({FormatCount(clause.failed), FormatCount(clause.reached), cell(clause.undefined), cell(clause.error),
                 clause.best.empty() ? "-" : clause.best, clause.clause});
    }
    add(table);
  };
  clauses("REQUIREMENT", e.requirements);
  clauses("WORKERS' OWN REQUIREMENT", e.worker_requirements);

  if (e.nearest && !e.nearest->misses.empty()) {
    out += "\nnearest miss: worker " + Visible(e.nearest->worker) +
           (e.nearest->name.empty() ? "" : " (" + Visible(e.nearest->name) + ")") + "\n";
    for (const allotter::Condition& miss : e.nearest->misses) out += "  " + Visible(miss.message) + "\n";
  }
  std::string suggestions;
  for (const Explanation::Suggestion& suggestion : e.suggestions) {
    if (suggestion.message != e.verdict.message) suggestions += Visible(suggestion.message) + "\n";
  }
  if (!suggestions.empty()) out += "\n" + suggestions;
  return out;
}

// Where it stands among others, and who is first.
std::string OrderText(const Explanation& e, Style style) {
  std::string out;
  if (e.order && !e.order->strategy.empty() && (e.order->place || !e.order->first_job.empty())) {
    const allotter::OrderPlace& order = *e.order;
    const bool alone = order.policy == "worker";
    out += Paint(Colour::kBold, "order", style) + " by " + Visible(alone ? order.strategy : order.policy) +
           (alone ? "" : ", then " + Visible(order.strategy)) + "\n";
    const auto why = [&](const std::vector<std::string>& steps) {
      for (const std::string& step : steps) out += "       " + Paint(Colour::kDim, Visible(step), style) + "\n";
    };
    if (!order.first_job.empty()) {
      out += "    1  job " + Visible(order.first_job) +
             (order.first_user.empty() ? std::string() : " of " + Visible(order.first_user)) + "\n";
      why(order.first_why);
    }
    std::string place = order.place ? FormatCount(*order.place) : order.complete ? ">100" : "?";
    place.insert(0, place.size() < 5 ? 5 - place.size() : 0, ' ');
    out += place + "  this one\n";
    why(order.own_why);
  }
  if (e.promised && e.promised->tasks > 0) {
    const allotter::PromisedTasks& promised = *e.promised;
    out += Paint(Colour::kBold, "promised", style) + ": " + FormatCount(promised.tasks) + " of its tasks, to " +
           FormatCount(promised.workers) + (promised.workers == 1 ? " worker" : " workers");
    if (!promised.longest.empty()) {
      out += "; the most to " + Visible(promised.longest_name.empty() ? promised.longest : promised.longest_name) +
             ", " + FormatCount(promised.longest_tasks) + " of the " + FormatCount(promised.longest_queue) +
             " in its queue";
    }
    out += "\n";
  }
  return out;
}

std::string ReasonLine(const allotter::Reason& reason, std::int64_t now_ms, Style style) {
  std::string label = reason.kind;
  Colour colour = Colour::kNone;
  if (reason.kind == "wait") colour = Colour::kGreen;
  if (reason.kind == "change_request") {
    label = "change the request";
    colour = Colour::kRed;
  }
  if (reason.kind == "operator") {
    label = "ask the operator";
    colour = Colour::kYellow;
  }
  std::string since;
  if (reason.since_at_ms && now_ms - *reason.since_at_ms >= 1000) {
    since = Paint(Colour::kDim, " (for " + AgeText(*reason.since_at_ms, now_ms) + ")", style);
  }
  return Paint(colour, Visible(label) + ":", style) + " " + Visible(reason.message) + since + "\n";
}

// What else holds it, the verdict, and what to do.
std::string VerdictText(const allotter::Reason& verdict, const std::vector<allotter::Reason>& reasons,
                        std::int64_t now_ms, Style style) {
  std::string out;
  for (std::size_t i = reasons.size(); i > 1; --i) {
    out += Paint(Colour::kDim, "also", style) + " " + ReasonLine(reasons[i - 1], now_ms, style);
  }
  return out + ReasonText(verdict, now_ms, style);
}

// Limits that hold the job back: what they have, what it costs, and when they can pay.
std::string HoldsText(const std::vector<allotter::LimitHold>& limits, Style style) {
  Table table({{"LIMIT"}, {"UUID"}, {"LEVEL", true}, {"COST", true}, {"WORKERS", true}, {"CAN PAY"}});
  for (const allotter::LimitHold& hold : limits) {
    if (!hold.blocks || hold.monitor) continue;
    std::string when = hold.stops ? "never: its count is 0" : "never: that is more than it can ever have";
    if (!hold.never) {
      when = hold.payable_in_ms ? "in " + FormatDuration(std::chrono::milliseconds(*hold.payable_in_ms)) : "-";
      if (hold.overtaken) when += "; cheaper starts keep it waiting";
    }
    table.Add({hold.name.empty() ? hold.tag : hold.name, hold.uuid, TokensText(hold.level), TokensText(hold.cost),
               hold.reads_worker ? FormatCount(hold.workers_blocked) + " of " + FormatCount(hold.workers) : "all",
               when});
  }
  return table.empty() ? std::string() : table.Text(style);
}

bool Settled(const Explanation& e) { return e.queued + e.retrying == 0; }

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::string ReasonText(const allotter::Reason& reason, std::int64_t now_ms, Style style) {
  std::string out = ReasonLine(reason, now_ms, style);
  if (!reason.hint.empty()) out += Paint(Colour::kDim, "hint:", style) + " " + Visible(reason.hint) + "\n";
  return out;
}

std::string ExplanationText(const Explanation& e, std::int64_t now_ms, Style style) {
  std::string out;
  if (!e.job.empty()) {
    out += "job " + Visible(e.job) + " is " + Paint(ColourOfState(e.state), Visible(e.state), style) + ": " +
           FormatCount(e.queued) + " queued, " + FormatCount(e.running) + " running, " + FormatCount(e.retrying) +
           " retrying\n";
  }
  if (!Settled(e)) {
    out += (out.empty() ? "" : "\n") + FunnelText(e, style) + DetailText(e, now_ms, style) + "\n";
    if (const std::string holds = HoldsText(e.limits, style); !holds.empty()) out += holds + "\n";
    if (const std::string order = OrderText(e, style); !order.empty()) out += order + "\n";
  }
  return out + VerdictText(e.verdict, e.reasons, now_ms, style);
}

std::string PairText(const PairExplanation& pair, std::int64_t now_ms, Style style) {
  std::string out;
  std::string stage;
  for (const allotter::Condition& condition : pair.conditions) {
    if (condition.stage != stage) {
      stage = condition.stage;
      const StageName* known = FindStage(stage);
      out += Paint(Colour::kBold, known == nullptr ? Visible(stage) : std::string(known->heading), style) + "\n";
    }
    out += "  " + (condition.holds ? Paint(Colour::kGreen, "yes", style) : Paint(Colour::kRed, "no ", style)) + "  " +
           Visible(condition.message) + "\n";
  }
  const auto rank = [&](const char* whose, const PairExplanation::Rank& one) {
    if (!one.expression.empty())
      out += std::string(whose) + ": " + Number(one.value) + " (" + Visible(one.expression) + ")\n";
  };
  if (!pair.job_rank.expression.empty() || !pair.worker_rank.expression.empty())
    out += Paint(Colour::kBold, "rank", style) + "\n";
  rank("  of the worker, seen from the job", pair.job_rank);
  rank("  of the job, seen from the worker", pair.worker_rank);
  return out + "\n" + VerdictText(pair.verdict, pair.reasons, now_ms, style);
}

Result<void> ShowDryRun(const Context& context, Client& client, const allotter::JobSpec& spec) {
  if (context.format == Format::kId) {
    return Error{Code::kBadValue, "a dry run has no id to print", "leave -o id out"};
  }
  auto explained = client.jobs().ExplainSpec(spec);
  if (!explained) return explained.error();
  Show(context, explained->json, "", [&] { std::cout << ExplanationText(*explained, NowMillis(), StdoutStyle()); });
  return {};
}

void AddExplainCommand(CLI::App& app, Context& context) {
  CLI::App& command = *app.add_subcommand("explain", "Why a job does not run: wait, change it, or ask the operator");
  auto job = std::make_shared<std::string>();
  auto worker = std::make_shared<std::string>();
  command.add_option("JOB", *job, kJobHelp);
  command.add_option("WORKER", *worker, "A worker's id: only this one, condition by condition");
  auto task = std::make_shared<std::optional<std::uint32_t>>();
  command.add_option("--task", *task, "One task, by its index");
  OnRun(command, context, [&context, job, worker, task](Client& client) -> Result<void> {
    auto id = FindJob(client, job->empty() ? "last" : *job);
    if (!id) return id.error();
    if (!worker->empty()) {
      auto pair = client.jobs().ExplainPair(*id, *worker);
      if (!pair) return pair.error();
      Show(context, pair->json, pair->job, [&] { std::cout << PairText(*pair, NowMillis(), StdoutStyle()); });
      return {};
    }
    auto explained = client.jobs().Explain(*id, *task);
    if (!explained) return explained.error();
    Show(context, explained->json, explained->job,
         [&] { std::cout << ExplanationText(*explained, NowMillis(), StdoutStyle()); });
    return {};
  });
}

}  // namespace allot::cli
