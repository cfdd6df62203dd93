// SPDX-License-Identifier: Apache-2.0
#include "cli/spec_options.h"

#include <charconv>
#include <cstdlib>
#include <ctime>

#include "base/json.h"
#include "base/text.h"
#include "cli/text/output.h"
#include "expr/expr.h"
#include "server/wire/percent.h"

namespace allot::cli {
namespace {

Error Bad(std::string_view option, const std::string& text, std::string_view hint) {
  return {Code::kBadValue, std::string(option) + " cannot be `" + text + "`", std::string(hint)};
}

template <typename Number>
std::optional<Number> Whole(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr const char* kConstraintHelp = "The worker must have this property; may be repeated, then all of them";
constexpr const char* kAlternativeHelp =
    "As KEY=VALUE,KEY=VALUE: the worker must have all of these; may be repeated, then any of them will do";
constexpr const char* kRequirementsHelp = "An expression that must be true, as in 'TARGET.memory >= 4096'";
constexpr const char* kRankHelp = "An expression: of several waiting workers the one where it is highest gets a task";

Result<allotter::Meta> ToMeta(const std::vector<std::string>& pairs) {
  allotter::Meta meta;
  for (const std::string& pair : pairs) {
    auto parsed = ParseMeta(pair);
    if (!parsed) return parsed.error();
    meta.push_back(std::move(*parsed));
  }
  return meta;
}

}  // namespace

Result<std::optional<std::chrono::milliseconds>> DurationOption(std::string_view option, const std::string& text) {
  if (text.empty()) return std::optional<std::chrono::milliseconds>();
  const auto parsed = ParseDuration(text);
  if (!parsed) return Bad(option, text, "a duration looks like 90s, 1h30m, 250ms or 2d");
  return std::optional(std::chrono::duration_cast<std::chrono::milliseconds>(*parsed));
}

Result<std::int64_t> ParseTime(const std::string& text, std::int64_t now_ms) {
  const Error bad = Bad("--at", text, "a time looks like 2026-01-31T10:00, 10:00, 2026-01-31T09:00Z or @1770000000");
  if (text.starts_with('@')) {
    const auto seconds = Whole<std::int64_t>(std::string_view(text).substr(1));
    if (!seconds || *seconds < 0 || *seconds > 253'402'300'799) return bad;
    return *seconds * 1000;
  }
  std::string body = text;
  const bool utc = !body.empty() && (body.back() == 'Z' || body.back() == 'z');
  if (utc) body.pop_back();
  const auto now = static_cast<std::time_t>(now_ms / 1000);
  for (const char* form : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"}) {
    std::tm tm{};
    const char* end = ::strptime(body.c_str(), form, &tm);
    if (end == nullptr || *end != '\0') continue;
    tm.tm_isdst = -1;
    const std::time_t at = utc ? ::timegm(&tm) : ::mktime(&tm);
    if (at < 0) return bad;
    return static_cast<std::int64_t>(at) * 1000;
  }
  for (const char* form : {"%H:%M:%S", "%H:%M"}) {
    std::tm parsed{};
    const char* end = ::strptime(body.c_str(), form, &parsed);
    if (end == nullptr || *end != '\0') continue;
    std::tm tm{};
    utc ? ::gmtime_r(&now, &tm) : ::localtime_r(&now, &tm);
    tm.tm_hour = parsed.tm_hour;
    tm.tm_min = parsed.tm_min;
    tm.tm_sec = parsed.tm_sec;
    tm.tm_isdst = -1;
    std::tm tomorrow = tm;
    ++tomorrow.tm_mday;  // normalised, so that it is right across the end of a month and a change of the clocks
    std::time_t at = utc ? ::timegm(&tm) : ::mktime(&tm);
    if (at <= now) at = utc ? ::timegm(&tomorrow) : ::mktime(&tomorrow);
    return static_cast<std::int64_t>(at) * 1000;
  }
  return bad;
}

Result<std::pair<std::string, allotter::MetaValue>> ParseMeta(const std::string& text, std::string_view option) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return Bad(option, text, "it looks like customer=acme or size=12");
  std::string key = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
    return std::pair(std::move(key), allotter::MetaValue(value.substr(1, value.size() - 2)));
  }
  if (value == "true" || value == "false") return std::pair(std::move(key), allotter::MetaValue(value == "true"));
  if (const auto whole = Whole<std::int64_t>(value)) return std::pair(std::move(key), allotter::MetaValue(*whole));
  const bool numeric = !value.empty() && value.find_first_not_of("0123456789.eE+-") == std::string::npos &&
                       value.find_first_of("0123456789") != std::string::npos;
  if (const auto real = numeric ? Whole<double>(value) : std::nullopt)
    return std::pair(std::move(key), allotter::MetaValue(*real));
  return std::pair(std::move(key), allotter::MetaValue(value));
}

std::string MetaText(const allotter::Meta& meta) {
  std::string out;
  for (const auto& [key, value] : meta) {
    if (!out.empty()) out += ", ";
    out += key + "=";
    if (const auto* text = std::get_if<std::string>(&value)) {
      const auto read = ParseMeta("k=" + *text);
      const bool plain = read.ok() && read->second == value && text->find_first_of(", \"") == std::string::npos;
      out += plain ? *text : "\"" + *text + "\"";
    }
    if (const auto* number = std::get_if<std::int64_t>(&value)) out += std::to_string(*number);
    if (const auto* real = std::get_if<double>(&value)) AppendJsonReal(*real, out);
    if (const auto* flag = std::get_if<bool>(&value)) out += *flag ? "true" : "false";
  }
  return out;
}

Result<std::pair<std::string, std::string>> ParseProperty(std::string_view option, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Bad(option, text, "it looks like gpu=a100");
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

Result<std::vector<allotter::Properties>> ToConstraints(const std::vector<std::string>& constraints,
                                                        const std::vector<std::string>& alternatives) {
  allotter::Properties common;
  for (const std::string& text : constraints) {
    auto pair = ParseProperty("--constraint", text);
    if (!pair) return pair.error();
    common.push_back(std::move(*pair));
  }
  std::vector<allotter::Properties> all;
  for (const std::string& text : alternatives) {
    allotter::Properties& one = all.emplace_back(common);
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t comma = std::min(text.find(',', at), text.size());
      auto pair = ParseProperty("--alternative", text.substr(at, comma - at));
      if (!pair) return Bad("--alternative", text, "it looks like gpu=a100,mem=high");
      const auto value = PercentDecode(pair->second, false);
      if (!value) return Bad("--alternative", text, "a percent sign is written as %25, a comma as %2C");
      one.emplace_back(std::move(pair->first), *value);
      at = comma + 1;
    }
  }
  if (all.empty() && !common.empty()) all.push_back(std::move(common));
  return all;
}

CLI::Validator GivenExpression() {
  return CLI::Validator(
      [](std::string& text) { return text.empty() ? std::string("an expression must not be empty") : std::string(); },
      "");
}

Result<void> CheckExpression(std::string_view name, const std::string& text) {
  if (text.empty()) return {};
  const expr::Parsed parsed = expr::Expr::Parse(text);
  if (parsed.expr != nullptr) return {};
  return Error{Code::kBadValue, expr::PointAt(name, text, parsed.error), ""};
}

void AddSpecOptions(CLI::App& command, SpecOptions& o) {
  const std::string group = "Job";
  const auto text = [&](const char* name, std::string& target, const char* operand, const char* help) {
    command.add_option(name, target, help)->type_name(operand)->group(group);
  };
  command.add_option("-t,--tag", o.spec.tags, "A tag that workers must have; may be repeated")
      ->type_name("TAG")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--constraint", o.constraints, kConstraintHelp)
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--alternative", o.alternatives, kAlternativeHelp)
      ->type_name("PAIRS")
      ->allow_extra_args(false)
      ->group(group);
  const auto expression = [&](const char* name, std::string& target, const char* help) {
    command.add_option(name, target, help)->type_name("EXPR")->check(GivenExpression())->group(group);
  };
  expression("--requirements", o.spec.requirements, kRequirementsHelp);
  expression("--rank", o.spec.rank, kRankHelp);
  command.add_option("-p,--priority", o.spec.priority, "Higher first; none: last")->type_name("N")->group(group);
  text("-u,--user", o.spec.user, "USER", "Whose job it is");
  text("--delay", o.delay, "DURATION", "Not before so long from now, as in 10m");
  text("--at", o.at, "TIME", "Not before that time: 2026-01-31T10:00, 10:00, or with Z for UTC");
  command.add_option("-m,--meta", o.meta, "key=value, a number, true, false or text; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false)
      ->group(group);
  command.add_option("--max-attempts", o.spec.max_attempts, "Deliveries of a task before it fails (5)")
      ->type_name("N")
      ->group(group);
  text("--backoff-first", o.backoff_first, "DURATION", "Wait before the second attempt (1s)");
  command.add_option("--backoff-factor", o.spec.backoff.factor, "How much longer before each further one (2)")
      ->type_name("X")
      ->group(group);
  text("--backoff-max", o.backoff_max, "DURATION", "The longest wait (5m)");
  command.add_option("--backoff-jitter", o.spec.backoff.jitter, "Longer by chance, up to this part (0.1)")
      ->type_name("X")
      ->group(group);
  text("--lease", o.lease, "DURATION", "How long an attempt may go without a sign of life (1m)");
  text("--timeout", o.timeout, "DURATION", "How long an attempt may take at all (no limit)");
  text("--max-failed", o.spec.max_failed_tasks, "N|N%", "More failed tasks than this fail the job (0)");
  text("--retention", o.retention, "DURATION", "How long job and results are kept after its end (1d)");
  text("--idempotency-key", o.spec.idempotency_key, "KEY", "The same key with the same content gives the same job");
  text("--payload-prefix", o.spec.payload_prefix, "PREFIX", "Contents are in object storage at PREFIX/index");
  text("--trace", o.spec.trace, "TRACEPARENT", "A W3C traceparent, handed to workers (TRACEPARENT)");
  command.add_flag("--sync", o.sync, "A person waits for it")->group(group);
}

Result<allotter::JobSpec> ToSpec(const SpecOptions& o) {
  allotter::JobSpec spec = o.spec;
  spec.async = !o.sync;
  if (const char* trace = std::getenv("TRACEPARENT"); spec.trace.empty() && trace != nullptr) spec.trace = trace;
  struct Row {
    const char* name;
    const std::string& text;
    std::optional<std::chrono::milliseconds>& target;
  };
  const Row rows[] = {{"--delay", o.delay, spec.delay},
                      {"--backoff-first", o.backoff_first, spec.backoff.first},
                      {"--backoff-max", o.backoff_max, spec.backoff.max},
                      {"--lease", o.lease, spec.lease},
                      {"--timeout", o.timeout, spec.timeout},
                      {"--retention", o.retention, spec.retention}};
  for (const Row& row : rows) {
    auto parsed = DurationOption(row.name, row.text);
    if (!parsed) return parsed.error();
    row.target = *parsed;
  }
  if (!o.at.empty()) {
    if (spec.delay) return Error{Code::kBadValue, "--at and --delay exclude each other", ""};
    auto at = ParseTime(o.at, NowMillis());
    if (!at) return at.error();
    spec.scheduled_at_ms = *at;
  }
  auto meta = ToMeta(o.meta);
  if (!meta) return meta.error();
  spec.meta = std::move(*meta);
  auto constraints = ToConstraints(o.constraints, o.alternatives);
  if (!constraints) return constraints.error();
  spec.constraints = std::move(*constraints);
  if (auto checked = CheckExpression("requirements", spec.requirements); !checked) return checked.error();
  if (auto checked = CheckExpression("rank", spec.rank); !checked) return checked.error();
  return spec;
}

void AddChangeOptions(CLI::App& command, ChangeOptions& o) {
  command.add_option("-t,--tag", o.tags, "The new tags, instead of all before; may be repeated")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command.add_flag("--no-tags", o.no_tags, "No tags: any worker may run it");
  command.add_option("--constraint", o.constraints, kConstraintHelp)->type_name("KEY=VALUE")->allow_extra_args(false);
  command.add_option("--alternative", o.alternatives, kAlternativeHelp)->type_name("PAIRS")->allow_extra_args(false);
  command.add_flag("--no-constraints", o.no_constraints, "No constraints");
  command.add_option("--requirements", o.requirements, kRequirementsHelp)->type_name("EXPR")->check(GivenExpression());
  command.add_flag("--no-requirements", o.no_requirements, "No requirements");
  command.add_option("--rank", o.rank, kRankHelp)->type_name("EXPR")->check(GivenExpression());
  command.add_flag("--no-rank", o.no_rank, "No rank");
  command.add_option("-p,--priority", o.priority, "Higher first; `none`: last")->type_name("N|none");
  command.add_option("--delay", o.delay, "Not before so long from now")->type_name("DURATION");
  command.add_option("--at", o.at, "Not before that time")->type_name("TIME");
  command.add_option("-m,--meta", o.meta, "The new meta, instead of all before; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_flag("--no-meta", o.no_meta, "No meta");
}

Result<allotter::JobChange> ToChange(const ChangeOptions& o) {
  allotter::JobChange change;
  if (o.no_tags || !o.tags.empty()) change.tags = o.tags;
  if (!o.priority.empty()) {
    const auto number = Whole<std::int64_t>(o.priority);
    if (!number && o.priority != "none") return Bad("--priority", o.priority, "a whole number, or `none`");
    change.priority = number;
  }
  auto delay = DurationOption("--delay", o.delay);
  if (!delay) return delay.error();
  change.delay = *delay;
  if (!o.at.empty()) {
    if (change.delay) return Error{Code::kBadValue, "--at and --delay exclude each other", ""};
    auto at = ParseTime(o.at, NowMillis());
    if (!at) return at.error();
    change.scheduled_at_ms = *at;
  }
  if (o.no_meta || !o.meta.empty()) {
    auto meta = ToMeta(o.meta);
    if (!meta) return meta.error();
    change.meta = std::move(*meta);
  }
  auto constraints = ToConstraints(o.constraints, o.alternatives);
  if (!constraints) return constraints.error();
  if (o.no_constraints || !constraints->empty()) change.constraints = std::move(*constraints);
  if (auto checked = CheckExpression("requirements", o.requirements); !checked) return checked.error();
  if (auto checked = CheckExpression("rank", o.rank); !checked) return checked.error();
  if (o.no_requirements || !o.requirements.empty()) change.requirements = o.requirements;
  if (o.no_rank || !o.rank.empty()) change.rank = o.rank;
  struct Pair {
    bool none, some;
    const char *flag, *option;
  };
  for (const Pair& pair :
       {Pair{o.no_tags, !o.tags.empty(), "--no-tags", "--tag"}, Pair{o.no_meta, !o.meta.empty(), "--no-meta", "--meta"},
        Pair{o.no_constraints, !o.constraints.empty(), "--no-constraints", "--constraint"},
        Pair{o.no_constraints, !o.alternatives.empty(), "--no-constraints", "--alternative"},
        Pair{o.no_requirements, !o.requirements.empty(), "--no-requirements", "--requirements"},
        Pair{o.no_rank, !o.rank.empty(), "--no-rank", "--rank"}}) {
    if (pair.none && pair.some)
      return Error{Code::kBadValue, std::string(pair.flag) + " and " + pair.option + " exclude each other", ""};
  }
  if (!change.tags && !change.priority && !change.delay && !change.scheduled_at_ms && !change.meta &&
      !change.constraints && !change.requirements && !change.rank) {
    return Error{Code::kBadValue, "nothing to change was named", "`allot job set --help` lists what can be changed"};
  }
  return change;
}

}  // namespace allot::cli
