// SPDX-License-Identifier: Apache-2.0
// The table of routes is sound, finds what it should, and says the same as docs/reference/protocol, both ways.
#include "server/api/route_table.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/page.h"
#include "server/net/serve.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

std::string NameOf(const Route& route) {
  return std::string(MethodText(route.method)) + " " + std::string(route.path.text());
}

Request Ask(Method method, const std::string& path) {
  Request request;
  request.method = method;
  request.path = path;
  Result<std::vector<std::string>> parts = SplitPath(path);
  EXPECT_TRUE(parts.ok()) << path;
  if (parts.ok()) request.parts = std::move(*parts);
  return request;
}

// The row that serves it: `GET /v1/queues`; else the code of the error and what it says.
std::string Found(Method method, const std::string& path) {
  const Request request = Ask(method, path);
  const Result<const Route*> route = RequireRoute(FindRoute(request), request);
  if (route.ok()) return NameOf(**route);
  return std::string(CodeText(route.error().code)) + ": " + route.error().message + "; " + route.error().hint;
}

TEST(RouteTable, EveryRowIsWhole) {
  EXPECT_EQ(Routes().size(), 65u);
  for (const Route& route : Routes()) {
    SCOPED_TRACE(NameOf(route));
    EXPECT_TRUE(PathPattern::IsValid(route.path.text()));
    EXPECT_NE(MethodText(route.method), "");
    EXPECT_GE(route.words.size(), 10u);
    EXPECT_LE(route.words.size(), 80u);
    EXPECT_FALSE(route.words.ends_with('.'));
    EXPECT_NE(route.serve == nullptr, route.upgrade == nullptr) << "one of them answers";
    EXPECT_TRUE(route.upgrade == nullptr || route.method == Method::kGet);
    EXPECT_TRUE(route.take_lines == nullptr || route.method == Method::kPost);
    if (route.Is(Route::kWatched)) {
      EXPECT_EQ(route.method, Method::kGet);
      EXPECT_NE(route.scope.kind, ScopeRule::Kind::kNoToken);
      EXPECT_NE(route.scope.kind, ScopeRule::Kind::kByHandler) << "it is asked for together with others";
    }
    // Both are given the queue.
    if (route.upgrade != nullptr || route.take_lines != nullptr) {
      EXPECT_NE(route.path.text().find("/{queue}/"), std::string_view::npos);
    }
  }
}

TEST(RouteTable, NoTwoRowsOfOneMethodTakeTheSamePath) {
  const std::span<const Route> routes = Routes();
  for (std::size_t i = 0; i < routes.size(); ++i) {
    for (std::size_t j = i + 1; j < routes.size(); ++j) {
      if (routes[i].method != routes[j].method) continue;
      EXPECT_FALSE(routes[i].path.Overlaps(routes[j].path)) << NameOf(routes[i]) << ", " << NameOf(routes[j]);
    }
  }
}

// FindRoute() relies on it, and so does the order of methods in an error.
TEST(RouteTable, RowsOfOnePathStandTogetherAndBeforeLessSpecificOnes) {
  const std::span<const Route> routes = Routes();
  std::set<std::string_view> before;
  for (std::size_t i = 0; i < routes.size(); ++i) {
    SCOPED_TRACE(NameOf(routes[i]));
    const bool same = i > 0 && routes[i - 1].path.text() == routes[i].path.text();
    EXPECT_TRUE(!same || routes[i - 1].method < routes[i].method);
    EXPECT_NE(before.insert(routes[i].path.text()).second, same);
    bool shares = false;
    for (std::size_t j = i + 1; j < routes.size(); ++j) {
      const PathPattern& one = routes[i].path;
      const PathPattern& later = routes[j].path;
      if (one.text() == later.text() || !one.Overlaps(later)) continue;
      shares = true;
      for (std::size_t k = 0; k < one.size(); ++k) EXPECT_TRUE(!one.named(k) || later.named(k)) << NameOf(routes[j]);
    }
    EXPECT_TRUE(shares || !routes[i].Is(Route::kSharesPath)) << "with nobody";
  }
}

TEST(RouteTable, FindsTheRowOfMethodAndPath) {
  for (const Route& route : Routes()) {
    std::string path(route.path.text());
    std::replace(path.begin(), path.end(), '{', '<');
    EXPECT_EQ(Found(route.method, path), NameOf(route));
  }
  struct Row {
    Method method;
    const char *path, *want;
  };
  constexpr Row kRows[] = {
      {Method::kGet, "/v1/queues/%71/jobs/last", "GET /v1/queues/{queue}/jobs/{job}"},
      {Method::kGet, "/v1/queues/jobs/jobs/jobs", "GET /v1/queues/{queue}/jobs/{job}"},
      {Method::kGet, "/v1/queues/", "GET /v1/queues/{queue}"},
      {Method::kPost, "/v1/queues/q/jobs/cancel", "POST /v1/queues/{queue}/jobs/cancel"},
      {Method::kPost, "/v1/queues/q/jobs/cancel/cancel", "POST /v1/queues/{queue}/jobs/{job}/cancel"},
      {Method::kPost, "/v1/queues/q/jobs/batch", "POST /v1/queues/{queue}/jobs/batch"},
      // A limit may be called so.
      {Method::kPost, "/v1/queues/q/limits/try", "POST /v1/queues/{queue}/limits/try"},
      {Method::kGet, "/v1/queues/q/limits/try", "GET /v1/queues/{queue}/limits/{uuid}"},
      {Method::kPut, "/v1/queues/q/limits/try", "PUT /v1/queues/{queue}/limits/{uuid}"},
      {Method::kDelete, "/v1/queues/q/limits/try", "DELETE /v1/queues/{queue}/limits/{uuid}"},
      {Method::kPost, "/v1/queues/q/limits/try/renew", "POST /v1/queues/{queue}/limits/{uuid}/renew"},
  };
  for (const Row& row : kRows) EXPECT_EQ(Found(row.method, row.path), row.want) << row.path;
}

TEST(RouteTable, HandlersFindPartsByName) {
  const Request request = Ask(Method::kGet, "/v1/queues/a%2Fb/jobs/17/tasks/3/receipt");
  const RouteMatch match = FindRoute(request);
  ASSERT_NE(match.route, nullptr);
  const PathPattern& path = match.route->path;
  EXPECT_EQ(request.parts[path.IndexOf("queue")], "a/b");
  EXPECT_EQ(request.parts[path.IndexOf("job")], "17");
  EXPECT_EQ(request.parts[path.IndexOf("index")], "3");
}

TEST(RouteTable, WhatIsNotThereIsNotFound) {
  for (const std::string path :
       {"/v1", "/v1/", "/v1/nothing", "/v2/queues", "/v1/server/", "/livez/x", "/metrics/", "/v1/strategies/other",
        "/v1/queues/q/nothing", "/v1/queues/q/strategy", "/v1/queues/q/jobs/1/nothing", "/v1/queues/q/jobs/1/results/2",
        "/v1/queues/q/jobs/1/tasks/2/nothing", "/v1/queues/q/workers/1/nothing", "/v1/queues/q/limits/u/renew/x"}) {
    EXPECT_EQ(Found(Method::kGet, path), "not_found: there is nothing at " + path + "; see docs/reference/protocol");
  }
}

TEST(RouteTable, AnotherMethodIsToldWhichThereAre) {
  struct Row {
    Method method;
    const char *path, *allowed;
  };
  constexpr Row kRows[] = {
      {Method::kPost, "/livez", "GET"},
      {Method::kPost, "/metrics", "GET"},
      {Method::kDelete, "/v1/strategies", "GET"},
      {Method::kGet, "/v1/strategies/check", "POST"},
      {Method::kPut, "/v1/queues", "GET, POST"},
      {Method::kPost, "/v1/queues/q", "GET, PATCH, DELETE"},
      {Method::kGet, "/v1/queues/q/pause", "POST"},
      {Method::kPost, "/v1/queues/q/overview", "GET"},
      {Method::kGet, "/v1/queues/q/explain", "POST"},
      {Method::kDelete, "/v1/queues/q/jobs", "GET, POST"},
      {Method::kGet, "/v1/queues/q/jobs/batch", "POST"},
      {Method::kGet, "/v1/queues/q/jobs/cancel", "POST"},
      {Method::kPatch, "/v1/queues/q/jobs/retry", "POST"},
      {Method::kPost, "/v1/queues/q/jobs/1", "GET, PATCH"},
      {Method::kGet, "/v1/queues/q/jobs/1/cancel", "POST"},
      {Method::kPost, "/v1/queues/q/jobs/1/explain", "GET"},
      {Method::kPut, "/v1/queues/q/limits", "GET, POST"},
      {Method::kPost, "/v1/queues/q/limits/u", "GET, PUT, DELETE"},
      {Method::kPatch, "/v1/queues/q/limits/try", "POST"},
      {Method::kPatch, "/v1/queues/q/workers", "GET, POST"},
      {Method::kPost, "/v1/queues/q/workers/1", "GET, PATCH, DELETE"},
      {Method::kOther, "/v1/queues/q/workers/1/pull", "POST"},
      {Method::kPost, "/v1/queues/q/work", "GET"},
  };
  for (const Row& row : kRows) {
    const std::string path = row.path;
    EXPECT_EQ(Found(row.method, path),
              "method_not_allowed: " + path + " does not have this method; it has " + row.allowed);
  }
}

TEST(RouteTable, KnowsTheQueueAlsoWhereNothingElseIsFound) {
  struct Row {
    const char* path;
    bool of_queues;
    const char* queue;
  };
  constexpr Row kRows[] = {
      {"/v1/server", false, nullptr},
      {"/v1/strategies", false, nullptr},
      {"/v1/queues", true, nullptr},
      {"/v1/queues/", true, ""},
      {"/v1/queues/q", true, "q"},
      {"/v1/queues/q/jobs/1", true, "q"},
      {"/v1/queues/q/nothing/at/all", true, "q"},
  };
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.path);
    const Request request = Ask(Method::kGet, row.path);
    const RouteMatch match = FindRoute(request);
    EXPECT_EQ(match.of_queues, row.of_queues);
    ASSERT_EQ(match.queue != nullptr, row.queue != nullptr);
    EXPECT_EQ(match.queue == nullptr ? "" : *match.queue, row.queue == nullptr ? "" : row.queue);
  }
}

TEST(RouteTable, ScopesAreAskedForByName) {
  Principal reader;
  reader.name = "r";
  reader.scopes.Add(Scope::kRead);
  using Kind = ScopeRule::Kind;
  for (const ScopeRule& rule :
       {ScopeRule{Kind::kNoToken}, ScopeRule{Kind::kAnyToken}, ScopeRule{Kind::kScope, Scope::kRead},
        ScopeRule{Kind::kEither, Scope::kWork, Scope::kRead}, ScopeRule{Kind::kEither, Scope::kRead, Scope::kWork},
        ScopeRule{Kind::kByHandler, Scope::kWork, Scope::kOperate}}) {
    EXPECT_TRUE(rule.Check(reader).ok());
  }
  const Result<void> one = ScopeRule{Kind::kScope, Scope::kWork}.Check(reader);
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error().code, Code::kForbidden);
  EXPECT_NE(one.error().message.find("lacks the scope `work`"), std::string::npos) << one.error().message;
  const Result<void> either = ScopeRule{Kind::kEither, Scope::kSubmit, Scope::kOperate}.Check(reader);
  ASSERT_FALSE(either.ok());
  EXPECT_NE(either.error().message.find("lacks the scope `submit` or `operate`"), std::string::npos)
      << either.error().message;
}

TEST(RouteTable, SaysWhatIsNotTheDashboards) {
  for (const char* path : {"/livez", "/livez/x", "/readyz", "/metrics", "/v1/queues", "/v1", "/v7/x"}) {
    EXPECT_FALSE(IsWebPath(Ask(Method::kGet, path))) << path;
  }
  for (const char* path : {"/", "/q/default", "/assets/x.js", "/v", "/v10", "/vx"}) {
    EXPECT_TRUE(IsWebPath(Ask(Method::kGet, path))) << path;
  }
  EXPECT_TRUE(NeedsNoToken(Ask(Method::kGet, "/livez")));
  EXPECT_TRUE(NeedsNoToken(Ask(Method::kPost, "/readyz")));
  for (const char* path : {"/metrics", "/v1/server", "/livez/", "/%6Civez", "/v1/queues"}) {
    EXPECT_FALSE(NeedsNoToken(Ask(Method::kGet, path))) << path;
  }
}

// --- docs/reference/protocol.

std::string ReadPages() { return testing::ReadFolder("docs/reference/protocol"); }

// `/v1/queues/Q/jobs/ID` → `/v1/queues/{queue}/jobs/{job}`.
std::string PatternOf(const std::string& path) {
  const Result<std::vector<std::string>> parts = SplitPath(path);
  EXPECT_TRUE(parts.ok()) << path;
  static const std::map<std::string, std::string> kNames = {{"Q", "{queue}"},           {"jobs/ID", "{job}"},
                                                            {"workers/ID", "{worker}"}, {"INDEX", "{index}"},
                                                            {"UUID", "{uuid}"},         {"NODE", "{node}"}};
  std::string out, before;
  for (const std::string& part : *parts) {
    const auto named = kNames.find(part == "ID" ? before + "/ID" : part);
    out += "/" + (named == kNames.end() ? part : named->second);
    before = part;
  }
  return out;
}

std::vector<std::string> InBackquotes(const std::string& text) {
  static const std::regex kQuoted("`([^`]+)`");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), kQuoted), end; i != end; ++i) found.push_back((*i)[1]);
  return found;
}

struct Listed {
  std::string route;  // `GET /v1/queues/{queue}`
  std::string scopes;
  bool web_socket = false;
};

std::string Joined(const std::set<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// The scopes that a cell names, in order of the alphabet; or `any`, `none`.
std::string ScopesOf(const std::string& cell) {
  static const std::regex kScope("\\b(any|none|submit|work|read|operate|admin)\\b");
  std::set<std::string> words;
  for (std::sregex_iterator i(cell.begin(), cell.end(), kScope), end; i != end; ++i) words.insert((*i)[1]);
  return Joined(words);
}

std::string ScopesOf(const ScopeRule& rule) {
  switch (rule.kind) {
    case ScopeRule::Kind::kNoToken:
      return "none";
    case ScopeRule::Kind::kAnyToken:
      return "any";
    case ScopeRule::Kind::kScope:
      return std::string(ScopeText(rule.first));
    case ScopeRule::Kind::kEither:
    case ScopeRule::Kind::kByHandler:
      break;
  }
  return Joined({std::string(ScopeText(rule.first)), std::string(ScopeText(rule.second))});
}

// All routes of the pages' tables, in their order. A cell may name several: `POST …/pause`, `…/resume` are like the one
// before, but for their last part.
std::vector<Listed> RoutesOfThePages() {
  static const std::regex kRoute("(?:(GET|POST|PUT|PATCH|DELETE) )?(…)?(/[^ ?]*)(?:\\?.*)?");
  std::vector<Listed> all;
  std::istringstream page(ReadPages());
  bool inside = false;
  std::string method, path;
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("| request |", 0) == 0) {
      EXPECT_EQ(line, "| request | scope | answer |");
      inside = true;
      continue;
    }
    if (line.rfind("|", 0) != 0) inside = false;
    if (!inside || line.rfind("|---", 0) == 0) continue;
    const std::size_t first = line.find(" | ");
    const std::size_t second = line.find(" | ", first + 3);
    EXPECT_NE(second, std::string::npos) << line;
    if (second == std::string::npos) continue;
    const std::string asked = line.substr(2, first - 2);
    bool some = asked.rfind("the same with", 0) == 0;
    for (const std::string& quoted : InBackquotes(asked)) {
      std::smatch match;
      if (!std::regex_match(quoted, match, kRoute)) continue;
      const bool like = match[2].matched;
      if (!match[1].matched && !like) continue;
      if (match[1].matched) method = match[1];
      path = (like ? path.substr(0, path.rfind('/')) : "") + match[3].str();
      some = true;
      if (path == "/" || path == "/docs/") continue;  // dashboard and documents are no routes
      Listed listed;
      listed.route = method + " " + PatternOf(path);
      listed.scopes = ScopesOf(line.substr(first + 3, second - first - 3));
      listed.web_socket = asked.rfind("WebSocket ", 0) == 0;
      all.push_back(listed);
    }
    EXPECT_TRUE(some) << "no route: " << line;
  }
  return all;
}

TEST(ProtocolPages, ListsTheRoutesWithTheirScopes) {
  std::map<std::string, const Route*> rows;
  for (const Route& route : Routes()) rows[NameOf(route)] = &route;
  std::map<std::string, std::string> seen;  // the scopes, of all rows of the page that name it
  for (const Listed& listed : RoutesOfThePages()) {
    SCOPED_TRACE(listed.route);
    const auto row = rows.find(listed.route);
    EXPECT_NE(row, rows.end()) << "there is no such route";
    if (row == rows.end()) continue;
    EXPECT_EQ(listed.web_socket, row->second->upgrade != nullptr);
    EXPECT_NE(listed.scopes, "");
    std::string& scopes = seen[listed.route];
    // With a query it may need more: then the page has a row for each.
    scopes = ScopesOf(scopes + " " + listed.scopes);
    EXPECT_EQ(ScopesOf(listed.scopes + " " + ScopesOf(row->second->scope)), ScopesOf(row->second->scope));
  }
  for (const auto& [name, route] : rows) {
    EXPECT_EQ(seen[name], ScopesOf(route->scope)) << name << ": its scopes on the page, and in the table";
  }
}

TEST(ProtocolPages, ListsWhatMayBeWatched) {
  const std::string page = ReadPages();
  const std::size_t begin = page.find("- Anything that is shown:");
  const std::size_t end = page.find("a stream of server-sent events", begin);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  std::set<std::string> listed, watched;
  for (const std::string& word : InBackquotes(page.substr(begin, end - begin))) {
    if (word != "GET") listed.insert(PatternOf(word[0] == '/' ? word : "/v1/queues/Q/" + word));
  }
  for (const Route& route : Routes()) {
    if (route.Is(Route::kWatched)) watched.insert(std::string(route.path.text()));
  }
  EXPECT_EQ(listed, watched);
}

}  // namespace
}  // namespace allot
