// SPDX-License-Identifier: Apache-2.0
// Jobs as people name them.
#pragma once

#include <string>

#include "allotter/client.h"

namespace allot::cli {

inline constexpr const char* kJobHelp = "A job's id; `last` for the newest, `last:2` for the one before it";

// The id that a selector stands for. An id stays as it is; the server says whether it is there.
Result<std::string> FindJob(allotter::Client& client, const std::string& selector);

}  // namespace allot::cli
