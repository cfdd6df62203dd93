// SPDX-License-Identifier: Apache-2.0
#include "server/ops/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <toml++/toml.h>
#include <boost/asio/ip/address.hpp>

#include "base/text.h"
#include "base/try.h"
#include "base/words.h"
#include "cluster/signature.h"
#include "match/constraints.h"
#include "server/ops/span_exporter.h"
#include "store/postgres/connection.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr std::uint16_t kDefaultPort = 7420;
constexpr const char* kDefaultFile = "/etc/allotter/allotter.toml";

// The reason why a value cannot be taken; none if it was.
using Refusal = std::optional<std::string>;

struct SettingRow {
  std::string_view name;
  std::string_view operand;
  std::string_view help;
  Refusal (*parse)(Config& config, std::string_view text);
  std::string (*print)(const Config& config);
  bool list = false;  // in the file also a list of strings
};

// --- Values as text, both ways.

Refusal ReadDuration(std::string_view text, Duration min, Duration max, Duration& out) {
  const auto value = ParseDuration(text);
  if (!value) return "is not a duration like `30s`, `1.5h`, `250ms`";
  if (*value < min || *value > max)
    return fmt::format("must be from {} to {}", FormatDuration(min), FormatDuration(max));
  out = *value;
  return std::nullopt;
}

// Exact, in the largest unit that divides it, so that it reads back the same.
std::string PrintDuration(Duration value) {
  struct Unit {
    const char* name;
    std::int64_t us;
  };
  constexpr Unit kUnits[] = {
      {"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}};
  if (value.count() == 0) return "0s";
  for (const Unit& unit : kUnits) {
    if (value.count() % unit.us == 0) return fmt::format("{}{}", value.count() / unit.us, unit.name);
  }
  return fmt::format("{}us", value.count());
}

Refusal ReadSize(std::string_view text, std::uint64_t max, std::uint64_t& out) {
  const auto value = ParseSize(text);
  if (!value) return "is not a size like `64KiB`, `10MB`, `1024`";
  if (*value > max) return fmt::format("must be at most {} bytes", FormatCount(max));
  out = *value;
  return std::nullopt;
}

std::string PrintSize(std::uint64_t value) {
  if (value != 0 && value % (1 << 20) == 0) return fmt::format("{}MiB", value >> 20);
  if (value != 0 && value % (1 << 10) == 0) return fmt::format("{}KiB", value >> 10);
  return std::to_string(value);
}

template <typename T>
Refusal ReadNumber(std::string_view text, std::uint64_t min, std::uint64_t max, T& out) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < min || value > max) {
    return fmt::format("must be an integer from {} to {}", FormatCount(min), FormatCount(max));
  }
  out = static_cast<T>(value);
  return std::nullopt;
}

// Separated by commas; blanks around them do not count.
Refusal ReadList(std::string_view text, std::vector<std::string>& out) {
  out.clear();
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (!item.empty()) out.emplace_back(item);
  }
  return std::nullopt;
}

std::string PrintList(const std::vector<std::string>& list) { return fmt::format("{}", fmt::join(list, ",")); }

// An item of a list whose items may have commas: written as %2C, and a percent sign before these letters as %25.
std::string ItemText(std::string_view item) {
  std::string out;
  for (std::size_t i = 0; i < item.size(); ++i) {
    const std::string_view code = item.substr(i, 3);
    const char coded = code == "%2C" || code == "%2c" ? ',' : code == "%25" ? '%' : '\0';
    out.push_back(coded == '\0' ? item[i] : coded);
    if (coded != '\0') i += 2;
  }
  return out;
}

std::string PrintItems(const Weights& weights) {
  std::string out;
  for (const auto& [name, weight] : weights) {
    if (!out.empty()) out += ", ";
    for (const char c : name) out += c == ',' ? "%2C" : c == '%' ? "%25" : std::string(1, c);
    out += fmt::format("={}", weight);
  }
  return out;
}

template <typename E>
Refusal ReadWord(std::string_view text, std::span<const std::string_view> words, E& out) {
  const std::optional<E> word = ParseWord<E>(text, words);
  if (!word) return MustBeOneOf(words);
  out = *word;
  return std::nullopt;
}

constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warning", "error", "off"};
constexpr std::string_view kFormats[] = {"auto", "text", "json"};

constexpr std::string_view kBool = "BOOL";  // a setting's operand: in the file a truth value
constexpr std::string_view kBools[] = {"false", "true"};
Refusal ReadBool(std::string_view text, bool& out) {
  if (text != kBools[0] && text != kBools[1]) return MustBeOneOf(kBools);
  out = text == kBools[1];
  return std::nullopt;
}

// --- The table: every setting once.

constexpr SettingRow kRows[] = {
    {"listen", "HOST:PORT", "address to listen on; beyond loopback only with tokens",
     [](Config& c, std::string_view t) -> Refusal {
       auto endpoint = ParseEndpoint(t);
       if (!endpoint.ok()) return endpoint.error().message;
       c.listen = std::move(*endpoint);
       return std::nullopt;
     },
     [](const Config& c) { return c.listen.Text(); }},
    {"data", "DIR", "directory of the queues' files and of the tokens",
     [](Config& c, std::string_view t) -> Refusal {
       if (t.empty()) return "must not be empty";
       c.data = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.data; }},
    {"store", "URL", "database that has the queues, postgres://USER@HOST/NAME; empty: files in `data`",
     [](Config& c, std::string_view t) -> Refusal {
       if (!t.empty() && !t.starts_with("postgres://") && !t.starts_with("postgresql://"))
         return "is not a URL like `postgres://USER@HOST/NAME`";
       c.store = t;
       return std::nullopt;
     },
     [](const Config& c) { return postgres::RedactedUrl(c.store); }},
    {"store_file", "FILE", "file whose first line is that URL, so that nobody sees its password",
     [](Config& c, std::string_view t) -> Refusal {
       c.store_file = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.store_file; }},
    {"allow_no_standby", kBool, "true: a database without a synchronous standby will do; false: it is refused",
     [](Config& c, std::string_view t) { return ReadBool(t, c.allow_no_standby); },
     [](const Config& c) { return std::string(kBools[c.allow_no_standby ? 1 : 0]); }},
    {"node", "NAME", "how others that use the same database know this server; empty: by the host's name",
     [](Config& c, std::string_view t) -> Refusal {
       if (t.size() > 200 || std::any_of(t.begin(), t.end(), [](char ch) { return ch < ' ' || ch > '~'; }))
         return "must be at most 200 printable letters of ASCII";
       c.node = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.node; }},
    {"advertise", "URL",
     "by which other nodes reach this one, like http://node1:7420: with it, several servers share the queues of "
     "`store`",
     [](Config& c, std::string_view t) -> Refusal {
       if (!t.empty() && !t.starts_with("http://") && !t.starts_with("https://"))
         return "is not a URL like `http://node1:7420`";
       c.advertise = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.advertise; }},
    {"cluster_secret", "SECRET", "what all nodes of a cluster know, and nobody else: `openssl rand -hex 32` makes one",
     [](Config& c, std::string_view t) -> Refusal {
       c.cluster_secret = t;
       return std::nullopt;
     },
     [](const Config& c) { return std::string(c.cluster_secret.empty() ? "" : "***"); }},
    {"cluster_secret_file", "FILE", "file whose first line is that secret",
     [](Config& c, std::string_view t) -> Refusal {
       c.cluster_secret_file = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.cluster_secret_file; }},
    {"tls_cert", "FILE", "certificate chain in PEM; with tls_key, only TLS is spoken",
     [](Config& c, std::string_view t) -> Refusal {
       c.tls_cert = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.tls_cert; }},
    {"tls_key", "FILE", "the certificate's private key in PEM",
     [](Config& c, std::string_view t) -> Refusal {
       c.tls_key = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.tls_key; }},
    {"allowed_hosts", "NAMES", "further names that clients may reach the server by, separated by commas; * for any",
     [](Config& c, std::string_view t) { return ReadList(t, c.allowed_hosts); },
     [](const Config& c) { return PrintList(c.allowed_hosts); }, true},
    {"allowed_origins", "ORIGINS", "web pages that may use the server, like https://dash.example.com; * for any",
     [](Config& c, std::string_view t) { return ReadList(t, c.allowed_origins); },
     [](const Config& c) { return PrintList(c.allowed_origins); }, true},
    {"network_threads", "NUMBER", "threads that parse and serialise; 0: one for two cores, from two to four",
     [](Config& c, std::string_view t) { return ReadNumber(t, 0, 64, c.network_threads); },
     [](const Config& c) { return std::to_string(c.network_threads); }},
    {"log_level", "LEVEL", "trace, debug, info, warning, error or off",
     [](Config& c, std::string_view t) { return ReadWord(t, kLevels, c.log_level); },
     [](const Config& c) { return std::string(kLevels[static_cast<std::size_t>(c.log_level)]); }},
    {"log_format", "FORMAT", "text, json, or auto: text on a terminal, JSON lines otherwise",
     [](Config& c, std::string_view t) { return ReadWord(t, kFormats, c.log_format); },
     [](const Config& c) { return std::string(kFormats[static_cast<std::size_t>(c.log_format)]); }},
    {"otlp_endpoint", "URL",
     "collector of OpenTelemetry that gets spans of jobs with a trace, like http://127.0.0.1:4318; empty: none",
     [](Config& c, std::string_view t) -> Refusal {
       if (!t.empty()) {
         if (const auto endpoint = ParseOtlpEndpoint(t); !endpoint.ok())
           return endpoint.error().message + ": " + endpoint.error().hint;
       }
       c.otlp_endpoint = t;
       return std::nullopt;
     },
     [](const Config& c) { return c.otlp_endpoint; }},
    {"retention", "DURATION", "how long jobs that do not say are kept after their end",
     [](Config& c, std::string_view t) -> Refusal {
       Duration value{0};
       if (auto refusal = ReadDuration(t, Duration(0), bounds::kMaxRetention, value)) return refusal;
       c.default_retention = milliseconds(ToMillis(value));
       return std::nullopt;
     },
     [](const Config& c) { return PrintDuration(c.default_retention); }},
    {"max_finished_jobs", "NUMBER", "ended jobs that a new queue keeps at most",
     [](Config& c, std::string_view t) {
       return ReadNumber(t, 0, bounds::kMaxJobsPerQueue, c.queue_defaults.max_finished_jobs);
     },
     [](const Config& c) { return std::to_string(c.queue_defaults.max_finished_jobs); }},
    {"worker_grace", "DURATION", "how long workers of a new queue may stay away after a lost connection",
     [](Config& c, std::string_view t) {
       return ReadDuration(t, Duration(0), bounds::kMaxWorkerGrace, c.queue_defaults.worker_grace);
     },
     [](const Config& c) { return PrintDuration(c.queue_defaults.worker_grace); }},
    {"max_limit_expiration", "DURATION", "how long limits of a new queue live without being renewed, at most",
     [](Config& c, std::string_view t) {
       return ReadDuration(t, std::chrono::seconds(1), bounds::kMaxLimitExpiration,
                           c.queue_defaults.max_limit_expiration);
     },
     [](const Config& c) { return PrintDuration(c.queue_defaults.max_limit_expiration); }},
    {"limit_ban_window", "DURATION",
     "how long a user counts as denied, after a limit denied it a start, in a new queue",
     [](Config& c, std::string_view t) {
       return ReadDuration(t, Duration(0), bounds::kMaxDemandWindow, c.queue_defaults.limit_ban_window);
     },
     [](const Config& c) { return PrintDuration(c.queue_defaults.limit_ban_window); }},
    {"demand_lookahead", "DURATION", "within which time the demand of a new queue counts what limits can pay for",
     [](Config& c, std::string_view t) {
       return ReadDuration(t, Duration(0), bounds::kMaxDemandWindow, c.queue_defaults.demand_lookahead);
     },
     [](const Config& c) { return PrintDuration(c.queue_defaults.demand_lookahead); }},
    {"max_result_bytes", "SIZE", "largest result that a new queue takes",
     [](Config& c, std::string_view t) {
       return ReadSize(t, bounds::kMaxResultBytes, c.queue_defaults.max_result_bytes);
     },
     [](const Config& c) { return PrintSize(c.queue_defaults.max_result_bytes); }},
    {"property_keys", "KEYS", "properties that workers of a new queue may have, separated by commas, as in gpu,mem",
     [](Config& c, std::string_view t) -> Refusal {
       PropertyKeys keys;
       static_cast<void>(ReadList(t, keys));
       if (const auto check = CheckPropertyKeys(keys, bounds::kMaxPropertyKeys); !check.ok())
         return "cannot be this: " + check.error().message;
       c.queue_defaults.property_keys = std::move(keys);
       return std::nullopt;
     },
     [](const Config& c) { return PrintList(c.queue_defaults.property_keys); }, true},
    {"max_property_keys", "NUMBER", "how many of them a new queue may declare",
     [](Config& c, std::string_view t) {
       return ReadNumber(t, 0, bounds::kMaxPropertyKeys, c.queue_defaults.max_property_keys);
     },
     [](const Config& c) { return std::to_string(c.queue_defaults.max_property_keys); }},
    {"policy", "STRATEGY", "what holds for all workers of a new queue, with the word `worker` for their own strategy",
     [](Config& c, std::string_view t) -> Refusal {
       const ParsedStrategy parsed = ParseStrategy(t, true, c.strategies);
       if (parsed.strategy == nullptr) return "cannot be this:\n" + expr::PointAt("policy", t, parsed.error);
       c.queue_defaults.policy = PrintStrategy(*parsed.strategy);
       return std::nullopt;
     },
     [](const Config& c) { return c.queue_defaults.policy; }},
    {"weights", "WEIGHTS",
     "shares of a new queue's users or other values under `fair`, as in user.acme=3,user.bob=2; a comma in a value is "
     "%2C",
     [](Config& c, std::string_view t) -> Refusal {
       std::vector<std::string> list;
       static_cast<void>(ReadList(t, list));
       Weights weights;
       for (const std::string& item : list) {
         const auto weight = ParseWeight(ItemText(item));
         if (!weight.ok()) return "cannot be this: " + weight.error().message;
         if (!weights.insert(*weight).second) return "has `" + weight->first + "` twice";
       }
       if (weights.size() > bounds::kMaxWeights)
         return "has more than " + FormatCount(bounds::kMaxWeights) + " weights";
       c.queue_defaults.weights = std::move(weights);
       return std::nullopt;
     },
     [](const Config& c) { return PrintItems(c.queue_defaults.weights); }, true},
    {"dispatch", "MODE",
     "who holds a queued task of a new queue: fanout, all workers that may run it; balanced, one of them",
     [](Config& c, std::string_view t) { return ReadWord(t, kDispatchWords, c.queue_defaults.dispatch.mode); },
     [](const Config& c) { return std::string(Text(c.queue_defaults.dispatch.mode)); }},
    {"balance", "CHOICE", "which one, where dispatch is balanced: least_queue, round_robin or random",
     [](Config& c, std::string_view t) { return ReadWord(t, kBalanceWords, c.queue_defaults.dispatch.balance); },
     [](const Config& c) { return std::string(Text(c.queue_defaults.dispatch.balance)); }},
    {"restart_grace", "DURATION",
     "how long leases are kept for their workers after a start, and balanced queues promise nothing; 0: not at all",
     [](Config& c, std::string_view t) {
       return ReadDuration(t, Duration(0), bounds::kMaxWorkerGrace, c.restart_grace);
     },
     [](const Config& c) { return PrintDuration(c.restart_grace); }},
    {"memory_budget", "SIZE",
     "memory that all queues may use together; auto: half of what the machine or the control group has",
     [](Config& c, std::string_view t) -> Refusal {
       c.memory_budget = 0;
       if (t == "auto") return std::nullopt;
       if (auto refusal = ReadSize(t, std::uint64_t{1} << 50, c.memory_budget)) return refusal;
       if (c.memory_budget < bounds::kMinMemoryBudget)
         return fmt::format("must be `auto`, or at least {} bytes", FormatCount(bounds::kMinMemoryBudget));
       return std::nullopt;
     },
     [](const Config& c) { return c.memory_budget == 0 ? std::string("auto") : PrintSize(c.memory_budget); }},
    {"memory_ready", "SIZE",
     "memory that is taken at the start and kept, for machines on which the first use of memory is slow",
     [](Config& c, std::string_view t) { return ReadSize(t, std::uint64_t{1} << 50, c.memory_ready); },
     [](const Config& c) { return PrintSize(c.memory_ready); }},
    {"max_body_bytes", "SIZE", "largest body of a request; streamed submits may be of any length",
     [](Config& c, std::string_view t) { return ReadSize(t, bounds::kMaxBodyBytes, c.max_body_bytes); },
     [](const Config& c) { return PrintSize(c.max_body_bytes); }},
    {"max_connections", "NUMBER", "connections at a time; further ones are closed",
     [](Config& c, std::string_view t) { return ReadNumber(t, 1, 1'000'000, c.max_connections); },
     [](const Config& c) { return std::to_string(c.max_connections); }},
    {"request_timeout", "DURATION", "how long a request may take to come in",
     [](Config& c, std::string_view t) { return ReadDuration(t, 1s, 1h, c.request_timeout); },
     [](const Config& c) { return PrintDuration(c.request_timeout); }},
    {"write_timeout", "DURATION", "how long a client may take to read what is sent to it",
     [](Config& c, std::string_view t) { return ReadDuration(t, 1s, 1h, c.write_timeout); },
     [](const Config& c) { return PrintDuration(c.write_timeout); }},
    {"idle_timeout", "DURATION", "how long a connection may be idle between requests",
     [](Config& c, std::string_view t) { return ReadDuration(t, 1s, 24h, c.idle_timeout); },
     [](const Config& c) { return PrintDuration(c.idle_timeout); }},
    {"heartbeat", "DURATION",
     "how often connected workers send something; three times as long without ends the connection",
     [](Config& c, std::string_view t) { return ReadDuration(t, 100ms, 10min, c.heartbeat); },
     [](const Config& c) { return PrintDuration(c.heartbeat); }},
    {"stop_timeout", "DURATION", "how long a graceful stop may take",
     [](Config& c, std::string_view t) { return ReadDuration(t, Duration(0), 1h, c.stop_timeout); },
     [](const Config& c) { return PrintDuration(c.stop_timeout); }},
};

std::string FlagOf(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

std::string VariableOf(std::string_view name) {
  std::string variable = "ALLOT_" + std::string(name);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return variable;
}

const SettingRow* Find(std::string_view name) {
  for (const SettingRow& row : kRows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

Result<void> Set(Config& config, const SettingRow& row, std::string_view text, std::string origin) {
  if (const Refusal refusal = row.parse(config, text)) {
    return Error{Code::kBadValue, fmt::format("{}: `{}` {}", origin, row.name, *refusal),
                 fmt::format("{} {}: {}", FlagOf(row.name), row.operand, row.help)};
  }
  config.origins[std::string(row.name)] = std::move(origin);
  return {};
}

// --- The file.

constexpr std::string_view kStrategies = "strategies";

// The text that the same value would be on a command line; none for what no setting can be.
std::optional<std::string> TextOf(const toml::node& node, const SettingRow& row) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* truth = node.as_boolean(); truth != nullptr && row.operand == kBool) {
    return std::string(kBools[truth->get() ? 1 : 0]);
  }
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* real = node.as_floating_point()) return fmt::format("{}", real->get());
  const auto* array = node.as_array();
  if (array == nullptr || !row.list) return std::nullopt;
  std::string joined;
  for (const toml::node& item : *array) {
    const auto* text = item.as_string();
    if (text == nullptr || text->get().find(',') != std::string::npos) return std::nullopt;
    joined += (joined.empty() ? "" : ",") + text->get();
  }
  return joined;
}

Error UnknownKey(const std::string& place, std::string_view key) {
  std::vector<std::string_view> names;
  for (const SettingRow& row : kRows) names.push_back(row.name);
  const std::string_view nearest = Nearest(key, names);
  return Error{Code::kUnknownField, fmt::format("{}: `{}` is not a setting", place, key),
               nearest.empty() ? "`allot config show` lists them all" : fmt::format("did you mean `{}`?", nearest)};
}

// Names first, so that they may stand in other settings; each may use those above it.
Result<void> ReadStrategies(Config& config, const std::string& file, const toml::node& node) {
  const auto place = [&](const toml::source_region& at) { return fmt::format("{}:{}", file, at.begin.line); };
  const toml::table* const table = node.as_table();
  if (table == nullptr) {
    return Error{Code::kBadValue, place(node.source()) + ": `strategies` must be a table of names and strategies",
                 "like [strategies] with a line: previews = \"select_only(mode = preview, oldest)\""};
  }
  std::vector<std::pair<toml::source_position, std::string>> names;  // the table itself is sorted by name
  for (const auto& [key, unused] : *table) names.emplace_back(key.source().begin, key.str());
  std::sort(names.begin(), names.end());
  for (const auto& [position, name] : names) {
    const std::string at = fmt::format("{}:{}", file, position.line);
    if (const std::string why = CheckStrategyName(name); !why.empty())
      return Error{Code::kBadValue, fmt::format("{}: `strategies.{}`: {}", at, name, why), ""};
    const auto* const text = table->get(name)->as_string();
    if (text == nullptr)
      return Error{Code::kBadValue, fmt::format("{}: `strategies.{}` must be a string", at, name), ""};
    if (config.strategies.size() == bounds::kMaxNamedStrategies)
      return Error{Code::kBadValue, fmt::format("{}: more than {} strategies", at, bounds::kMaxNamedStrategies), ""};
    const ParsedStrategy parsed = ParseStrategy(text->get(), false, config.strategies);
    if (parsed.strategy == nullptr) {
      return Error{Code::kBadValue,
                   fmt::format("{}: `strategies.{}`:\n{}", at, name, expr::PointAt(name, text->get(), parsed.error)),
                   ""};
    }
    config.strategies.emplace_back(name, parsed.strategy);
    config.origins["strategies." + name] = at;
  }
  return {};
}

Result<void> ReadFile(Config& config, const std::string& file) {
  toml::table table;
  // Debian's library throws; nothing of it leaves this function.
  try {
    table = toml::parse_file(file);
  } catch (const toml::parse_error& error) {
    const auto line = error.source().begin.line;
    return Error{Code::kBadValue,
                 line == 0 ? fmt::format("{}: {}", file, error.description())
                           : fmt::format("{}:{}: {}", file, line, error.description()),
                 ""};
  }
  if (const toml::node* strategies = table.get(kStrategies)) {
    TRY_OK(ReadStrategies(config, file, *strategies));
  }
  for (const auto& [key, node] : table) {
    if (key.str() == kStrategies) continue;
    const std::string place = fmt::format("{}:{}", file, key.source().begin.line);
    const SettingRow* row = Find(key.str());
    if (row == nullptr) return UnknownKey(place, key.str());
    const auto text = TextOf(node, *row);
    if (!text) {
      return Error{Code::kBadValue,
                   fmt::format("{}: `{}` must be {}", place, row->name,
                               row->list ? "a string or a list of strings" : "a string or a number"),
                   ""};
    }
    TRY_OK(Set(config, *row, *text, place));
  }
  config.file = file;
  return {};
}

// What a node of a cluster has to have.
Result<void> CheckCluster(Config& config) {
  if (config.advertise.empty()) return {};
  if (config.store.empty()) {
    return Error{Code::kBadValue, "`advertise` is set, and `store` is not: only queues in a database can be shared",
                 "set store_file, or leave advertise out"};
  }
  if (!config.cluster_secret_file.empty()) {
    if (!config.cluster_secret.empty()) {
      return Error{Code::kBadValue, "`cluster_secret` and `cluster_secret_file` are both set", "leave one of them out"};
    }
    Result<std::string> secret = cluster::ReadSecret(config.cluster_secret_file);
    if (!secret.ok()) return secret.error();
    TRY_OK(Set(config, *Find("cluster_secret"), *secret, config.cluster_secret_file));
  }
  if (config.cluster_secret.empty()) {
    return Error{Code::kBadValue, "`advertise` is set, and no secret of the cluster",
                 "put the same one into a file on each node, and name it in cluster_secret_file"};
  }
  return cluster::CheckSecret(config.cluster_secret);
}

// The URL is the file's first line.
Result<void> ReadStoreFile(Config& config) {
  if (!config.store.empty()) {
    return Error{Code::kBadValue, "`store` and `store_file` are both set", "leave one of them out"};
  }
  std::ifstream file(config.store_file);
  std::string line;
  if (!std::getline(file, line)) {
    return Error{Code::kBadValue, fmt::format("`store_file`: cannot read {}", config.store_file), ""};
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.pop_back();
  if (line.empty()) return Error{Code::kBadValue, fmt::format("the first line of {} is empty", config.store_file), ""};
  return Set(config, *Find("store"), line, config.store_file);
}

std::optional<std::string> ProcessEnvironment(const std::string& name) {
  const char* const value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

std::string Endpoint::Text() const {
  return host.find(':') != std::string::npos ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<Endpoint> ParseEndpoint(std::string_view text) {
  const auto bad = [] {
    return Error{Code::kBadValue, "is not an address like `127.0.0.1:7420`, `[::1]:7420`, `:7420`", ""};
  };
  Endpoint endpoint;
  endpoint.port = kDefaultPort;
  std::string_view host = text, port;
  if (!text.empty() && text[0] == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return bad();
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    boost::system::error_code error;
    boost::asio::ip::make_address_v6(std::string(host), error);
    if (error) return bad();
  } else {
    const std::size_t colon = text.find(':');
    if (colon != std::string_view::npos) {
      host = text.substr(0, colon);
      port = text.substr(colon);
    }
    for (const char c : host) {
      const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                         c == '-' || c == '_';
      if (!plain) return bad();
    }
  }
  if (!port.empty()) {
    std::uint32_t number = 0;
    const char* const end = port.data() + port.size();
    const auto [rest, error] = std::from_chars(port.data() + 1, end, number);
    if (port[0] != ':' || error != std::errc() || rest != end || number > 65'535) return bad();
    endpoint.port = static_cast<std::uint16_t>(number);
  }
  if (text.empty()) return bad();
  endpoint.host = host.empty() ? "0.0.0.0" : std::string(host);
  return endpoint;
}

const std::vector<SettingInfo>& Settings() {
  static const std::vector<SettingInfo> settings = [] {
    std::vector<SettingInfo> all;
    Config defaults;
    defaults.data = DefaultDataDir(ProcessEnvironment, geteuid() == 0);
    for (const SettingRow& row : kRows) {
      all.push_back({row.name, FlagOf(row.name), VariableOf(row.name), row.operand, row.help, row.print(defaults)});
    }
    return all;
  }();
  return settings;
}

Result<Config> LoadConfig(const ConfigSources& sources) {
  const auto& getenv = sources.getenv ? sources.getenv : ProcessEnvironment;
  Config config;
  config.data = DefaultDataDir(getenv, geteuid() == 0);

  std::optional<std::string> file = sources.config_file;
  if (!file) file = getenv("ALLOT_CONFIG");
  if (file && file->empty()) file.reset();
  std::error_code ignored;
  if (!file && std::filesystem::exists(kDefaultFile, ignored)) file = kDefaultFile;
  if (file) {
    TRY_OK(ReadFile(config, *file));
  }
  for (const SettingRow& row : kRows) {
    const std::string variable = VariableOf(row.name);
    // Set but empty means not set, as most programs have it.
    const auto text = getenv(variable);
    if (!text || text->empty()) continue;
    TRY_OK(Set(config, row, *text, "environment " + variable));
  }
  // Programs with OpenTelemetry share this one. What was said to this program alone goes first.
  constexpr std::string_view kSpans = "otlp_endpoint";
  const std::string shared = "OTEL_EXPORTER_OTLP_ENDPOINT";
  if (const auto text = getenv(shared); text && !text->empty() && config.origins.count(std::string(kSpans)) == 0) {
    TRY_OK(Set(config, *Find(kSpans), *text, "environment " + shared));
  }
  for (const auto& [name, text] : sources.flags) {
    const SettingRow* row = Find(name);
    if (row == nullptr) return UnknownKey("flag", name);
    TRY_OK(Set(config, *row, text, "flag " + FlagOf(name)));
  }
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    return Error{Code::kBadValue, "`tls_cert` and `tls_key` go together: only one of them is set", ""};
  }
  if (!config.store_file.empty()) {
    if (const auto read = ReadStoreFile(config); !read.ok()) return read.error();
  }
  TRY_OK(CheckCluster(config));
  const QueueSettings& queue = config.queue_defaults;
  if (const auto check = CheckPropertyKeys(queue.property_keys, static_cast<std::size_t>(queue.max_property_keys));
      !check.ok()) {
    return Error{Code::kBadValue, "`property_keys`: " + check.error().message, check.error().hint};
  }
  return config;
}

std::vector<SettingValue> DescribeConfig(const Config& config) {
  std::vector<SettingValue> values;
  for (const SettingRow& row : kRows) {
    const auto origin = config.origins.find(std::string(row.name));
    values.push_back(
        {std::string(row.name), row.print(config), origin == config.origins.end() ? "default" : origin->second});
  }
  for (const auto& [name, strategy] : config.strategies) {
    const std::string full = fmt::format("{}.{}", kStrategies, name);
    values.push_back({full, PrintStrategy(*strategy), config.origins.at(full)});
  }
  return values;
}

std::string DefaultDataDir(const std::function<std::optional<std::string>(const std::string&)>& getenv, bool root) {
  if (root) return "/var/lib/allotter";
  if (const auto xdg = getenv("XDG_DATA_HOME"); xdg && !xdg->empty() && (*xdg)[0] == '/') return *xdg + "/allotter";
  if (const auto home = getenv("HOME"); home && !home->empty()) return *home + "/.local/share/allotter";
  return "allotter-data";
}

bool IsLoopback(std::string_view host) {
  if (host == "localhost") return true;
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  return !error && address.is_loopback();
}

Result<void> CheckExposure(const Config& config, bool have_tokens) {
  if (have_tokens || IsLoopback(config.listen.host)) return {};
  return Error{
      Code::kForbidden, fmt::format("without tokens it listens on loopback only, not on {}", config.listen.Text()),
      fmt::format("create a token first, with `allot token create`; they are kept in {}", config.tokens_file())};
}

}  // namespace allot
