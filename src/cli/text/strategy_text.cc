// SPDX-License-Identifier: Apache-2.0
#include "cli/text/strategy_text.h"

#include <utility>

#include "expr/expr.h"

namespace allot::cli {

Result<NamedStrategies> NamesFrom(allotter::Client& client) {
  auto given = client.strategies().List();
  if (!given) return given.error();
  NamedStrategies names;
  for (const allotter::NamedStrategy& one : *given) {
    ParsedStrategy parsed = ParseStrategy(one.strategy);
    if (parsed.strategy != nullptr && CheckStrategyName(one.name).empty())
      names.emplace_back(one.name, std::move(parsed.strategy));
  }
  return names;
}

Result<StrategyPtr> ReadStrategyText(std::string_view label, const std::string& text, bool policy,
                                     const allotter::ConnectionOptions& connection) {
  ParsedStrategy parsed = ParseStrategy(text, policy);
  if (parsed.strategy != nullptr) return std::move(parsed.strategy);
  const auto wrong = [&] { return Error{Code::kBadValue, expr::PointAt(label, text, parsed.error), ""}; };
  // Anything else is wrong whatever the names.
  if (!parsed.unknown_name) return wrong();
  auto client = allotter::Client::Open(connection);
  if (!client) return wrong();
  auto names = NamesFrom(*client);
  if (!names)
    return Error{Code::kUnavailable, wrong().message, "if that is a name of the server's: it cannot be asked"};
  parsed = ParseStrategy(text, policy, *names);
  if (parsed.strategy == nullptr) return wrong();
  return std::move(parsed.strategy);
}

Result<void> CheckStrategyText(std::string_view label, const std::string& text, bool policy,
                               const allotter::ConnectionOptions& connection) {
  auto read = ReadStrategyText(label, text, policy, connection);
  if (!read && read.error().code != Code::kUnavailable) return read.error();
  return {};
}

}  // namespace allot::cli
