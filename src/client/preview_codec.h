// What a strategy would give: the question as JSON text, and the answer from it.
#pragma once

#include <string>

#include "allotter/preview.h"
#include "client/codec.h"

namespace allotter {

void AppendTry(const StrategyTry& what, std::string& out);
// A block of another answer.

}  // namespace allotter
