// SPDX-License-Identifier: Apache-2.0
#include "cli/text/limit_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"

namespace allot::cli {
namespace {

constexpr std::size_t kBucketColumns = 32;
constexpr std::size_t kMostNamed = 10;  // users in one line

// In the largest unit that divides it.
std::string Compact(std::chrono::milliseconds value) {
  struct Unit {
    const char* name;
    std::int64_t ms;
  };
  constexpr Unit kUnits[] = {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}};
  for (const Unit& unit : kUnits) {
    if (value.count() != 0 && value.count() % unit.ms == 0)
      return fmt::format("{}{}", value.count() / unit.ms, unit.name);
  }
  return fmt::format("{}ms", value.count());
}

std::string Users(const std::vector<std::string>& users) {
  std::string out;
  for (std::size_t i = 0; i < users.size() && i < kMostNamed; ++i) {
    // The last one was there last.
    const std::string& user = users[users.size() - 1 - i];
    out += (i == 0 ? "" : ", ") + (user.empty() ? std::string("(no user)") : user);
  }
  if (users.size() > kMostNamed) out += fmt::format(" and {} more", users.size() - kMostNamed);
  return out;
}

std::string Waiting(const allotter::Limit& limit) {
  if (limit.waiting == 0) return "nothing";
  std::string out = Counted(limit.waiting, "group") + " of jobs";
  if (limit.waiting_forever > 0) out += fmt::format(", {} of them for ever", FormatCount(limit.waiting_forever));
  return out;
}

std::string Ago(std::int64_t at_ms, std::int64_t now_ms) {
  const std::string age = AgeText(at_ms, now_ms);
  return age == "now" ? age : age + " ago";
}

std::string NextStart(const allotter::Limit& limit) {
  if (limit.waiting == 0) return "";
  const std::string cost = limit.cheapest ? ", at a cost of " + TokensText(*limit.cheapest) : "";
  if (!limit.payable_in_ms) {
    if (limit.spec.count == 0) return "never: its count is 0";
    return "never" + cost + ": that is more than count and burst together";
  }
  return "in " + FormatDuration(std::chrono::milliseconds(*limit.payable_in_ms)) + cost;
}

}  // namespace

std::optional<Rate> ParseRate(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  Rate rate;
  const char* const end = text.data() + slash;
  const auto [rest, error] = std::from_chars(text.data(), end, rate.count);
  if (error != std::errc() || rest != end || !std::isfinite(rate.count)) return std::nullopt;
  std::string window(text.substr(slash + 1));
  if (!window.empty() && IsAsciiLetter(window[0])) window.insert(0, "1");  // 10/m
  const auto duration = ParseDuration(window);
  if (!duration) return std::nullopt;
  rate.window = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
  if (rate.window != *duration) return std::nullopt;  // a part of a millisecond would be another rate
  return rate;
}

std::string RateText(const allotter::LimitSpec& spec) { return TokensText(spec.count) + "/" + Compact(spec.window); }

std::string TokensText(double tokens) {
  // What is small has more digits: the least amount is a millionth.
  std::string text = fmt::format("{:.{}f}", tokens, std::abs(tokens) < 0.0005 ? 6 : 3);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string BucketBar(const allotter::Limit& limit) {
  const double count = std::max(0.0, limit.spec.count), burst = std::max(0.0, limit.spec.burst);
  const double whole = count + burst;
  // Whatever there is, has a column.
  const auto columns = [&](double part, double of, std::size_t all) -> std::size_t {
    if (part <= 0 || of <= 0) return 0;
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::min(1.0, part / of) * static_cast<double>(all)), 1,
                                   std::max<std::size_t>(all, 1));
  };
  std::size_t below = columns(burst, whole, kBucketColumns);
  if (count > 0) below = std::min(below, kBucketColumns - 1);
  const std::size_t above = count > 0 ? kBucketColumns - below : 0;
  const std::size_t owed = std::min(below, columns(-limit.tokens, burst, below));
  const std::size_t had = std::min(above, columns(limit.tokens, count, above));
  std::string bar;
  if (burst > 0) bar = TokensText(-burst) + " ";
  for (std::size_t i = 0; i < below; ++i) bar += i + owed >= below ? "▒" : "░";
  bar += "│";
  for (std::size_t i = 0; i < above; ++i) bar += i < had ? "█" : "░";
  return bar + " " + TokensText(count);
}

std::string LimitLabel(const std::string& name, const std::string& tag) {
  return name.empty() ? tag : fmt::format("{} ({})", name, tag);
}

std::string LimitText(const allotter::Limit& limit, std::int64_t now_ms, Style style) {
  const allotter::LimitSpec& spec = limit.spec;
  std::string out =
      Fields({{"limit", limit.uuid},
              {"tag", spec.tag},
              {"name", spec.name},
              {"applies to", spec.expr},
              {"on", limit.job_only ? "any worker" : "some workers: it reads what they are"},
              {"cost of a start", spec.cost.empty() ? "1" : spec.cost},
              {"rate", RateText(spec)},
              {"burst", spec.burst == 0 ? "" : TokensText(spec.burst)},
              {"max burst cost", spec.max_burst_cost == 0 ? "" : TokensText(spec.max_burst_cost)},
              {"monitor", spec.monitor ? "yes: it counts, and holds nothing back" : ""},
              {"expires in", FormatDuration(spec.expires_in)},
              {"allowed", Counted(limit.allowed, "start") + ", at a cost of " + TokensText(limit.cost_allowed)},
              {spec.monitor ? "would have blocked" : "blocked",
               fmt::format("{}, {} ignored", Counted(limit.skipped, "time"),
                           limit.ignored_matches == 1 ? "1 match" : FormatCount(limit.ignored_matches) + " matches")},
              {"last", limit.last_ignored_at_ms ? Ago(*limit.last_ignored_at_ms, now_ms) : ""},
              {"blocked for", limit.blocked.count() == 0 ? "" : FormatDuration(limit.blocked)},
              {"blocked users", Users(limit.ignored_users)},
              {"waiting now", Waiting(limit)},
              {"next start", NextStart(limit)}},
             style);
  if (limit.cost_failed)
    out += Paint(Colour::kYellow, "the cost of some start cannot be evaluated, and counts as 1", style) + "\n";
  return out + "\n" + BucketBar(limit) + "   level " + TokensText(limit.tokens) + "\n";
}

std::string TrialText(const allotter::LimitTrial& trial, Style style) {
  std::string out = fmt::format("applies to {} of {} with queued tasks: {}", FormatCount(trial.jobs),
                                Counted(trial.jobs_looked_at, "job"), Counted(trial.tasks, "task"));
  out += "\n";
  if (trial.jobs > 0) {
    const std::string least = TokensText(trial.least_cost), most = TokensText(trial.most_cost);
    out += least == most ? fmt::format("a start costs {}\n", least)
                         : fmt::format("a start costs from {} to {}\n", least, most);
  }
  out += trial.job_only ? std::string("it reads nothing of the worker: it holds on all of them\n")
                        : fmt::format("it reads the worker: it holds on {} of those that are there\n",
                                      FormatCount(trial.worker_count));
  if (!trial.users.empty()) {
    Table table({{"USER"}, {"JOBS", true}, {"TASKS", true}});
    for (const auto& [user, jobs, tasks] : trial.users)
      table.Add({user.empty() ? "-" : user, FormatCount(jobs), FormatCount(tasks)});
    out += "\n" + table.Text(style);
  }
  if (!trial.workers.empty()) {
    Table table({{"WORKER"}, {"NAME"}});
    for (const auto& [worker, name] : trial.workers) table.Add({worker, name});
    out += "\n" + table.Text(style);
    if (trial.worker_count > trial.workers.size())
      out += fmt::format("and {} more\n", FormatCount(trial.worker_count - trial.workers.size()));
  }
  if (trial.cost_failed)
    out += Paint(Colour::kYellow, "of some starts the cost cannot be evaluated: they cost 1", style) + "\n";
  if (!trial.complete)
    out += Paint(Colour::kYellow, "this is not all: there was no time to look at every job", style) + "\n";
  return out;
}

std::string DemandText(const allotter::Demand& demand, Style style) {
  std::string out;
  if (demand.rows.empty()) {
    out = demand.running == 0 ? "nothing waits\n"
                              : fmt::format("nothing waits, {} running\n", FormatCount(demand.running));
  } else {
    Table table({{"USER"},
                 {"TAGS"},
                 {"CONSTRAINTS"},
                 {"QUEUED", true},
                 {"STARTABLE", true},
                 {"RUNNING", true},
                 {"OLDEST", true},
                 {"LIMITS"},
                 {"REQUIREMENTS"}});
    for (const allotter::Demand::Row& row : demand.rows) {
      std::string limits;
      for (const allotter::Demand::LimitName& limit : row.limits)
        limits += (limits.empty() ? "" : ", ") + (limit.name.empty() ? limit.tag : limit.name);
      const bool any =
          row.constraint_tags.empty() || (row.constraint_tags.size() == 1 && row.constraint_tags[0] == "c:");
      table.Add({row.user.empty() ? "-" : row.user, row.tags.empty() ? "-" : Joined(row.tags),
                 any ? "-" : Joined(row.constraint_tags, " "), FormatCount(row.queued), FormatCount(row.startable),
                 FormatCount(row.running), FormatDuration(std::chrono::milliseconds(row.oldest_age_ms)),
                 limits.empty() ? "-" : limits, row.requirements.empty() ? "-" : row.requirements});
    }
    out = table.Text(style);
    if (demand.row_count > demand.rows.size())
      out += fmt::format("and {} more\n", Counted(demand.row_count - demand.rows.size(), "row"));
    out += fmt::format("\n{} queued, {} of them startable within {}, {} running\n", FormatCount(demand.queued),
                       FormatCount(demand.startable), FormatDuration(demand.lookahead), FormatCount(demand.running));
  }
  if (demand.paused)
    out += Paint(Colour::kYellow, "the queue is paused: nothing starts until `allot queue resume`", style) + "\n";
  if (!demand.complete)
    out += Paint(Colour::kYellow, "this is not all: there was no time to look at every job", style) + "\n";
  return out;
}

}  // namespace allot::cli
