// SPDX-License-Identifier: Apache-2.0
#include "server/api/openapi.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "server/api/route_table.h"
#include "server/flow/flow.h"
#include "server/net/http_text.h"
#include "server/wire/request_query.h"
#include "wire/server.h"

namespace allot {
namespace {

constexpr std::string_view kAbout =
    "A durable work-queue server. docs/reference has what the fields mean, the bounds, and all codes of errors. New "
    "fields and words may come at any time: ignore what you do not know. Errors have the schema ErrorAnswer, whatever "
    "their status. The schemas of WebSocket messages stand at their routes, in `x-websocket`.";

// As the keys of a path are called.
std::string LowerMethod(const Route& route) {
  std::string method(MethodText(route.method));
  std::transform(method.begin(), method.end(), method.begin(), AsciiLower);
  return method;
}

// `GET /v1/queues/{queue}/jobs` → `getQueuesByQueueJobs`.
std::string OperationId(const Route& route) {
  std::string out = LowerMethod(route);
  for (std::size_t i = 0; i < route.path.size(); ++i) {
    std::string word(route.path.word(i));
    if (i == 0 && word == "v1") continue;
    word = word.substr(0, word.find('.'));
    word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
    out.append(route.path.named(i) ? "By" : "").append(word);
  }
  return out;
}

// What it is about: `jobs` of `/v1/queues/{queue}/jobs/{job}`.
std::string_view TagOf(const Route& route) {
  if (route.path.word(0) != "v1" || route.path.word(1) != "queues") return "server";
  if (route.path.size() < 4) return "queues";
  const std::string_view part = route.path.word(3);
  if (part == "wait") return "jobs";
  if (part == "work") return "workers";
  return part == "jobs" || part == "workers" || part == "limits" ? part : "queues";
}

std::string_view AboutPart(std::string_view name) {
  if (name == "queue") return "the queue's name";
  if (name == "job") return "the job's id, or last";
  if (name == "worker") return "the worker's id";
  if (name == "index") return "the task's number in its job";
  return "the limit's id";
}

void AppendParameters(const Route& route, JsonWriter& json) {
  json.Key("parameters").BeginArray();
  for (std::size_t i = 0; i < route.path.size(); ++i) {
    if (!route.path.named(i)) continue;
    json.BeginObject().Key("name").String(route.path.word(i)).Key("in").String("path").Key("required").Bool(true);
    json.Key("description").String(AboutPart(route.path.word(i)));
    json.Key("schema").BeginObject().Key("type").String(route.path.word(i) == "index" ? "integer" : "string");
    json.EndObject().EndObject();
  }
  if (route.objects.query != nullptr) {
    for (const wire::Field& field : route.objects.query->fields) {
      json.BeginObject().Key("name").String(field.name).Key("in").String("query");
      json.Key("description").String(field.about);
      wire::AppendSchema(field, json.Key("schema"));
      json.EndObject();
    }
  }
  json.EndArray();
}

void AppendContent(std::string_view media, const wire::Object* object, JsonWriter& json) {
  json.Key(media).BeginObject();
  if (object != nullptr) wire::AppendReference(object->name, json.Key("schema"));
  json.EndObject();
}

void AppendAnswer(const Route& route, std::string_view status, JsonWriter& json) {
  json.Key(status).BeginObject().Key("description").String(route.words).Key("content").BeginObject();
  const Route::Objects& objects = route.objects;
  if (objects.or_gives != nullptr) {
    json.Key(objects.media).BeginObject().Key("schema").BeginObject().Key("anyOf").BeginArray();
    wire::AppendReference(objects.gives->name, json);
    wire::AppendReference(objects.or_gives->name, json);
    json.EndArray().EndObject().EndObject();
  } else {
    AppendContent(objects.media, objects.gives, json);
  }
  if (route.Is(Route::kWatched)) AppendContent(kEventsType, nullptr, json);
  json.EndObject().EndObject();
}

void AppendSocket(const Route& route, JsonWriter& json) {
  const auto references = [&json](std::string_view key, std::initializer_list<const wire::Object*> objects) {
    json.Key(key).BeginArray();
    for (const wire::Object* object : objects) {
      if (object != nullptr) wire::AppendReference(object->name, json);
    }
    json.EndArray();
  };
  json.Key("x-websocket").BeginObject();
  references("client", {route.objects.first, route.objects.takes});
  references("server", {route.objects.gives});
  json.EndObject();
}

std::string ScopesOf(const ScopeRule& rule) {
  using Kind = ScopeRule::Kind;
  const std::string first(ScopeText(rule.first));
  switch (rule.kind) {
    case Kind::kNoToken:
      return "no token";
    case Kind::kAnyToken:
      return "any token";
    case Kind::kScope:
      return first;
    default:
      return first + " or " + std::string(ScopeText(rule.second));
  }
}

void AppendOperation(const Route& route, JsonWriter& json) {
  json.Key(LowerMethod(route)).BeginObject();
  json.Key("operationId").String(OperationId(route)).Key("summary").String(route.words);
  json.Key("tags").BeginArray().String(TagOf(route)).EndArray();
  json.Key("x-scope").String(ScopesOf(route.scope));
  // Where no tokens are configured, nobody needs one.
  json.Key("security").BeginArray().BeginObject().EndObject();
  if (route.scope.kind != ScopeRule::Kind::kNoToken) {
    json.BeginObject().Key("token").BeginArray().EndArray().EndObject();
  }
  json.EndArray();
  AppendParameters(route, json);
  if (route.upgrade != nullptr) {
    AppendSocket(route, json);
  } else if (route.objects.takes != nullptr) {
    json.Key("requestBody").BeginObject().Key("required").Bool(!route.objects.takes_nothing);
    json.Key("content").BeginObject();
    AppendContent(kJsonType, route.objects.takes, json);
    if (route.take_lines != nullptr) AppendContent("application/x-ndjson", nullptr, json);
    json.EndObject().EndObject();
  }
  json.Key("responses").BeginObject();
  if (route.upgrade != nullptr) {
    json.Key("101").BeginObject().Key("description").String("messages follow, each a JSON text").EndObject();
  } else {
    if (!route.objects.creates || route.objects.may_be_there) AppendAnswer(route, "200", json);
    if (route.objects.creates) AppendAnswer(route, "201", json);
  }
  json.Key("default").BeginObject().Key("description").String("why not").Key("content").BeginObject();
  AppendContent(kJsonType, &wire::kErrorAnswer, json);
  json.EndObject().EndObject();
  json.EndObject().EndObject();
}

}  // namespace

wire::Vocabulary ApiVocabulary() {
  std::vector<const wire::Object*> roots = {&wire::kErrorAnswer};
  for (const Route& route : Routes()) {
    const Route::Objects& objects = route.objects;
    for (const wire::Object* object : {objects.first, objects.takes, objects.gives, objects.or_gives}) {
      if (object != nullptr) roots.push_back(object);
    }
  }
  wire::Vocabulary found = wire::Reach(roots);
  // Words that only queries have.
  for (const Route& route : Routes()) {
    if (route.objects.query == nullptr) continue;
    for (const wire::Field& field : route.objects.query->fields) {
      if (field.words == nullptr) continue;
      if (std::find(found.words.begin(), found.words.end(), field.words) == found.words.end())
        found.words.push_back(field.words);
    }
  }
  return found;
}

std::string OpenApi() {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("openapi").String("3.1.0");
  json.Key("info").BeginObject().Key("title").String("Allotter").Key("version").String(std::to_string(kProtocol));
  json.Key("description").String(kAbout).EndObject();
  json.Key("servers").BeginArray().BeginObject().Key("url").String("http://127.0.0.1:7420").EndObject().EndArray();
  json.Key("paths").BeginObject();
  std::string_view path;
  for (const Route& route : Routes()) {
    // Rows of one path stand together.
    if (route.path.text() != path) {
      if (!path.empty()) json.EndObject();
      path = route.path.text();
      json.Key(path).BeginObject();
    }
    AppendOperation(route, json);
  }
  json.EndObject().EndObject();
  const wire::Vocabulary vocabulary = ApiVocabulary();
  json.Key("components").BeginObject();
  json.Key("securitySchemes").BeginObject().Key("token").BeginObject();
  json.Key("type").String("http").Key("scheme").String("bearer").EndObject().EndObject();
  json.Key("schemas").BeginObject();
  for (const wire::Words* words : vocabulary.words) wire::AppendSchema(*words, json.Key(words->name));
  for (const wire::Object* object : vocabulary.objects) wire::AppendSchema(*object, json.Key(object->name));
  json.EndObject().EndObject();
  json.EndObject();
  return out;
}

Flow ShowOpenApi(Call call) {
  CO_TRY_OK(ParseNoQuery(call.request.query));
  static const std::string kText = OpenApi();
  co_return Answer(200, kText);
}

}  // namespace allot
