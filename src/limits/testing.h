// SPDX-License-Identifier: Apache-2.0
// Limits, jobs and workers for tests.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "limits/limit_table.h"

namespace allot::testing {

inline ExprPtr MustParseLimit(const std::string& text) {
  if (text.empty()) return nullptr;
  Result<ExprPtr> parsed = ParseLimitExpr("expr", text);
  CHECK(parsed.ok());
  return *parsed;
}

// `count` per minute, for five minutes.
inline LimitSpec SomeLimit(const std::string& expr, double count, const std::string& cost = "") {
  LimitSpec spec;
  spec.tag = "test";
  spec.expr = MustParseLimit(expr);
  spec.cost = MustParseLimit(cost);
  spec.count = count;
  spec.window = std::chrono::seconds(60);
  spec.expires_in = std::chrono::seconds(300);
  return spec;
}

inline Now AtTime(Duration since) {
  return {Instant(since), WallTime(std::chrono::duration_cast<milliseconds>(since) + milliseconds(1'000'000))};
}

using Attributes = std::vector<std::pair<std::string, expr::Value>>;

inline expr::Ad AdOf(const Attributes& attributes) {
  expr::Ad ad;
  for (const auto& [name, value] : attributes) ad.Set(name, value);
  return ad;
}

inline GroupId AddJob(LimitTable& table, const Attributes& attributes) {
  return table.AddJob([&] { return AdOf(attributes); });
}
inline GroupId AddJobOf(LimitTable& table, std::string_view user) {
  return AddJob(table, {{"User", expr::Value::String(user)}});
}
// A job that is open, and so counts for its user.
inline GroupId AddOpenJobOf(LimitTable& table, std::string_view user, const Now& now) {
  const GroupId group = AddJobOf(table, user);
  table.users().Count(group, user, now);
  return group;
}
inline std::vector<std::string> NamesOf(const std::vector<IgnoredView>& users) {
  std::vector<std::string> names;
  for (const IgnoredView& user : users) names.push_back(user.user);
  return names;
}
inline LimitTable::WorkerHandle AddWorker(LimitTable& table, const Attributes& attributes = {}) {
  return table.AddWorker(std::make_shared<const expr::Ad>(AdOf(attributes)));
}

}  // namespace allot::testing
