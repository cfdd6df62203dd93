// SPDX-License-Identifier: Apache-2.0
// How users fare, as the protocol's JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/looks/views.h"

namespace allot {

// after, limit, user.
Result<UserQuery> ParseUserQuery(std::string_view query);
void AppendUsers(const UserPage& page, std::string& out);

}  // namespace allot
