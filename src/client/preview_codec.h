// SPDX-License-Identifier: Apache-2.0
// What a strategy would give: the question as JSON text, and the answer from it.
#pragma once

#include <string>

#include "allotter/preview.h"
#include "client/codec.h"

namespace allotter {

void AppendTry(const StrategyTry& what, std::string& out);

extern template Result<StrategyPreview> Parse<StrategyPreview>(const std::string& json);
extern template Result<WorkerOutlook> Parse<WorkerOutlook>(const std::string& json);

}  // namespace allotter
