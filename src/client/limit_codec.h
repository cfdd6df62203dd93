// SPDX-License-Identifier: Apache-2.0
// Limits and demand, to and from JSON text. As codec.h.
#pragma once

#include <string>
#include <vector>

#include "allotter/limits.h"
#include "client/codec.h"

namespace allotter {

void AppendLimit(const LimitSpec& spec, std::string& out);

extern template Result<LimitLease> Parse<LimitLease>(const std::string& json);
extern template Result<Limit> Parse<Limit>(const std::string& json);
extern template Result<LimitTrial> Parse<LimitTrial>(const std::string& json);
extern template Result<Demand> Parse<Demand>(const std::string& json);
template <>
Result<std::vector<Limit>> Parse<std::vector<Limit>>(const std::string& json);

}  // namespace allotter
