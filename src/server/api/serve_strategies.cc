// SPDX-License-Identifier: Apache-2.0
// /v1/strategies: those that have a name in the configuration, and what any strategy will do, in words.
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "server/flow/flow.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "strategy/strategy.h"
#include "wire/server.h"
#include "wire/writer.h"

namespace allot {
namespace {

// The fields that a strategy has with and without a name.
template <const wire::Object& kObject>
void StrategyFields(const Strategy& strategy, wire::Writer<kObject>& w) {
  w.Text("strategy", PrintStrategy(strategy));
  AppendStrategyJson(strategy, w.Place("json"));
  w.Text("words", DescribeStrategy(strategy));
}

void AppendNamed(std::string_view name, const Strategy& strategy, std::string& out) {
  JsonWriter json(out);
  wire::Writer<wire::kNamedStrategy> w(json);
  w.Text("name", name);
  StrategyFields(strategy, w);
}

}  // namespace

// GET /v1/strategies
Flow ListStrategies(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  std::vector<std::pair<std::string_view, const Strategy*>> named = {{"fair", FairStrategy().get()}};
  for (const auto& [name, strategy] : call.server.config.strategies) named.emplace_back(name, strategy.get());
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kStrategies>(json).List(
        "strategies", named, [](const auto& one, std::string& to) { AppendNamed(one.first, *one.second, to); });
  }
  co_return Answer(200, std::move(out));
}

// POST /v1/strategies/check
Flow CheckStrategy(Call call) {
  CO_TRY_OK(RequireJson(call.request));
  CO_TRY(const StrategyCheck check, ParseStrategyCheck(call.request.body, &call.server.config.strategies));
  std::string out;
  {
    JsonWriter json(out);
    wire::Writer<wire::kStrategyCheck> w(json);
    StrategyFields(*check.strategy, w);
  }
  co_return Answer(200, std::move(out));
}

}  // namespace allot
