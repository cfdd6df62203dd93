// SPDX-License-Identifier: Apache-2.0
#include "wire/schema.h"

#include <algorithm>

namespace allot::wire {
namespace {

template <typename T>
bool Has(const std::vector<T>& list, T item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

void Add(const Object& object, Vocabulary& out) {
  if (Has(out.objects, &object)) return;
  for (const Field& field : object.fields) {
    if (field.words != nullptr && !Has(out.words, field.words)) out.words.push_back(field.words);
    if (field.object != nullptr) Add(*field.object, out);
  }
  out.objects.push_back(&object);
}

// `"type": "string"`, or `["string", "null"]`.
void Types(std::initializer_list<std::string_view> types, bool nullable, JsonWriter& json) {
  json.Key("type");
  if (types.size() == 1 && !nullable) {
    json.String(*types.begin());
    return;
  }
  json.BeginArray();
  for (const std::string_view type : types) json.String(type);
  if (nullable) json.String("null");
  json.EndArray();
}

void ReferenceOrNull(std::string_view name, bool nullable, JsonWriter& json) {
  if (!nullable) {
    json.Key("$ref").String("#/components/schemas/" + std::string(name));
    return;
  }
  json.Key("anyOf").BeginArray();
  AppendReference(name, json);
  json.BeginObject().Key("type").String("null").EndObject();
  json.EndArray();
}

// The fields of the schema of one value, without braces.
void Plain(const Field& field, bool nullable, JsonWriter& json) {
  switch (field.type) {
    case Type::kBool:
      return Types({"boolean"}, nullable, json);
    case Type::kCount:
      Types({"integer"}, nullable, json);
      json.Key("minimum").Int(0);
      return;
    case Type::kInt:
      return Types({"integer"}, nullable, json);
    case Type::kReal:
      return Types({"number"}, nullable, json);
    case Type::kMillis:
      Types({"integer"}, nullable, json);
      json.Key("x-unit").String("ms");
      return;
    case Type::kTime:
      Types({"integer"}, nullable, json);
      json.Key("x-unit").String("ms since 1970");
      return;
    case Type::kText:
      if (field.words != nullptr) return ReferenceOrNull(field.words->name, nullable, json);
      return Types({"string"}, nullable, json);
    case Type::kId:
      Types({"string"}, nullable, json);
      json.Key("pattern").String("^[0-9]+$");
      return;
    case Type::kRank:
      return Types({"string", "number"}, nullable, json);
    case Type::kNumeral:
      return Types({"integer", "string"}, nullable, json);
    case Type::kJson:
      return;
    case Type::kObject:
      return ReferenceOrNull(field.object->name, nullable, json);
    case Type::kTexts:
    case Type::kValues:
    case Type::kCounts:
      Types({"object"}, nullable, json);
      json.Key("additionalProperties").BeginObject();
      if (field.type == Type::kTexts) Types({"string"}, false, json);
      if (field.type == Type::kValues) Types({"string", "number", "boolean"}, false, json);
      if (field.type == Type::kCounts) Types({"integer"}, nullable, json);
      json.EndObject();
      return;
  }
}

std::string Quoted(const Words& words) {
  std::string out;
  for (const std::string_view word : words.words) {
    if (!out.empty()) out.append(" | ");
    out.append("'").append(word).append("'");
  }
  return out;
}

std::string TypeOf(const Field& field) {
  switch (field.type) {
    case Type::kBool:
      return "boolean";
    case Type::kCount:
    case Type::kInt:
    case Type::kReal:
      return "number";
    case Type::kMillis:
    case Type::kTime:
      return "Ms";
    case Type::kText:
      return field.words == nullptr ? "string" : std::string(field.words->name);
    case Type::kId:
      return "string";
    case Type::kRank:
    case Type::kNumeral:
      return "string | number";
    case Type::kJson:
      return "Json";
    case Type::kObject:
      return std::string(field.object->name);
    case Type::kTexts:
      return "Record<string, string>";
    case Type::kValues:
      return "Record<string, string | number | boolean>";
    case Type::kCounts:
      return field.nullable ? "Record<string, number | null>" : "Record<string, number>";
  }
  return "";
}

}  // namespace

Vocabulary Reach(std::span<const Object* const> roots) {
  Vocabulary out;
  for (const Object* root : roots) Add(*root, out);
  return out;
}

void AppendReference(std::string_view name, JsonWriter& json) {
  json.BeginObject();
  ReferenceOrNull(name, false, json);
  json.EndObject();
}

void AppendSchema(const Field& field, JsonWriter& json) {
  json.BeginObject();
  if (field.list) {
    Types({"array"}, field.nullable, json);
    json.Key("items").BeginObject();
    Plain(field, false, json);
    json.EndObject();
  } else {
    Plain(field, field.nullable, json);
  }
  json.Key("description").String(field.about);
  json.EndObject();
}

void AppendSchema(const Object& object, JsonWriter& json) {
  json.BeginObject().Key("type").String("object").Key("description").String(object.about);
  json.Key("properties").BeginObject();
  for (const Field& field : object.fields) AppendSchema(field, json.Key(field.name));
  json.EndObject();
  json.Key("required").BeginArray();
  for (const Field& field : object.fields) {
    if (!field.optional) json.String(field.name);
  }
  json.EndArray().EndObject();
}

void AppendSchema(const Words& words, JsonWriter& json) {
  json.BeginObject().Key("type").String("string").Key("enum").BeginArray();
  for (const std::string_view word : words.words) json.String(word);
  json.EndArray().EndObject();
}

std::string TypeScript(const Vocabulary& vocabulary) {
  constexpr std::size_t kWidth = 140;  // as web/ sets it for prettier
  std::string out =
      "// Made from the tables of src/wire/ by `ALLOT_UPDATE=1 build/server_tests --gtest_filter='OpenApi.*'`: change "
      "those.\n\nexport type Ms = number;\nexport type Json = unknown;\n";
  for (const Words* words : vocabulary.words) {
    const std::string head = "export type " + std::string(words->name) + " =";
    const std::string line = head + " " + Quoted(*words) + ";";
    out.append(line.size() > kWidth ? head + "\n  " + Quoted(*words) + ";" : line).append("\n");
  }
  for (const Object* object : vocabulary.objects) {
    if (object->fields.empty()) continue;
    out.append("\n// ").append(object->about).append("\nexport interface ").append(object->name).append(" {\n");
    for (const Field& field : object->fields) {
      std::string type = TypeOf(field);
      if (field.list) type = (type.find('|') == std::string::npos ? type : "(" + type + ")") + "[]";
      if (field.nullable && field.type != Type::kJson) type += " | null";
      const std::string code = "  " + std::string(field.name) + (field.optional ? "?: " : ": ") + type + ";";
      const std::string line = code + " // " + std::string(field.about);
      if (line.size() > kWidth) out.append("  // ").append(field.about).append("\n");
      out.append(line.size() > kWidth ? code : line).append("\n");
    }
    out.append("}\n");
  }
  return out;
}

}  // namespace allot::wire
