// SPDX-License-Identifier: Apache-2.0
#include "server/ops/config.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

namespace allot {
namespace {

using namespace std::chrono_literals;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() : dir_(std::filesystem::temp_directory_path() / ("allot_config_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(dir_);
    sources_.getenv = [this](const std::string& name) -> std::optional<std::string> {
      const auto found = environment_.find(name);
      if (found == environment_.end()) return std::nullopt;
      return found->second;
    };
  }
  ~ConfigTest() override { std::filesystem::remove_all(dir_); }

  std::string File(const std::string& text) {
    const std::string path = dir_ / "a.toml";
    std::ofstream(path) << text;
    return path;
  }
  std::string Origin(const Config& config, std::string_view name) {
    for (const SettingValue& value : DescribeConfig(config)) {
      if (value.name == name) return value.value + " from " + value.origin;
    }
    return "no such setting";
  }
  // LoadConfig of a file with that text.
  Error FileError(const std::string& text) {
    sources_.config_file = File(text);
    const auto got = LoadConfig(sources_);
    EXPECT_FALSE(got.ok()) << text;
    return got.ok() ? Error{} : got.error();
  }

  const std::filesystem::path dir_;
  std::map<std::string, std::string> environment_{{"HOME", "/home/ann"}};
  ConfigSources sources_;
};

TEST_F(ConfigTest, FlagsBeatVariablesBeatTheFileBeatsDefaults) {
  sources_.config_file = File("worker_grace = \"1m\"\nrestart_grace = 5\n\nheartbeat = \"250ms\"\n");
  environment_["ALLOT_RESTART_GRACE"] = "6s";
  environment_["ALLOT_HEARTBEAT"] = "7s";
  sources_.flags["heartbeat"] = "8s";
  const auto got = LoadConfig(sources_);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->queue_defaults.worker_grace, 60s);
  EXPECT_EQ(got->restart_grace, 6s);
  EXPECT_EQ(got->heartbeat, 8s);
  EXPECT_EQ(got->stop_timeout, 10s);
  EXPECT_EQ(Origin(*got, "worker_grace"), "1m from " + *sources_.config_file + ":1");
  EXPECT_EQ(Origin(*got, "restart_grace"), "6s from environment ALLOT_RESTART_GRACE");
  EXPECT_EQ(Origin(*got, "heartbeat"), "8s from flag --heartbeat");
  EXPECT_EQ(Origin(*got, "stop_timeout"), "10s from default");
  EXPECT_EQ(got->file, *sources_.config_file);
}

TEST_F(ConfigTest, TheFileMayBeNamedByAVariable) {
  environment_["ALLOT_CONFIG"] = File("log_level = \"debug\"\n");
  const auto got = LoadConfig(sources_);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->log_level, LogLevel::kDebug);
  // The flag goes before it.
  sources_.config_file = dir_ / "missing.toml";
  EXPECT_FALSE(LoadConfig(sources_).ok());
}

TEST_F(ConfigTest, AnEmptyVariableIsNotSet) {
  environment_["ALLOT_LISTEN"] = "";
  EXPECT_EQ(LoadConfig(sources_)->listen.Text(), "127.0.0.1:7420");
}

TEST_F(ConfigTest, PropertyKeysAreCheckedTogetherWithTheirNumber) {
  sources_.config_file = File("property_keys = [\"gpu\", \"mem\"]\n");
  const auto got = LoadConfig(sources_);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->queue_defaults.property_keys, (PropertyKeys{"gpu", "mem"}));
  EXPECT_EQ(Origin(*got, "property_keys"), "gpu,mem from " + *sources_.config_file + ":1");
  sources_.flags["property_keys"] = "a, b,c,d";
  EXPECT_NE(LoadConfig(sources_).error().message.find("4 property keys are more than the 3"), std::string::npos);
  sources_.flags["max_property_keys"] = "4";
  EXPECT_EQ(LoadConfig(sources_)->queue_defaults.property_keys, (PropertyKeys{"a", "b", "c", "d"}));
  for (const char* keys : {"a b", "9", "gpu,GPU", "slots", "a,b,c,d,e,f,g"}) {
    sources_.flags["property_keys"] = keys;
    EXPECT_FALSE(LoadConfig(sources_).ok()) << keys;
  }
  sources_.flags = {{"max_property_keys", "7"}};
  EXPECT_FALSE(LoadConfig(sources_).ok());
}

TEST_F(ConfigTest, TheValueOfAWeightMayHaveCommas) {
  sources_.config_file = File("weights = [\"tag.gpu%2Crender=3\", \"user.50%25=2\", \"user.5%=1\"]\n");
  const auto got = LoadConfig(sources_);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->queue_defaults.weights, (Weights{{"tag.gpu,render", 3}, {"user.50%", 2}, {"user.5%", 1}}));
  sources_.flags["weights"] = "tag.gpu%2Crender=3, user.50%25=2,user.5%25=1";  // as it prints
  EXPECT_TRUE(Origin(*got, "weights").starts_with("tag.gpu%2Crender=3, user.5%25=1, user.50%25=2 from "))
      << Origin(*got, "weights");
  const auto again = LoadConfig(sources_);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->queue_defaults.weights, got->queue_defaults.weights);
}

TEST_F(ConfigTest, DispatchOfNewQueues) {
  sources_.config_file = File("dispatch = \"balanced\"\nbalance = \"random\"\n");
  EXPECT_EQ(LoadConfig(sources_)->queue_defaults.dispatch,
            (DispatchOptions{DispatchMode::kBalanced, Balance::kRandom}));
  environment_["ALLOT_BALANCE"] = "round_robin";
  sources_.flags["dispatch"] = "fanout";
  EXPECT_EQ(LoadConfig(sources_)->queue_defaults.dispatch,
            (DispatchOptions{DispatchMode::kFanout, Balance::kRoundRobin}));
}

TEST_F(ConfigTest, EverySettingReadsBackWhatItPrints) {
  sources_.config_file = File(
      "allowed_hosts = [\"a.example\", \"b.example\"]\nmax_result_bytes = \"100KiB\"\nretention = "
      "\"90s\"\nnetwork_threads = 3\n");
  const auto first = LoadConfig(sources_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->allowed_hosts, (std::vector<std::string>{"a.example", "b.example"}));
  ConfigSources again;
  again.getenv = sources_.getenv;
  again.config_file = File("");
  for (const SettingValue& value : DescribeConfig(*first)) again.flags[std::string(value.name)] = value.value;
  again.flags["tls_cert"] = "/c.pem";
  again.flags["tls_key"] = "/k.pem";
  const auto second = LoadConfig(again);
  ASSERT_TRUE(second.ok()) << second.error().message;
  for (std::size_t i = 0; i < Settings().size(); ++i) {
    const auto a = DescribeConfig(*first)[i], b = DescribeConfig(*second)[i];
    if (a.name != "tls_cert" && a.name != "tls_key") {
      EXPECT_EQ(a.value, b.value) << a.name;
    }
    EXPECT_EQ(b.origin, "flag " + Settings()[i].flag);
  }
}

TEST_F(ConfigTest, ADatabasesPasswordIsReadFromAFileAndNotShown) {
  const std::string file = File("postgres://u:tell-nobody@h/queues \nand more\n");
  environment_["ALLOT_STORE_FILE"] = file;
  const auto got = LoadConfig(sources_);
  ASSERT_TRUE(got.ok()) << got.error().message;
  EXPECT_EQ(got->store, "postgres://u:tell-nobody@h/queues");
  for (const SettingValue& value : DescribeConfig(*got)) {
    EXPECT_EQ(value.value.find("tell-nobody"), std::string::npos) << value.name;
    if (value.name == "store") {
      EXPECT_EQ(value.value, "postgres://u:***@h/queues");
      EXPECT_EQ(value.origin, file);
    }
  }
  sources_.flags["store"] = "postgres://h/other";
  EXPECT_EQ(LoadConfig(sources_).error().code, Code::kBadValue);
  environment_.erase("ALLOT_STORE_FILE");
  EXPECT_EQ(LoadConfig(sources_)->store, "postgres://h/other");
  sources_.flags["store"] = "mysql://u:tell-nobody@h/other";
  const Error error = LoadConfig(sources_).error();
  EXPECT_EQ(error.message.find("tell-nobody"), std::string::npos) << error.message;
}

TEST_F(ConfigTest, TheTableNamesEverySettingOnce) {
  std::set<std::string> flags;
  for (const SettingInfo& setting : Settings()) {
    EXPECT_TRUE(flags.insert(setting.flag).second) << setting.flag;
    EXPECT_FALSE(setting.help.empty());
    EXPECT_EQ(setting.variable.find("ALLOT_"), 0u);
    EXPECT_EQ(setting.flag.find('_'), std::string::npos);
  }
  EXPECT_TRUE(flags.count("--listen") && flags.count("--data") && flags.count("--worker-grace"));
}

TEST_F(ConfigTest, UnknownKeysAreRefusedWithTheirLineAndTheNearest) {
  const Error error = FileError("listen = \":7420\"\n\nworker_grase = \"3s\"\n");
  EXPECT_EQ(error.code, Code::kUnknownField);
  EXPECT_NE(error.message.find("a.toml:3: `worker_grase`"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("`worker_grace`"), std::string::npos) << error.hint;
  EXPECT_EQ(FileError("[server]\nlisten = \":1\"\n").code, Code::kUnknownField);
}

TEST_F(ConfigTest, BadValuesSayWhereAndWhy) {
  struct Row {
    const char* text;
    const char* message;
  };
  const Row rows[] = {
      {"listen = \"a b:1\"", "a.toml:1: `listen` is not an address"},
      {"listen = \"h:99999\"", "`listen`"},
      {"listen = \"h:x\"", "`listen`"},
      {"listen = \"::1\"", "`listen`"},
      {"listen = true", "`listen` must be a string or a number"},
      {"listen = [\"a\"]", "`listen` must be a string or a number"},
      {"allow_no_standby = 1", "`allow_no_standby` must be"},
      {"data = \"\"", "`data` must not be empty"},
      {"worker_grace = \"soon\"", "`worker_grace` is not a duration"},
      {"worker_grace = -1", "`worker_grace` is not a duration"},
      {"worker_grace = \"25h\"", "`worker_grace` must be from 0s to"},
      {"max_result_bytes = \"2MiB\"", "`max_result_bytes` must be at most 1,048,576 bytes"},
      {"max_result_bytes = \"x\"", "is not a size"},
      {"network_threads = 65", "must be an integer from 0 to 64"},
      {"network_threads = 1.5", "must be an integer"},
      {"log_level = \"loud\"", "`log_level` must be one of trace, debug"},
      {"dispatch = \"balance\"", "`dispatch` must be one of fanout, balanced"},
      {"balance = \"\"", "`balance` must be one of least_queue, round_robin, random"},
      {"allowed_hosts = [1]", "a list of strings"},
      {"listen = ", "a.toml:1"},
      {"listen = \":1\"\nlisten = \":2\"", "a.toml:2"},
      {"tls_cert = \"x.pem\"", "go together"},
  };
  for (const Row& row : rows) {
    const Error error = FileError(row.text);
    EXPECT_EQ(error.code, Code::kBadValue) << row.text;
    EXPECT_NE(error.message.find(row.message), std::string::npos) << row.text << ": " << error.message;
  }
  sources_.config_file = File("");
  environment_["ALLOT_MAX_CONNECTIONS"] = "0";
  EXPECT_NE(LoadConfig(sources_).error().message.find("environment ALLOT_MAX_CONNECTIONS: `max_connections`"),
            std::string::npos);
  environment_.clear();
  sources_.flags["listne"] = "x";
  EXPECT_NE(LoadConfig(sources_).error().hint.find("`listen`"), std::string::npos);
}

TEST(DefaultDataDir, FollowsTheUser) {
  std::map<std::string, std::string> env;
  const auto getenv = [&](const std::string& name) -> std::optional<std::string> {
    const auto found = env.find(name);
    return found == env.end() ? std::nullopt : std::optional(found->second);
  };
  EXPECT_EQ(DefaultDataDir(getenv, true), "/var/lib/allotter");
  env["HOME"] = "/home/ann";
  EXPECT_EQ(DefaultDataDir(getenv, false), "/home/ann/.local/share/allotter");
  env["XDG_DATA_HOME"] = "/data";
  EXPECT_EQ(DefaultDataDir(getenv, false), "/data/allotter");
}

TEST(ParseEndpoint, Table) {
  const std::pair<const char*, const char*> rows[] = {
      {"127.0.0.1:7420", "127.0.0.1:7420"},
      {"localhost", "localhost:7420"},
      {":80", "0.0.0.0:80"},
      {"[::1]:5", "[::1]:5"},
      {"[::]", "[::]:7420"},
      {"a-b.example:0", "a-b.example:0"},
  };
  for (const auto& [text, want] : rows) {
    const auto got = ParseEndpoint(text);
    ASSERT_TRUE(got.ok()) << text;
    EXPECT_EQ(got->Text(), want);
  }
  for (const char* text : {"", "a:b", "a:", "a:1:2", "[::1", "[x]:1", "[::1]x", "a/b:1", "a:-1", "a:65536", "a: 1"}) {
    EXPECT_FALSE(ParseEndpoint(text).ok()) << text;
  }
}

TEST(CheckExposure, WithoutTokensOnlyLoopback) {
  Config config;
  for (const char* host : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    config.listen.host = host;
    EXPECT_TRUE(CheckExposure(config, false).ok()) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.1", "example.com", "localhost.example.com", "1270.0.1"}) {
    config.listen.host = host;
    const auto got = CheckExposure(config, false);
    ASSERT_FALSE(got.ok()) << host;
    EXPECT_NE(got.error().hint.find("allot token create"), std::string::npos);
    EXPECT_TRUE(CheckExposure(config, true).ok());
  }
}

}  // namespace
}  // namespace allot
