// SPDX-License-Identifier: Apache-2.0
#include "base/version.h"

namespace allot {
std::string_view Version() { return ALLOT_VERSION; }
}  // namespace allot
