// SPDX-License-Identifier: Apache-2.0
// What a side shows to expressions, written as a JSON object: for trying expressions out without a server.
#pragma once

#include <string_view>

#include "base/result.h"
#include "expr/ad.h"

namespace simdjson::dom {
class element;
}

namespace allot::cli {

// Objects become records and arrays lists; null is a missing value. kBadValue where it is no object, too deep, where a
// number does not fit, a name stands twice regardless of case, or a text or a field's name is one that the language
// cannot write.
Result<expr::Ad> AdFromJson(std::string_view json);
Result<expr::Ad> AdFromJson(const simdjson::dom::element& json);

}  // namespace allot::cli
