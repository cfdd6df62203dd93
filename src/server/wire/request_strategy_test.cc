// SPDX-License-Identifier: Apache-2.0
// Strategies, policies and weights in requests.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bounds.h"
#include "server/wire/request_json.h"

namespace allot {
namespace {

const NamedStrategies kNames = {{"previews", ParseStrategy("select_only(mode = preview, oldest)").strategy}};

std::string Text(const std::string& json) {
  const auto check = ParseStrategyCheck(json, &kNames);
  return check.ok() ? PrintStrategy(*check->strategy) : "error: " + check.error().message;
}

TEST(ReadStrategy, TextAndJsonAreTheSame) {
  for (const char* text :
       {"oldest", "fair", "select_only(mode = preview, oldest)", "select_only(async = false, newest)",
        "select_only(size = 1.5, random)", "select_only(size = -3, random)", "select_only(job = \"77\", oldest)",
        "prefer_distinct(customer, 3, least_recent)", "max_simultaneous(tag, 20%, priority)",
        "max_simultaneous(customer, 4294967295, or_else(select_only(tag = a, random), fair(user, newest), oldest))"}) {
    const StrategyPtr parsed = ParseStrategy(text).strategy;
    ASSERT_NE(parsed, nullptr) << text;
    std::string json;
    AppendStrategyJson(*parsed, json);
    EXPECT_EQ(Text(R"({"strategy": )" + json + "}"), PrintStrategy(*parsed)) << json;
    std::string quoted;
    for (const char c : std::string(text)) quoted += c == '"' ? "\\\"" : std::string(1, c);
    EXPECT_EQ(Text(R"({"strategy": ")" + quoted + "\"}"), PrintStrategy(*parsed));
  }
  EXPECT_EQ(Text(R"({"strategy": {"prefer_distinct": {"inner": "random", "key": "Customer"}}})"),
            "prefer_distinct(customer, 1, random)");
}

TEST(ReadStrategy, NamesStandForStrategies) {
  EXPECT_EQ(Text(R"({"strategy": "previews"})"), R"x(select_only(mode = "preview", oldest))x");
  EXPECT_EQ(Text(R"({"strategy": {"or_else": ["previews", {"fair": {"key": "user", "inner": "oldest"}}]}})"),
            R"x(or_else(select_only(mode = "preview", oldest), fair(user, oldest)))x");
  EXPECT_EQ(Text(R"({"policy": {"or_else": ["previews", "worker"]}})"),
            R"x(or_else(select_only(mode = "preview", oldest), worker))x");
}

TEST(ReadStrategy, ErrorsNameThePlace) {
  struct Row {
    std::string json, message;
  };
  std::string deep = "\"oldest\"";
  for (std::size_t i = 0; i < bounds::kMaxStrategyDepth; ++i) deep = R"({"fair":{"key":"user","inner":)" + deep + "}}";
  std::string wide = "\"oldest\"";
  for (std::size_t i = 0; i < 63; ++i) wide += ",\"newest\"";
  const std::vector<Row> rows = {
      {R"x({"strategy": "fair(user, olest)"})x",
       "`strategy`: there is no strategy `olest`: did you mean `oldest`? (at byte 11)"},
      {R"({"strategy": "worker"})", "`strategy`: "},
      {R"({"policy": "oldest"})", "`policy`: "},
      {R"({"strategy": {"or_else": ["oldest", "worker"]}})", "`strategy`: "},
      {R"({"strategy": 5})", "`strategy` must be an object"},
      {R"({"strategy": {}})", "`strategy` must have one field"},
      {R"({"strategy": null})", "`strategy` is missing"},
      {R"({"strategy": {"oldest": {}}})", "`strategy.oldest`: `oldest` has nothing inside: give it as a string"},
      {R"({"strategy": {"fairr": {}}})", "`strategy.fairr`: there is no strategy `fairr`: did you mean `fair`?"},
      {R"({"strategy": {"fair": {"key": "user", "inner": "oldset"}}})",
       "`strategy.fair.inner`: there is no strategy `oldset`: did you mean `oldest`?"},
      {R"x({"strategy": {"fair": {"key": "user", "inner": "fair(user, oldest)"}}})x", "`strategy.fair.inner`: "},
      {R"({"strategy": {"fair": {"key": "us er", "inner": "oldest"}}})", "`strategy.fair.key`: "},
      {R"({"strategy": {"fair": {"inner": "oldest"}}})", "`strategy.fair.key` is missing"},
      {R"({"strategy": {"fair": {"key": "user"}}})", "`strategy.fair.inner` is missing"},
      {R"({"strategy": {"fair": {"key": "user", "max": 1, "inner": "oldest"}}})", "max"},
      {R"({"strategy": {"fair": {"key": "user", "inner": "oldest"}, "or_else": []}})",
       "`strategy` must have one field"},
      {R"({"strategy": {"select_only": {"key": "mode", "inner": "oldest"}}})",
       "`strategy.select_only.value` is missing"},
      {R"({"strategy": {"select_only": {"key": "async", "value": "no", "inner": "oldest"}}})",
       "`async` is true or false"},
      {R"({"strategy": {"max_simultaneous": {"key": "user", "inner": "oldest"}}})",
       "`strategy.max_simultaneous.max` is missing"},
      {R"({"strategy": {"max_simultaneous": {"key": "user", "max": 0, "inner": "oldest"}}})", "from 1 to"},
      {R"({"strategy": {"max_simultaneous": {"key": "user", "max": "0%", "inner": "oldest"}}})", "percentage"},
      {R"({"strategy": {"max_simultaneous": {"key": "user", "max": "101%", "inner": "oldest"}}})", "percentage"},
      {R"({"strategy": {"max_simultaneous": {"key": "user", "max": "5", "inner": "oldest"}}})", "percentage"},
      {R"({"strategy": {"max_simultaneous": {"key": "user", "max": "", "inner": "oldest"}}})", "percentage"},
      {R"({"strategy": {"prefer_distinct": {"key": "user", "max": "5%", "inner": "oldest"}}})", "must be an integer"},
      {R"({"strategy": {"or_else": ["oldest"]}})", "`strategy`: "},
      {R"({"strategy": {"or_else": "oldest"}})", "must be a list"},
      {R"({"strategy": )" + deep + "}", "16"},
      {R"({"strategy": {"or_else": [)" + wide + "]}}", "64"},
      {R"({"strategy": "oldest", "policy": "worker"})", "exclude each other"},
      {"{}", "`strategy` is missing"},
  };
  for (const Row& row : rows) {
    const auto check = ParseStrategyCheck(row.json, &kNames);
    ASSERT_FALSE(check.ok()) << row.json.substr(0, 200);
    EXPECT_NE(check.error().message.find(row.message), std::string::npos) << row.json.substr(0, 200) << "\n"
                                                                          << check.error().message;
    EXPECT_TRUE(check.error().code == Code::kBadValue || check.error().code == Code::kUnknownField);
  }
}

TEST(ReadStrategy, WorkersHaveOneAndPullsMayHaveAnother) {
  const Vocabulary words{{}, &kNames};
  const auto hello =
      ParseHello(R"({"hello": {"strategy": {"fair": {"key": "user", "inner": "previews"}}}})", true, words);
  ASSERT_TRUE(hello.ok()) << hello.error().message;
  EXPECT_EQ(PrintStrategy(*hello->strategy), R"x(fair(user, select_only(mode = "preview", oldest)))x");
  EXPECT_EQ(ParseHello(R"({"strategy": null})", false, words)->strategy, nullptr);
  const auto patch = ParseWorkerPatch(R"({"strategy": "newest"})", words);
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(PrintStrategy(**patch->change.strategy), "newest");
  const auto none = ParseWorkerPatch(R"({"strategy": null})", words);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(*none->change.strategy, nullptr);

  WorkerMessage message;
  MessageOptions options;
  options.vocabulary = words;
  ASSERT_TRUE(ParseWorkerMessage(R"({"seq": 1, "strategy": "previews", "pull": 2})", options, message).ok());
  EXPECT_EQ(PrintStrategy(*message.strategy), R"x(select_only(mode = "preview", oldest))x");
  ASSERT_TRUE(ParseWorkerMessage(R"({"seq": 1, "pull": 2, "set": {"strategy": "random"}})", options, message).ok());
  EXPECT_EQ(message.strategy, nullptr);
  EXPECT_EQ(PrintStrategy(**message.set->strategy), "random");
  const auto alone = ParseWorkerMessage(R"({"seq": 7, "strategy": "random"})", options, message);
  ASSERT_FALSE(alone.ok());
  EXPECT_EQ(alone.error().message, "`strategy` needs `pull`");
  EXPECT_EQ(message.seq, 7u);
}

TEST(ReadSettings, PolicyAndWeights) {
  const auto change = ParseQueueChange(
      R"x({"settings": {"policy": "or_else(previews, worker)", "weights": {"User.Acme": 3, "user.bob": null}}})x",
      &kNames);
  ASSERT_TRUE(change.ok()) << change.error().message;
  QueueSettings settings;
  settings.weights = {{"user.bob", 2}, {"user.cy", 4}};
  change->ApplyTo(settings);
  // Names are gone: what the policy means does not change with the configuration.
  EXPECT_EQ(settings.policy, R"x(or_else(select_only(mode = "preview", oldest), worker))x");
  EXPECT_EQ(settings.weights, (Weights{{"user.Acme", 3}, {"user.cy", 4}}));
  ParseQueueChange(R"({"settings": {"policy": null, "weights": null}})")->ApplyTo(settings);
  EXPECT_EQ(settings, QueueSettings());
  for (const auto& [json, message] : std::vector<std::pair<std::string, std::string>>{
           {R"({"settings": {"policy": "oldest"}})", "`settings.policy`: "},
           {R"x({"settings": {"policy": "or_else(worker, worker)"}})x", "`settings.policy`: "},
           {R"({"settings": {"weights": {"user": 3}}})", "`settings.weights`: `user` is no weight's name"},
           {R"({"settings": {"weights": {"user.a": 0}}})", "from 1 to"},
           {R"({"settings": {"weights": {"user.a": 1000001}}})", "from 1 to"},
           {R"({"settings": {"weights": {"user.a": 1.5}}})", "must be an integer"},
           {R"({"settings": {"weights": {"user.a": 1, "USER.a": 2}}})", "twice"},
           {R"({"settings": {"weights": []}})", "must be an object"}}) {
    const auto refused = ParseQueueChange(json);
    ASSERT_FALSE(refused.ok()) << json;
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << json << "\n" << refused.error().message;
  }
  std::string many;
  for (std::size_t i = 0; i <= bounds::kMaxWeights; ++i)
    many += (i == 0 ? "" : ",") + ("\"user.u" + std::to_string(i)) + "\":2";
  EXPECT_FALSE(ParseQueueChange(R"({"settings": {"weights": {)" + many + "}}}").ok());
}

}  // namespace
}  // namespace allot
