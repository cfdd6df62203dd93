// /v1/strategies: those that have a name in the configuration, and what any strategy will do, in words.
#include <string>
#include <utility>

#include "base/json.h"
#include "server/net/call.h"
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
void ListStrategies(Call call) {
  const Result<void> none = ParseNoQuery(call.request.query);
  if (!none.ok()) return call.Fail(none.error());
  std::string out = "{\"strategies\":[";
  AppendStrategy("fair", *FairStrategy(), out);
  for (const auto& [name, strategy] : call.server.config.strategies) {
    out.push_back(',');
    AppendStrategy(name, *strategy, out);
  }
  out.append("]}");
  call.reply.Send(200, out);
}

// POST /v1/strategies/check
void CheckStrategy(Call call) {
  const Result<void> json = RequireJson(call.request);
  if (!json.ok()) return call.Fail(json.error());
  const Result<StrategyCheck> check = ParseStrategyCheck(call.request.body, &call.server.config.strategies);
  if (!check.ok()) return call.Fail(check.error());
  std::string out;
  AppendStrategy("", *check->strategy, out);
  call.reply.Send(200, out);
}

}  // namespace allot
