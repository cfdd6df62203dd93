// SPDX-License-Identifier: Apache-2.0
// Strategies in requests: a text, or an object for each block, as docs/reference/strategies.md has them.
//
// Inner header of request_json; false after a failure, as in json_reader.h.
#pragma once

#include "server/wire/json_reader.h"
#include "server/wire/queue_settings.h"
#include "strategy/strategy.h"

namespace allot {

// null: null. `names` may be null: there are none.
bool ReadStrategy(JsonReader& reader, JsonReader::Value& value, const NamedStrategies* names, StrategyPtr& out);
bool ReadPolicy(JsonReader& reader, JsonReader::Value& value, const NamedStrategies* names, StrategyPtr& out);
// An object of names and numbers; null in the place of a number takes that weight away, and in the place of the object
// all of them.
bool ReadWeights(JsonReader& reader, JsonReader::Value& value, WeightsChange& out);

}  // namespace allot
