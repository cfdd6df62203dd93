// Explanations, from JSON text.
#pragma once

#include <string>

#include "allotter/explanation.h"
#include "client/codec.h"
#include "client/json_in.h"

namespace allotter {

void ReadReason(json_in::Value value, Reason& out);

template <>
Result<Explanation> Parse<Explanation>(const std::string& json);
template <>
Result<PairExplanation> Parse<PairExplanation>(const std::string& json);

}  // namespace allotter
