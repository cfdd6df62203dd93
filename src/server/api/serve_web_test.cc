// SPDX-License-Identifier: Apache-2.0
// The dashboard's files over real sockets, with files of the test's own.
#include "server/api/serve_web.h"

#include "server/net/http_text.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

constexpr WebAsset kAssets[] = {
    {"/assets/index-abc.js", "text/javascript", "\"js1\"", "console.log(1)", "GZIPPED"},
    {"/docs/docs.js", "text/javascript; charset=utf-8", "docs1", "search()", ""},
    {"/docs/index.html", "text/html; charset=utf-8", "docs2", "<h1>documents</h1>", ""},
    {"/docs/reference/errors.html", "text/html; charset=utf-8", "docs3", "<h1>errors</h1>", ""},
    {"/docs/reference/protocol/index.html", "text/html; charset=utf-8", "docs4", "<h1>protocol</h1>", ""},
    {"/favicon.svg", "image/svg+xml", "svg1", "<svg/>", ""},
    {"/index.html", "text/html; charset=utf-8", "html1", "<!doctype html><p>page</p>", "PAGE"},
};

class WebTest : public ServerTest {
 protected:
  WebTest() { web_ = kAssets; }
};

TEST_F(WebTest, ThePageIsAtEveryPathThatIsNoFile) {
  HttpClient http = Http();
  for (const char* path : {"/", "/index.html", "/q/default/jobs/123", "/workers", "/q/my.queue", "/views/x", "//"}) {
    const Answer answer = http.Get(path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_EQ(answer.body, "<!doctype html><p>page</p>") << path;
    EXPECT_NE(answer.head.find("Content-Type: text/html; charset=utf-8\n"), std::string::npos);
    EXPECT_NE(answer.head.find("Cache-Control: no-cache\n"), std::string::npos);
  }
  for (const char* path : {"/robots.txt", "/assets/other.js", "/assets/other", "/assets/../index.html", "/a/b.css"}) {
    const Answer answer = http.Get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.code(), "not_found") << path;
  }
}

TEST_F(WebTest, DocumentsAreFoundByTheirNames) {
  HttpClient http = Http();
  struct Row {
    const char* path;
    const char* body;
  };
  constexpr Row kRows[] = {
      {"/docs", "<h1>documents</h1>"},
      {"/docs/", "<h1>documents</h1>"},
      {"/docs/index.html", "<h1>documents</h1>"},
      {"/docs/reference/errors", "<h1>errors</h1>"},
      {"/docs/reference/errors/", "<h1>errors</h1>"},
      {"/docs/reference/protocol", "<h1>protocol</h1>"},
      {"/docs/reference/protocol/", "<h1>protocol</h1>"},
      {"/docs/docs.js", "search()"},
      {"/docsother", "<!doctype html><p>page</p>"},
  };
  for (const Row& row : kRows) {
    const Answer answer = http.Get(row.path);
    EXPECT_EQ(answer.status, 200) << row.path;
    EXPECT_EQ(answer.body, row.body) << row.path;
    EXPECT_NE(answer.head.find("Cache-Control: no-cache\n"), std::string::npos) << row.path;
    EXPECT_NE(answer.head.find("Content-Security-Policy: default-src 'none'; script-src 'self';"), std::string::npos);
  }
  for (const char* path : {"/docs/gone", "/docs/reference", "/docs/reference/errors.md", "/docs/../docs/index.html"}) {
    const Answer answer = http.Get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.code(), "not_found") << path;
  }
  EXPECT_EQ(http.Get("/docs/gone").json["error"]["hint"].str(), "all documents are listed at /docs/");
}

TEST_F(WebTest, WhatIsOfTheApiStaysJson) {
  HttpClient http = Http();
  for (const char* path : {"/v1", "/v1/", "/v1/nothing", "/v1/queues/default/nothing", "/livez/x", "/metrics/x"}) {
    const Answer answer = http.GetWith(path, {{"Accept", "text/html"}});
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(answer.code(), "not_found") << path;
  }
}

TEST_F(WebTest, FilesCarryWhatBrowsersShouldDoWithThem) {
  HttpClient http = Http();
  const Answer file = http.Get("/assets/index-abc.js");
  EXPECT_EQ(file.body, "console.log(1)");
  for (const char* line :
       {"Content-Type: text/javascript\n", "Cache-Control: public, max-age=31536000, immutable\n", "ETag: W/\"js1\"\n",
        "Vary: Accept-Encoding\n", "X-Content-Type-Options: nosniff\n", "Referrer-Policy: no-referrer\n",
        "Cross-Origin-Opener-Policy: same-origin\n", "X-Frame-Options: DENY\n",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\n"}) {
    EXPECT_NE(file.head.find(line), std::string::npos) << line << "in\n" << file.head;
  }
  EXPECT_EQ(file.head.find("Content-Encoding"), std::string::npos);
}

TEST_F(WebTest, ACompressedFileGoesToThoseWhoTakeIt) {
  HttpClient http = Http();
  const auto body = [&](const char* path, const char* accept) {
    return http.GetWith(path, {{"Accept-Encoding", accept}}).body;
  };
  EXPECT_EQ(body("/", "gzip, deflate, br"), "PAGE");
  EXPECT_EQ(body("/", "br, GZIP;q=0.5"), "PAGE");
  EXPECT_EQ(body("/", "br, gzip;q=0"), "<!doctype html><p>page</p>");
  EXPECT_EQ(body("/", "gzipped"), "<!doctype html><p>page</p>");
  EXPECT_EQ(body("/favicon.svg", "gzip"), "<svg/>");
  const Answer file = http.GetWith("/", {{"Accept-Encoding", "gzip"}});
  EXPECT_NE(file.head.find("Content-Encoding: gzip\n"), std::string::npos);
}

TEST_F(WebTest, WhatIsKnownIsNotSentAgain) {
  HttpClient http = Http();
  for (const char* tag : {"W/\"html1\"", "\"html1\"", "\"other\", W/\"html1\"", "*"}) {
    const Answer answer = http.GetWith("/", {{"If-None-Match", tag}});
    EXPECT_EQ(answer.status, 304) << tag;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(answer.head.find("Content-Length"), std::string::npos);
  }
  EXPECT_EQ(http.GetWith("/", {{"If-None-Match", "\"html\""}}).status, 200);
  EXPECT_EQ(http.Get("/livez").status, 200);  // the connection goes on
}

TEST_F(WebTest, HeadHasTheLengthAndNoBody) {
  HttpClient http = Http();
  http.Write("HEAD /favicon.svg HTTP/1.1\r\nHost: localhost\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(http.ReadUntil("\r\n\r\n").find("Content-Length: 6\r\n"), std::string::npos);
  EXPECT_EQ(http.ReadUntil("\r\n").substr(0, 12), "HTTP/1.1 200");
}

TEST_F(WebTest, OnlyGettingIsAnswered) {
  HttpClient http = Http();
  EXPECT_EQ(http.Post("/", "{}").code(), "method_not_allowed");
  EXPECT_EQ(http.Do(http::verb::get, "/", "a body").code(), "bad_request");
}

class WebTokenTest : public WebTest {
 protected:
  void SetUp() override {
    config_.allowed_hosts = {"queue.example"};
    token_ = MakeToken(config_, "page", {Scope::kRead});
    Start();
  }
  std::string token_;
};

TEST_F(WebTokenTest, ThePageNeedsNoTokenButAHostOfTheServer) {
  HttpClient http = Http();
  EXPECT_EQ(http.Get("/").status, 200);
  EXPECT_EQ(http.GetWith("/", {{"Authorization", "Bearer nonsense"}}).status, 200);
  EXPECT_EQ(http.Get("/v1/server").status, 401);
  EXPECT_EQ(http.Get("/v1/nothing").status, 401);
  EXPECT_EQ(http.GetWith("/", {{"Host", "evil.example"}}).code(), "foreign_origin");
  EXPECT_EQ(http.GetWith("/", {{"Host", "queue.example"}}).status, 200);
}

TEST_F(WebTokenTest, ThePageMayAskItsOwnServer) {
  HttpClient http = Http();
  http.token = token_;
  // As a browser does it, behind a proxy that speaks TLS.
  EXPECT_EQ(http.GetWith("/v1/server", {{"Host", "queue.example"}, {"Origin", "https://queue.example"}}).status, 200);
  EXPECT_EQ(http.GetWith("/v1/server", {{"Host", "queue.example"}, {"Origin", "https://evil.example"}}).code(),
            "foreign_origin");
}

TEST_F(WebTokenTest, TheServerSaysWhoAsks) {
  HttpClient http = Http();
  http.token = token_;
  EXPECT_EQ(http.Get("/v1/server").json["you"].text(),
            R"({"tokens":true,"name":"page","user":null,"queue":null,"scopes":["read"]})");
  http.token = MakeToken(config_, "ann's", {Scope::kAdmin}, "ann");
  // The file is looked at once a second.
  for (int i = 0; i < 300 && http.Get("/v1/server").status != 200; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(
      http.Get("/v1/server").json["you"].text(),
      R"({"tokens":true,"name":"ann's","user":"ann","queue":null,"scopes":["submit","work","read","operate","admin"]})");
}

using NoWebTest = ServerTest;

TEST_F(NoWebTest, AProgramWithoutADashboardSaysSo) {
  HttpClient http = Http();
  const Answer answer = http.Get("/");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.json["error"]["hint"].str(), "this program was built without its dashboard");
  EXPECT_EQ(http.Get("/docs/faq").json["error"]["hint"].str(),
            "this program was built without its documents; they are in docs/ of its sources");
  EXPECT_EQ(http.Get("/v1/server").json["you"].text(), R"({"tokens":false,"name":"local","user":null,"queue":null,)"
                                                       R"("scopes":["submit","work","read","operate","admin"]})");
}

TEST(HttpText, ListsOfWhatIsTakenAreRead) {
  EXPECT_TRUE(Accepts("text/event-stream", kEventsType));
  EXPECT_TRUE(Accepts("text/html, Text/Event-Stream ;q=0.9", kEventsType));
  EXPECT_FALSE(Accepts("", kEventsType));
  EXPECT_FALSE(Accepts("*/*", kEventsType));
  EXPECT_FALSE(Accepts("text/event-stream;q=0", kEventsType));
  EXPECT_FALSE(Accepts("text/event-stream; q=0.0", kEventsType));
}

}  // namespace
}  // namespace allot::testing
