// SPDX-License-Identifier: Apache-2.0
#include "cli/text/ad_json.h"

#include <string>
#include <unordered_set>
#include <vector>

#include <simdjson.h>

#include "base/bounds.h"
#include "expr/arena.h"
#include "expr/lexer.h"

namespace allot::cli {
namespace {

using expr::Field;
using expr::Value;

Error Bad(std::string message, std::string hint = {}) { return {Code::kBadValue, std::move(message), std::move(hint)}; }

class Converter {
 public:
  Result<Value> Convert(const simdjson::dom::element& json, std::size_t depth) {
    using simdjson::dom::element_type;
    if (depth > bounds::kMaxExpressionDepth)
      return Bad("more than " + std::to_string(bounds::kMaxExpressionDepth) + " levels of JSON inside one another");
    switch (json.type()) {
      case element_type::NULL_VALUE:
        return Value::Undefined();
      case element_type::BOOL:
        return Value::Boolean(bool(json));
      case element_type::INT64:
        return Value::Integer(std::int64_t(json));
      case element_type::UINT64:
        return Bad("the number " + std::to_string(std::uint64_t(json)) + " does not fit into 64 bits with a sign");
      case element_type::DOUBLE:
        return Value::Real(double(json));
      case element_type::STRING: {
        const std::string_view text = json;
        if (text.find('\0') != std::string_view::npos) return Bad("a text cannot have \\u0000");
        return arena_.Copy(Value::String(text));
      }
      case element_type::ARRAY:
        return List(json, depth);
      case element_type::OBJECT:
        return Record(json, depth);
    }
    return Bad("not a value");
  }

 private:
  Result<Value> List(const simdjson::dom::array& json, std::size_t depth) {
    std::vector<Value> items;
    for (const simdjson::dom::element item : json) {
      auto value = Convert(item, depth + 1);
      if (!value) return value;
      items.push_back(*value);
    }
    return arena_.Copy(Value::List(items));
  }

  Result<Value> Record(const simdjson::dom::object& json, std::size_t depth) {
    std::vector<Field> fields;
    std::unordered_set<expr::NameHash> seen;
    for (const auto& [key, item] : json) {
      if (!expr::IsName(key)) {
        return Bad("`" + std::string(key) + "` is no name for a field",
                   "names are letters, digits and `_`, not beginning with a digit");
      }
      if (!seen.insert(expr::HashName(key)).second) return Bad("there are two fields named `" + std::string(key) + "`");
      auto value = Convert(item, depth + 1);
      if (!value) return value;
      if (!value->is(expr::Type::kUndefined)) fields.push_back({key, *value});
    }
    return arena_.Copy(Value::Record(fields));
  }

  expr::Arena arena_;
};

}  // namespace

Result<expr::Ad> AdFromJson(const simdjson::dom::element& json) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) return Bad("not a JSON object", "write it as in {\"Memory\": 4096}");
  expr::Ad ad;
  std::unordered_set<expr::NameHash> seen;
  for (const auto& [key, item] : object) {
    if (!seen.insert(expr::HashName(key)).second)
      return Bad("there are two attributes named `" + std::string(key) + "`", "their names have no case");
    Converter converter;
    auto value = converter.Convert(item, 1);
    if (!value) return Bad("`" + std::string(key) + "`: " + value.error().message, value.error().hint);
    ad.Set(key, *value);
  }
  return ad;
}

Result<expr::Ad> AdFromJson(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
    return Bad("not JSON: " + std::string(simdjson::error_message(error)), "write it as in {\"Memory\": 4096}");
  return AdFromJson(root);
}

}  // namespace allot::cli
