// SPDX-License-Identifier: Apache-2.0
// Strategies as they are typed: names that only the server knows are asked for there.
#pragma once

#include <string>
#include <string_view>

#include "allotter/client.h"
#include "base/result.h"
#include "strategy/strategy.h"

namespace allot::cli {

// The names that the server's configuration gives. Those that it gives but this program cannot read are left out.
Result<NamedStrategies> NamesFrom(allotter::Client& client);

// Reads a strategy, or with `policy` a policy. If it needs names, they are asked for. kBadValue points at the place,
// after `label`; kUnavailable if names are needed and the server cannot be asked.
Result<StrategyPtr> ReadStrategyText(std::string_view label, const std::string& text, bool policy,
                                     const allotter::ConnectionOptions& connection);
// Only whether it is one, for a text that the server is going to read itself. If that cannot be known yet, it may be.
Result<void> CheckStrategyText(std::string_view label, const std::string& text, bool policy,
                               const allotter::ConnectionOptions& connection);

}  // namespace allot::cli
