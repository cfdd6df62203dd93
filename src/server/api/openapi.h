// SPDX-License-Identifier: Apache-2.0
// The description of the whole API: OpenAPI 3.1, made from the table of routes and the tables of src/wire/. Served at
// GET /v1/openapi.json, and written to docs/openapi.json.
#pragma once

#include <string>

#include "wire/schema.h"

namespace allot {

// All that goes over the wire.
wire::Vocabulary ApiVocabulary();
std::string OpenApi();

}  // namespace allot
