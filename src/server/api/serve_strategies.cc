// /v1/strategies: those that have a name in the configuration, and what any strategy will do, in words.
#include <string>
#include <utility>

#include "base/json.h"
#include "server/flow/flow.h"
#include "server/wire/request_json.h"
#include "server/wire/request_query.h"
#include "strategy/strategy.h"

namespace allot {
namespace {

void AppendStrategy(std::string_view name, const Strategy& strategy, std::string& out) {
  std::string json_form;
  AppendStrategyJson(strategy, json_form);
  JsonWriter json(out);
  json.BeginObject();
  if (!name.empty()) json.Key("name").String(name);
  json.Key("strategy").String(PrintStrategy(strategy));
  json.Key("json").Raw(json_form);
  json.Key("words").String(DescribeStrategy(strategy));
  json.EndObject();
}

}  // namespace

// GET /v1/strategies
Flow ListStrategies(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  std::string out = "{\"strategies\":[";
  AppendStrategy("fair", *FairStrategy(), out);
  for (const auto& [name, strategy] : call.server.config.strategies) {
    out.push_back(',');
    AppendStrategy(name, *strategy, out);
  }
  out.append("]}");
  co_return Answer(200, std::move(out));
}

// POST /v1/strategies/check
Flow CheckStrategy(Call call) {
  CO_TRY_OK(RequireJson(call.request));
  CO_TRY(const StrategyCheck check, ParseStrategyCheck(call.request.body, &call.server.config.strategies));
  std::string out;
  AppendStrategy("", *check.strategy, out);
  co_return Answer(200, std::move(out));
}

}  // namespace allot
