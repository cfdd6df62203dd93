// SPDX-License-Identifier: Apache-2.0
// The server's configuration: flags over ALLOT_* variables over a TOML file over defaults.
//
// One table (in config.cc) holds every setting once: its name gives the flag (`--worker-grace`), the variable
// (`ALLOT_WORKER_GRACE`) and the key in the file (`worker_grace`), its row the help, the parser and the printer. All
// sources hand over text, and every value remembers which one it came from. Names of strategies are in the file alone,
// in its table `[strategies]`.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "server/wire/queue_settings.h"
#include "strategy/strategy.h"

namespace allot {

struct Endpoint {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets
  std::uint16_t port = 0;
  std::string Text() const;  // `127.0.0.1:7420`, `[::1]:7420`
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// `HOST:PORT`, `[V6]:PORT`, `HOST`, `:PORT` (all addresses). Without a port: 7420.
Result<Endpoint> ParseEndpoint(std::string_view text);

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat : std::uint8_t { kAuto, kText, kJson };  // kAuto: text on a terminal, JSON lines otherwise

struct Config {
  Endpoint listen{"127.0.0.1", 7420};
  std::string data;        // the data directory
  std::string store;       // the URL of a database that has the queues, with its password; empty: files in `data`
  std::string store_file;  // a file that has this URL
  bool allow_no_standby = false;    // one copy of the database is enough
  std::string node;                 // how others know this server; empty: by the host's name
  std::string advertise;            // the URL by which other nodes reach this one; empty: it is no node of a cluster
  std::string cluster_secret;       // that all nodes of a cluster have
  std::string cluster_secret_file;  // a file that has it
  std::string tls_cert;             // PEM files; both or neither
  std::string tls_key;
  std::uint32_t network_threads = 0;  // 0: one for two cores, from two to four
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kAuto;
  std::string otlp_endpoint;                 // URL of a collector of OpenTelemetry; empty: none
  std::vector<std::string> allowed_hosts;    // further names that the server goes by; `*`: any
  std::vector<std::string> allowed_origins;  // `https://dash.example.com`; `*`: any

  QueueSettings queue_defaults;                       // of queues that are created without settings of their own
  NamedStrategies strategies;                         // `[strategies]` of the file, in its order
  milliseconds default_retention{86'400'000};         // of jobs that do not say
  Duration restart_grace = std::chrono::seconds(30);  // how long leases are kept after a start; 0: none are

  std::uint64_t memory_budget = 0;  // of all queues; 0: half of what the machine, or the control group, has
  std::uint64_t memory_ready = 0;   // that is in use from the start on
  std::uint64_t max_body_bytes = bounds::kMaxBodyBytes;
  std::uint32_t max_connections = 20'000;
  Duration request_timeout = std::chrono::seconds(30);  // how long a request's head and body may take to come in
  Duration write_timeout = std::chrono::seconds(30);    // how long a client may take to read what is sent to it
  Duration idle_timeout = std::chrono::minutes(5);      // how long a kept-alive connection may say nothing
  Duration heartbeat = std::chrono::seconds(15);        // of workers over WebSocket; three silent ones end it
  Duration stop_timeout = std::chrono::seconds(10);     // how long a graceful stop may take

  bool tls() const { return !tls_cert.empty(); }
  std::string tokens_file() const { return data + "/tokens.json"; }

  std::string file;                            // the TOML file that was read; empty: none
  std::map<std::string, std::string> origins;  // setting → `flag --listen`, `environment ALLOT_LISTEN`, `FILE:12`
};

// One row of the table, for the command line's flags and help.
struct SettingInfo {
  std::string_view name;     // `worker_grace`
  std::string flag;          // `--worker-grace`
  std::string variable;      // `ALLOT_WORKER_GRACE`
  std::string_view operand;  // `DURATION`
  std::string_view help;     // one line
  std::string default_text;  // as `config show` prints it
};
const std::vector<SettingInfo>& Settings();

struct ConfigSources {
  // What was given on the command line, by the setting's name: {"listen", "0.0.0.0:7420"}.
  std::map<std::string, std::string> flags;
  // The environment; none for unset. Defaults to the process's own.
  std::function<std::optional<std::string>(const std::string& name)> getenv;
  // --config. Without: ALLOT_CONFIG, else /etc/allotter/allotter.toml if it is there.
  std::optional<std::string> config_file;
};

// kBadValue for a value that does not parse or is out of bounds, kUnknownField for an unknown key of the file; the
// message says where it stands (flag, variable, or file and line), the hint the nearest key.
Result<Config> LoadConfig(const ConfigSources& sources);

struct SettingValue {
  std::string name;
  std::string value;
  std::string origin;  // `default`, `flag --listen`, `environment ALLOT_LISTEN`, `/etc/allotter/allotter.toml:12`
};
// Every setting in the table's order: what `config show` prints.
std::vector<SettingValue> DescribeConfig(const Config& config);

// $XDG_DATA_HOME/allotter, or ~/.local/share/allotter; for root /var/lib/allotter. (`data` and ALLOT_DATA go first.)
std::string DefaultDataDir(const std::function<std::optional<std::string>(const std::string&)>& getenv, bool root);

// `localhost`, 127.0.0.0/8, ::1. No look-up: any other name may mean anything.
bool IsLoopback(std::string_view host);

// kForbidden, with how to create a token, if it would listen beyond loopback while no tokens are configured.
Result<void> CheckExposure(const Config& config, bool have_tokens);

}  // namespace allot
