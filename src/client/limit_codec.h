// Limits and demand, to and from JSON text. As codec.h.
#pragma once

#include <string>
#include <vector>

#include "allotter/limits.h"
#include "client/codec.h"

namespace allotter {

void AppendLimit(const LimitSpec& spec, std::string& out);

template <>
Result<std::vector<Limit>> Parse<std::vector<Limit>>(const std::string& json);

}  // namespace allotter
