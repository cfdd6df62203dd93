// SPDX-License-Identifier: Apache-2.0
// Fields that several requests have. Inner header of request_json; false after a failure, as in json_reader.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bounds.h"
#include "base/ids.h"
#include "base/job.h"
#include "expr/expr.h"
#include "server/wire/json_reader.h"
#include "server/wire/request_json.h"

namespace allot {

// A list of tags, sorted and without duplicates; with `one`, a single string instead.
bool ReadTags(JsonReader& reader, JsonReader::Value& value, bool one, std::size_t max, std::vector<std::string>& out);
// UTF-8 without control characters.
bool ReadPlainText(JsonReader& reader, JsonReader::Value& value, std::size_t max_bytes, std::string& out);
// Of a job; and of a worker.
bool ReadMeta(JsonReader& reader, JsonReader::Value& value, Meta& out);
bool ReadAttributes(JsonReader& reader, JsonReader::Value& value, Meta& out);
// A map of declared keys to strings.
bool ReadProperties(JsonReader& reader, JsonReader::Value& value, const KeySource& keys, Properties& out);
// Such a map, a constraint tag, or a list of either. null: none.
bool ReadConstraints(JsonReader& reader, JsonReader::Value& value, const KeySource& keys, std::vector<Properties>& out);
// The text of an expression; for a rank also a number. null: none.
bool ReadRequirements(JsonReader& reader, JsonReader::Value& value, ExprPtr& out);
bool ReadRank(JsonReader& reader, JsonReader::Value& value, ExprPtr& out);
// A string, an integer, a real or a boolean.
bool ReadMetaValue(JsonReader& reader, JsonReader::Value& value, MetaValue& out);
// Fails: the text of the field at hand is wrong at that place.
bool FailInside(JsonReader& reader, std::string_view text, const expr::ParseError& error);
bool ReadMillis(JsonReader& reader, JsonReader::Value& value, Duration min, Duration max, milliseconds& out);
// A decimal string; `what` for the message: `a job's id`.
bool ReadId(JsonReader& reader, JsonReader::Value& value, std::string_view what, std::uint64_t& out);
bool ReadKey(JsonReader& reader, JsonReader::Value& value, std::uint64_t& out);
bool Missing(JsonReader& reader, std::string_view name);

// What a worker is: the fields that a registration and a try of a strategy have in common, in this order.
inline constexpr std::string_view kDescriptionNames[] = {"name",       "tags",         "slots", "properties",
                                                         "attributes", "requirements", "rank"};
template <typename Worker>
bool ReadDescription(JsonReader& reader, std::size_t field, JsonReader::Value& value, const Vocabulary& words,
                     Worker& out) {
  switch (field) {
    case 0:
      return ReadPlainText(reader, value, bounds::kMaxNameBytes, out.name);
    case 1:
      return ReadTags(reader, value, false, bounds::kMaxTagsPerWorker, out.tags);
    case 2:
      return reader.IntTo(value, 1, bounds::kMaxSlots, out.slots);
    case 3:
      return ReadProperties(reader, value, words.property_keys, out.properties);
    case 4:
      return ReadAttributes(reader, value, out.attributes);
    case 5:
      return ReadRequirements(reader, value, out.requirements);
    default:
      return ReadRank(reader, value, out.rank);
  }
}

}  // namespace allot
