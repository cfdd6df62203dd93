// SPDX-License-Identifier: Apache-2.0
// What is of no queue: errors, the server, strategies.
#pragma once

#include "wire/field.h"
#include "wire/words.h"

namespace allot::wire {

inline constexpr Field kErrorFields[] = {
    Text("code", "a stable word"),
    Text("message", "what is wrong"),
    Text("hint", "what to do about it; may be empty"),
};
inline constexpr Object kError{"ErrorInfo", "Why something was refused.", kErrorFields};
inline constexpr Field kErrorAnswerFields[] = {
    One("error", kError, "why"),
};
inline constexpr Object kErrorAnswer{"ErrorAnswer", "An answer that refuses.", kErrorAnswerFields};

inline constexpr Field kStatusFields[] = {Text("status", "ok")};
inline constexpr Object kStatus{"Status", "All is well.", kStatusFields};
inline constexpr Object kNothing{"Nothing", "An object without fields.", {}};
inline constexpr Field kDeletedFields[] = {Text("deleted", "what was deleted")};
inline constexpr Object kDeleted{"Deleted", "What was deleted.", kDeletedFields};

inline constexpr Field kYouFields[] = {
    Bool("tokens", "false: everyone may do everything"), Text("name", "of the token; empty: none"),
    OrNull(Text("user", "that the token is fixed to")),  OrNull(Text("queue", "that the token is fixed to")),
    List(Word("scopes", kScope, "what it may do")),
};
inline constexpr Object kYou{"You", "Who asks.", kYouFields};
inline constexpr Field kServerInfoFields[] = {
    Text("name", "allotter"),         Text("version", "of the program"),
    Count("protocol", "its version"), Time("started_at_ms", "since when it runs"),
    Time("now_at_ms", "its clock"),   Count("queues", "how many"),
    One("you", kYou, "who asks"),     List(Word("features", kFeature, "what clients may use")),
};
inline constexpr Object kServerInfo{"ServerInfo", "The server.", kServerInfoFields};

inline constexpr Field kNamedStrategyFields[] = {
    Text("name", "how others call it"),
    Text("strategy", "as text"),
    Json("json", "as a word or an object"),
    Text("words", "what it does, in lines"),
};
inline constexpr Object kNamedStrategy{"NamedStrategy", "A strategy that has a name.", kNamedStrategyFields};
inline constexpr Field kStrategiesFields[] = {
    Many("strategies", kNamedStrategy, "fair, and those of the configuration")};
inline constexpr Object kStrategies{"Strategies", "The strategies that have a name.", kStrategiesFields};
inline constexpr Field kStrategyQuestionFields[] = {
    Maybe(Json("strategy", "text, or the strategy as an object")),
    Maybe(Json("policy", "one with the word worker in it, instead of `strategy`")),
};
inline constexpr Object kStrategyQuestion{"StrategyQuestion", "A strategy to check.", kStrategyQuestionFields};
inline constexpr Field kStrategyCheckFields[] = {
    Text("strategy", "as text"),
    Json("json", "as a word or an object"),
    Text("words", "what it does, in lines"),
};
inline constexpr Object kStrategyCheck{"StrategyCheck", "What a strategy does.", kStrategyCheckFields};

}  // namespace allot::wire
