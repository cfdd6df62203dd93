// Explanations, from JSON text.
#pragma once

#include <string>

#include "allotter/explanation.h"
#include "client/codec.h"

namespace allotter {

// A verdict inside another object.
void ReadReason(simdjson::ondemand::value value, Reason& out);

template <>
Result<Explanation> Parse<Explanation>(const std::string& json);
template <>
Result<PairExplanation> Parse<PairExplanation>(const std::string& json);

}  // namespace allotter
