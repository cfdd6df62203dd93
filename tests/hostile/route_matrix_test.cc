// SPDX-License-Identifier: Apache-2.0
// Every route of docs/reference/protocol, asked for with every kind of token: its tables are the list, so a route that
// is added there is tried here. That the page lists all routes there are is tested beside the server's own table
// (src/server/api/route_table_test.cc).
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "hostile/hostile.h"

namespace allot::testing {
namespace {

struct Route {
  std::string method, path;
  bool any = false;              // any good token will do
  std::set<std::string> scopes;  // each of them will do; admin always
};

std::string Between(const std::string& text, std::size_t& at, char mark) {
  const std::size_t begin = text.find(mark, at);
  if (begin == std::string::npos) return {};
  const std::size_t end = text.find(mark, begin + 1);
  if (end == std::string::npos) return {};
  at = end + 1;
  return text.substr(begin + 1, end - begin - 1);
}

// The rows of tables whose first cell is a route, and whose second cell names scopes. Left out are those
// that need no token, and WebSockets, whose rows begin with that word: these are tried by name below.
std::vector<Route> RoutesOfThePages() {
  std::vector<Route> routes;
  std::set<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::directory_iterator("docs/reference/protocol")) pages.insert(entry.path());
  std::string text;
  for (const auto& path : pages) text += ReadFile(path.string()) + "\n";
  std::istringstream page(text);
  std::string before;  // the path that `…` stands for
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    const std::size_t cell = line.find(" | ");
    const std::size_t next = line.find(" | ", cell + 3);
    if (cell == std::string::npos || next == std::string::npos) continue;
    const std::string asked = line.substr(0, cell);
    std::string who = line.substr(cell + 3, next - cell - 3);
    who.resize(std::min(who.size(), who.find(';')));  // what depends on the token's user is tried elsewhere
    Route route;
    route.any = who == "any";
    for (const char* scope : {"read", "submit", "work", "operate", "admin"}) {
      if (who.find(scope) != std::string::npos) route.scopes.insert(scope);
    }
    if (!route.any && route.scopes.empty()) continue;
    if (who.find("work with `key`") != std::string::npos) route.scopes.erase("work");  // asked for without
    for (std::size_t at = 0;;) {
      const std::string word = Between(asked, at, '`');
      if (word.empty()) break;
      std::size_t slash = word.find('/');
      const std::size_t dots = word.find("…/");
      if (slash == std::string::npos || (word[0] == '{')) continue;
      if (dots != std::string::npos) {  // the same with another last part
        if (dots > 0) route.method = word.substr(0, dots - 1);
        route.path = before.substr(0, before.rfind('/')) + word.substr(slash);
      } else if (slash > 1) {
        route.method = word.substr(0, slash - 1);
        route.path = word.substr(slash);
      } else {
        continue;
      }
      before = route.path.substr(0, route.path.find('?'));
      routes.push_back(route);
    }
  }
  return routes;
}

void Replace(std::string& text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

// A body that is read as far as the question who asks.
std::string BodyOf(const Route& route) {
  static const std::map<std::string, std::string> kBodies = {
      {"POST /v1/strategies/check", R"({"strategy":"priority"})"},
      {"POST /v1/queues/Q/strategy/try", R"({"tags":["x"]})"},
      {"POST /v1/queues", R"({"name":"default"})"},
      {"PATCH /v1/queues/Q", R"({"settings":{}})"},
      {"POST /v1/queues/Q/jobs", R"({"count":0})"},
      {"POST /v1/queues/Q/jobs/batch", R"({"jobs":[]})"},
      {"PATCH /v1/queues/Q/jobs/ID", R"({"priority":1})"},
      {"POST /v1/queues/Q/jobs/cancel", R"({"user":"nobody"})"},
      {"POST /v1/queues/Q/jobs/pause", R"({"user":"nobody"})"},
      {"POST /v1/queues/Q/jobs/resume", R"({"user":"nobody"})"},
      {"POST /v1/queues/Q/jobs/retry", R"({"user":"nobody"})"},
      {"POST /v1/queues/Q/explain", R"({"tag":"x"})"},
      {"POST /v1/queues/Q/limits", R"({"tag":"x","rate":{"count":1,"per_ms":1000},"expires_in_ms":1000})"},
      {"PUT /v1/queues/Q/limits/UUID", R"({"tag":"x","rate":{"count":1,"per_ms":1000},"expires_in_ms":1000})"},
      {"POST /v1/queues/Q/limits/try", R"({"expr":"true"})"},
      {"POST /v1/queues/Q/workers", R"({"name":"w","tags":[]})"},
      {"POST /v1/queues/Q/workers/ID/pull", R"({"key":"0000000000000000"})"},
      {"DELETE /v1/queues/Q/workers/ID", R"({"key":"0000000000000000"})"},
      {"PATCH /v1/queues/Q/workers/ID", R"({"tags":["x"]})"},
  };
  const auto found = kBodies.find(route.method + " " + route.path.substr(0, route.path.find('?')));
  return found == kBodies.end() ? "" : found->second;
}

class RouteMatrix : public HostileSuite {
 protected:
  static void SetUpTestSuite() {
    StartWithTokens({});
    const std::string& data = server().data();
    for (const char* scope : {"read", "submit", "work", "operate", "admin"}) {
      scoped_[scope] = MakeToken(data, {"--scope", scope});
    }
    others_queue_ = MakeToken(data, {"--scope", "read,submit,work,operate", "--queue", "other"});
    ben_ = MakeToken(data, {"--scope", "read,submit", "--user", "ben"});
    gone_ = MakeToken(data, {"--scope", "admin", "gone"});
    std::this_thread::sleep_for(milliseconds(1500));
    EXPECT_EQ(server().http(gone_).Get("/v1/server").status, 200);
    RevokeToken(data, "gone");
    std::this_thread::sleep_for(milliseconds(1500));
    Http admin = server().http(admin_);
    job_ = SubmitJob(admin, R"({"count":0,"user":"ann"})");
    worker_ = HttpWorker(admin, "x").id;
    wrong_ = admin_;
    wrong_.back() = wrong_.back() == '0' ? '1' : '0';
  }
  static std::string Filled(std::string path) {
    const std::size_t query = path.find('?');
    const bool explained = path.find("?worker=ID") != std::string::npos;
    if (query != std::string::npos) path.resize(query);
    path += "/";
    Replace(path, "/Q/", "/default/");
    Replace(path, "/jobs/ID/", "/jobs/" + job_ + "/");
    Replace(path, "/workers/ID/", "/workers/" + worker_ + "/");
    Replace(path, "/INDEX/", "/0/");
    Replace(path, "/UUID/", "/a-limit/");
    path.pop_back();
    return explained ? path + "?worker=" + worker_ : path;
  }
  static Answer Ask(const std::string& token, const Route& route) {
    return server().http(token).Call(route.method, Filled(route.path), BodyOf(route));
  }

  static inline std::map<std::string, std::string> scoped_;
  static inline std::string others_queue_, ben_, gone_, wrong_, job_, worker_;
};

TEST_F(RouteMatrix, ThePageListsTheRoutes) {
  const std::vector<Route> routes = RoutesOfThePages();
  EXPECT_GE(routes.size(), 57u);
  for (const Route& route : routes) {
    SCOPED_TRACE(route.method + " " + route.path);
    const Answer answer = Ask(admin_, route);
    EXPECT_NE(answer.status, 0);
    EXPECT_NE(answer.ErrorCode(), "not_found") << answer.body;
    EXPECT_NE(answer.ErrorCode(), "method_not_allowed") << answer.body;
  }
}

TEST_F(RouteMatrix, WithoutAGoodTokenNoRouteSaysAnything) {
  for (const Route& route : RoutesOfThePages()) {
    SCOPED_TRACE(route.method + " " + route.path);
    for (const std::string& token : {std::string(), wrong_, gone_}) {
      const Answer answer = Ask(token, route);
      EXPECT_EQ(answer.status, 401) << answer.body;
      EXPECT_EQ(answer.ErrorCode(), "unauthorized") << answer.body;
    }
  }
  for (const char* path : {"/v1/queues/default/work", "/v1/queues/default/wait"}) {
    for (const std::string& token : {std::string(), wrong_, gone_}) {
      EXPECT_EQ(WebSocket(server().port(), path, token).refusal().status, 401) << path;
    }
  }
}

TEST_F(RouteMatrix, AScopeOpensItsRoutesAndNoOther) {
  for (const Route& route : RoutesOfThePages()) {
    SCOPED_TRACE(route.method + " " + route.path);
    for (const auto& [scope, token] : scoped_) {
      SCOPED_TRACE(scope);
      const Answer answer = Ask(token, route);
      if (route.any || scope == "admin" || route.scopes.contains(scope)) {
        EXPECT_NE(answer.status, 401) << answer.body;
        EXPECT_NE(answer.status, 403) << answer.body;
      } else {
        EXPECT_EQ(answer.status, 403) << answer.body;
        EXPECT_EQ(answer.ErrorCode(), "forbidden") << answer.body;
      }
    }
  }
  for (const auto& [scope, token] : scoped_) {
    SCOPED_TRACE(scope);
    EXPECT_EQ(WebSocket(server().port(), "/v1/queues/default/work", token).open(), scope == "work" || scope == "admin");
    EXPECT_EQ(WebSocket(server().port(), "/v1/queues/default/wait", token).open(), scope == "read" || scope == "admin");
  }
}

TEST_F(RouteMatrix, ATokenOfAnotherQueueReachesNothingOfThisOne) {
  for (const Route& route : RoutesOfThePages()) {
    if (route.path.rfind("/v1/queues/Q", 0) != 0) continue;
    SCOPED_TRACE(route.method + " " + route.path);
    EXPECT_EQ(Ask(others_queue_, route).ErrorCode(), "forbidden");
  }
  EXPECT_FALSE(WebSocket(server().port(), "/v1/queues/default/work", others_queue_).open());
  EXPECT_FALSE(WebSocket(server().port(), "/v1/queues/default/wait", others_queue_).open());
}

TEST_F(RouteMatrix, AJobOfAnotherUserIsNotThere) {
  for (const Route& route : RoutesOfThePages()) {
    if (route.path.find("/jobs/ID") == std::string::npos) continue;
    SCOPED_TRACE(route.method + " " + route.path);
    const Answer answer = Ask(ben_, route);
    EXPECT_EQ(answer.ErrorCode(), "unknown_job") << answer.body;
    EXPECT_EQ(answer.body.find("ann"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace allot::testing
