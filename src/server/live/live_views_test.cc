// SPDX-License-Identifier: Apache-2.0
// Watching, over real sockets.
#include "server/live/live_views.h"

#include <chrono>

#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

using std::chrono::steady_clock;

class LiveViewsTest : public ServerTest {
 protected:
  // Who does not read is slow here, and not to be ended for it, however busy the machine is.
  void SetUp() override {
    config_.write_timeout = std::chrono::minutes(5);
    Start();
  }
  static std::string Head(const std::string& head) { return head.substr(0, head.find("\r\n")); }
};

TEST_F(LiveViewsTest, AViewComesNowAndWheneverItChanged) {
  HttpClient http = Http();
  HttpClient watcher = Http();
  const std::string id = Submit(http, R"({"tag":"t","count":2})");
  const std::string path = kJobs + "/" + id;
  const std::string head = watcher.Watch(path);
  EXPECT_EQ(Head(head), "HTTP/1.1 200 OK");
  EXPECT_NE(head.find("Content-Type: text/event-stream\r\n"), std::string::npos);
  const auto [event, first] = watcher.NextEvent();
  EXPECT_EQ(event, "view");
  EXPECT_EQ(first.text(), http.Get(path).json.text());
  http.Post(path + "/pause");
  EXPECT_EQ(watcher.NextEvent().second["state"].str(), "paused");
  http.Post(path + "/resume");
  http.Post(path + "/cancel");  // what comes and goes between two looks is not told
  EXPECT_EQ(watcher.NextEvent().second["state"].str(), "cancelled");
}

TEST_F(LiveViewsTest, EverythingThatIsListedCanBeWatched) {
  HttpClient http = Http();
  WsClient worker = Worker();
  const std::string worker_id = Greet(worker)["worker"].str();
  const std::string id = Submit(http, R"({"tag":"t","count":2})");
  const std::string queue = "/v1/queues/default";
  const std::vector<std::string> paths = {"/v1/queues",
                                          queue,
                                          kJobs,
                                          kJobs + "?state=active&limit=5",
                                          kJobs + "/" + id,
                                          kJobs + "/" + id + "/tasks",
                                          kJobs + "/last",
                                          kJobs + "/" + id + "/explain",
                                          kWorkers,
                                          kWorkers + "/" + worker_id,
                                          queue + "/limits"};
  for (const std::string& path : paths) {
    HttpClient watcher = Http();
    EXPECT_EQ(Head(watcher.Watch(path)), "HTTP/1.1 200 OK") << path;
    const auto [event, json] = watcher.NextEvent();
    EXPECT_EQ(event, "view") << path;
    // Times and counts of a moment may differ; the form does not.
    EXPECT_EQ(json.text().substr(0, 20), http.Get(path).json.text().substr(0, 20)) << path;
  }
  // What is not on the list is answered as ever.
  EXPECT_EQ(http.GetWith(queue + "/demand", {{"Accept", "text/event-stream"}}).status, 200);
}

TEST_F(LiveViewsTest, OneLookServesAllWhoWatchTheSame) {
  HttpClient http = Http();
  const std::string id = Submit(http, R"({"tag":"t"})");
  std::vector<std::unique_ptr<HttpClient>> watchers;
  for (int i = 0; i < 200; ++i) {
    watchers.push_back(std::make_unique<HttpClient>(port()));
    watchers.back()->Watch(kJobs);
    EXPECT_EQ(watchers.back()->NextEvent().second["jobs"].size(), 1u);
  }
  const LiveViews::Counts before = server_->views().counts();
  EXPECT_EQ(before.views, 1u);
  EXPECT_EQ(before.streams, 200u);
  const auto began = steady_clock::now();
  http.Post(kJobs + "/" + id + "/cancel");
  for (const auto& watcher : watchers) {
    EXPECT_EQ(watcher->NextEvent().second["jobs"][0]["state"].str(), "cancelled");
  }
  const auto seconds = std::chrono::duration<double>(steady_clock::now() - began).count();
  const LiveViews::Counts after = server_->views().counts();
  EXPECT_LE(static_cast<double>(after.looks - before.looks), seconds + 2);
  EXPECT_EQ(after.texts, before.texts + 1);  // made once for all
}

TEST_F(LiveViewsTest, AViewEndsWithItsLastWatcher) {
  {
    HttpClient a = Http(), b = Http();
    a.Watch(kJobs);
    b.Watch(kJobs + "?limit=3");
    a.NextEvent();
    b.NextEvent();
    EXPECT_EQ(server_->views().counts().views, 2u);
  }
  for (int i = 0; i < 500 && server_->views().counts().views != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server_->views().counts().views, 0u);
  EXPECT_EQ(server_->views().counts().streams, 0u);
}

TEST_F(LiveViewsTest, AnErrorIsTheLastEvent) {
  HttpClient http = Http();
  ASSERT_EQ(http.Post("/v1/queues", R"({"name":"other"})").status, 201);
  HttpClient other = Http();
  other.Watch("/v1/queues/other/jobs");
  EXPECT_EQ(other.NextEvent().first, "view");
  http.Do(http::verb::delete_, "/v1/queues/other");
  const auto [event, json] = other.NextEvent();
  EXPECT_EQ(event, "error");
  EXPECT_EQ(json["error"]["code"].str(), "unknown_queue");
  EXPECT_EQ(other.NextEvent().first, "");  // the end
}

TEST_F(LiveViewsTest, WhatCannotBeWatchedIsRefusedAtOnce) {
  HttpClient http = Http();
  const HttpClient::Fields watch = {{"Accept", "text/event-stream"}};
  EXPECT_EQ(http.GetWith("/v1/queues/nothing/jobs", watch).code(), "unknown_queue");
  for (const char* wait : {"wait_ms=5", "wait%5Fms=5", "%77ait_ms", "a=b&wait_m%73=5"}) {
    const Answer refused = http.GetWith(kJobs + "/1?" + wait, watch);
    EXPECT_EQ(refused.code(), "bad_value") << wait;
    EXPECT_NE(refused.body.find("does not wait"), std::string::npos) << refused.body;
  }
}

TEST_F(LiveViewsTest, WhatTheFirstLookRefusesHasItsStatus) {
  HttpClient http = Http();
  const HttpClient::Fields watch = {{"Accept", "text/event-stream"}};
  const Answer unknown = http.GetWith(kJobs + "/12345", watch);
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.code(), "unknown_job");
  const Answer wrong = http.GetWith(kJobs + "?stat=active", watch);  // on the same connection
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.code(), "unknown_field");
  // The answer may be here before the view is gone on its own thread.
  for (int i = 0; i < 500 && server_->views().counts().views != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(server_->views().counts().views, 0u);
  EXPECT_EQ(server_->views().counts().streams, 0u);
}

TEST_F(LiveViewsTest, OneAddressCannotTakeAllViews) {
  const auto path = [](std::size_t i) { return kJobs + "?user=u" + std::to_string(i); };
  std::vector<std::unique_ptr<HttpClient>> watchers;
  for (std::size_t i = 0; i < LiveViews::kMaxViewsOfOne; ++i) {
    watchers.push_back(std::make_unique<HttpClient>(port()));
    ASSERT_EQ(Head(watchers.back()->Watch(path(i))), "HTTP/1.1 200 OK");
  }
  HttpClient http = Http();
  const Answer refused = http.GetWith(path(LiveViews::kMaxViewsOfOne), {{"Accept", "text/event-stream"}});
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.code(), "too_many_waits");
  HttpClient same = Http();  // of what it watches already it may have more streams
  EXPECT_EQ(Head(same.Watch(path(0))), "HTTP/1.1 200 OK");
  watchers.pop_back();
  for (int i = 0; i < 500 && server_->views().counts().views == LiveViews::kMaxViewsOfOne; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  HttpClient next = Http();
  EXPECT_EQ(Head(next.Watch(path(LiveViews::kMaxViewsOfOne))), "HTTP/1.1 200 OK");
}

TEST_F(LiveViewsTest, ASlowReaderGetsTheLastViewOnceItHasCaughtUp) {
  HttpClient http = Http();
  const std::string meta =
      R"({"tag":"t","meta":{"a":")" + std::string(1000, 'x') + R"(","b":")" + std::string(1000, 'y') + R"("}})";
  std::string batch = R"({"jobs":[)";
  for (int i = 0; i < 1000; ++i) batch += (i == 0 ? "" : ",") + meta;
  ASSERT_EQ(http.Post(kJobs + "/batch", batch + "]}").status, 201);
  HttpClient slow = Http();
  slow.Watch(kJobs + "?limit=1000");
  std::vector<std::unique_ptr<HttpClient>> crowd;
  for (int i = 0; i < 20; ++i) {
    crowd.push_back(std::make_unique<HttpClient>(port()));
    crowd.back()->Watch(kJobs + "?limit=1000");
  }
  HttpClient quick = Http();
  quick.Watch(kJobs + "?limit=1000");
  quick.NextEvent();
  std::string last;
  for (int i = 0; i < 16; ++i) {
    last = Submit(http, meta);
    EXPECT_EQ(quick.NextEvent().second["jobs"][0]["id"].str(), last);
  }
  // At most what was on its way, and the latest: for all of them together.
  EXPECT_GT(server_->views().counts().kept_bytes, 2'000'000u);
  EXPECT_LT(server_->views().counts().kept_bytes, 15'000'000u);
  crowd.clear();
  // What was on its way when it lagged, and then the latest; what was between is left out.
  int seen = 0;
  std::string newest;
  while (newest != last && seen < 17) {
    newest = slow.NextEvent().second["jobs"][0]["id"].str();
    ++seen;
  }
  EXPECT_EQ(newest, last);
  EXPECT_LT(seen, 17);
}

TEST_F(LiveViewsTest, StreamsEndWhenTheServerStops) {
  HttpClient watcher = Http();
  watcher.Watch(kJobs);
  EXPECT_EQ(watcher.NextEvent().first, "view");
  std::thread stop([this] { Stop(); });
  EXPECT_EQ(watcher.NextEvent().second["error"]["code"].str(), "stopping");
  EXPECT_EQ(watcher.ReadAll(), "");
  watcher.socket().close();
  stop.join();
}

class LiveTokenTest : public LiveViewsTest {
 protected:
  void SetUp() override {
    read_ = MakeToken(config_, "reader", {Scope::kRead});
    twin_ = MakeToken(config_, "twin", {Scope::kRead});
    ann_ = MakeToken(config_, "ann", {Scope::kRead, Scope::kSubmit}, "ann");
    bob_ = MakeToken(config_, "bob", {Scope::kRead, Scope::kSubmit}, "bob");
    work_ = MakeToken(config_, "work", {Scope::kWork});
    Start();
  }
  std::string read_, twin_, ann_, bob_, work_;
};

TEST_F(LiveTokenTest, EachSeesWhatItsTokenMaySee) {
  HttpClient http = Http();
  http.token = ann_;
  Submit(http, R"({"tag":"t"})");
  const auto watch = [](HttpClient& watcher, const std::string& token) {
    watcher.token = token;
    watcher.Watch(kJobs);
    return watcher.NextEvent().second["jobs"].size();
  };
  HttpClient a = Http(), b = Http(), all = Http(), twin = Http();
  EXPECT_EQ(watch(a, ann_), 1u);
  EXPECT_EQ(watch(b, bob_), 0u);
  EXPECT_EQ(watch(all, read_), 1u);
  EXPECT_EQ(watch(twin, twin_), 1u);
  EXPECT_EQ(server_->views().counts().views, 3u);  // who may see the same watches the same

  HttpClient refused = Http();
  refused.token = work_;
  EXPECT_EQ(refused.GetWith(kJobs, {{"Accept", "text/event-stream"}}).status, 403);
  HttpClient other = Http();
  other.token = ann_;
  const Answer bobs = other.GetWith(kJobs + "?user=bob", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(bobs.status, 403);
  EXPECT_EQ(bobs.json["error"]["message"].str(), "this token sees jobs of \"ann\" only");
  const Answer limits = other.GetWith("/v1/queues/default/limits", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(limits.status, 403);
  EXPECT_EQ(limits.code(), "forbidden");
}

TEST_F(LiveTokenTest, OneTokenLeavesRoomForOthers) {
  std::vector<std::unique_ptr<HttpClient>> watchers;
  const auto watch = [&](const std::string& token, std::size_t i) {
    watchers.push_back(std::make_unique<HttpClient>(port()));
    watchers.back()->token = token;
    return Head(watchers.back()->Watch(kJobs + "?user=u" + std::to_string(i)));
  };
  for (std::size_t i = 0; i < LiveViews::kMaxViewsOfOne; ++i) ASSERT_EQ(watch(read_, i), "HTTP/1.1 200 OK");
  EXPECT_NE(watch(read_, LiveViews::kMaxViewsOfOne), "HTTP/1.1 200 OK");
  EXPECT_EQ(watch(twin_, LiveViews::kMaxViewsOfOne), "HTTP/1.1 200 OK");
}

TEST_F(LiveTokenTest, LargeViewsOfOneTokenLeaveRoomForOthers) {
  HttpClient http = Http();
  http.token = ann_;
  std::string meta = R"({"tag":"t","meta":{)";
  for (char key = 'a'; key < 'd'; ++key)
    meta += (R"(")" + std::string(1, key)) + R"(":")" + std::string(1000, 'x') + R"(",)";
  meta.back() = '}';
  std::string batch = R"({"jobs":[)";
  for (int i = 0; i < 1000; ++i) batch += (i == 0 ? "" : ",") + meta + "}";
  ASSERT_EQ(http.Post(kJobs + "/batch", batch + "]}").status, 201);
  std::size_t bytes = 0;
  // A view too many, by itself or with those before it, is refused; those before go on.
  std::vector<std::unique_ptr<HttpClient>> watchers;
  std::string head;
  for (int i = 0; i < 200; ++i) {
    watchers.push_back(std::make_unique<HttpClient>(port()));
    watchers.back()->token = read_;
    head = Head(watchers.back()->Watch(kJobs + "?limit=" + std::to_string(1000 - i)));
    if (head != "HTTP/1.1 200 OK") break;
    bytes = server_->views().counts().kept_bytes;
  }
  EXPECT_EQ(head, "HTTP/1.1 413 Content Too Large");
  EXPECT_GT(bytes, LiveViews::kMaxBytesOfOne / 2);
  EXPECT_LE(bytes, LiveViews::kMaxBytesOfOne);
  HttpClient twin = Http();
  twin.token = twin_;
  EXPECT_EQ(Head(twin.Watch(kJobs + "?limit=900&user=ann")), "HTTP/1.1 200 OK");
}

TEST_F(LiveTokenTest, AStreamEndsWithItsTokenAndNoOther) {
  HttpClient going = Http(), staying = Http();
  going.token = read_;
  staying.token = twin_;
  going.Watch(kJobs);
  staying.Watch(kJobs);
  going.NextEvent();
  staying.NextEvent();
  ASSERT_TRUE(TokenFile(config_.tokens_file()).Revoke("reader").ok());
  EXPECT_EQ(going.NextEvent().first, "");  // the end
  HttpClient http = Http();
  http.token = ann_;
  Submit(http, R"({"tag":"t"})");
  EXPECT_EQ(staying.NextEvent().second["jobs"].size(), 1u);
}

TEST(LiveViews, WhoWatchesMuchIsServedLessOftenAndOthersAsEver) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  struct Row {
    Duration own;
    std::vector<Duration> others;
    Duration pause;
  };
  const Duration light = milliseconds(5);
  const std::vector<Row> rows = {
      {light, {}, seconds(1)},
      {milliseconds(100), {}, seconds(1)},
      {milliseconds(2400), {}, seconds(24)},                    // 240 lists of a megabyte
      {light, {milliseconds(2400)}, seconds(1)},                // do not slow a dashboard down
      {milliseconds(1000), {milliseconds(1000)}, seconds(20)},  // equal parts
      {milliseconds(950), {light}, seconds(10)},                // what the other leaves
      {seconds(3600), {}, LiveViews::kMostPause},
  };
  for (const Row& row : rows) {
    std::vector<Duration> all = row.others;
    all.push_back(row.own);
    EXPECT_EQ(LiveViews::Pause(row.own, all), row.pause) << row.own.count();
  }
  EXPECT_GT(LiveViews::CostOf(1 << 20), 10 * LiveViews::CostOf(1000));
}

}  // namespace
}  // namespace allot::testing
