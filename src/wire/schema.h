// SPDX-License-Identifier: Apache-2.0
// Tables of fields as JSON Schema (2020-12, as OpenAPI 3.1 has it) and as TypeScript.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "wire/field.h"

namespace allot::wire {

// The objects and words that these speak of, themselves included: each once, those within before what has them.
struct Vocabulary {
  std::vector<const Object*> objects;
  std::vector<const Words*> words;
};
Vocabulary Reach(std::span<const Object* const> roots);

// `{"$ref": "#/components/schemas/Job"}`
void AppendReference(std::string_view name, JsonWriter& json);
// What a field may be.
void AppendSchema(const Field& field, JsonWriter& json);
void AppendSchema(const Object& object, JsonWriter& json);
void AppendSchema(const Words& words, JsonWriter& json);

// The dashboard's types.ts, formatted as prettier would.
std::string TypeScript(const Vocabulary& vocabulary);

}  // namespace allot::wire
