// SPDX-License-Identifier: Apache-2.0
#include "allotter/live.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "client/event_stream.h"

namespace allotter {
namespace {

using Events = std::vector<std::pair<std::string, std::string>>;

// What comes of `text`, given in pieces of so many bytes.
Events EventsOf(std::string_view text, std::size_t piece) {
  EventStream stream;
  Events out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    auto more = stream.Add(text.substr(at, piece), [&](std::string_view event, const std::string& data) {
      out.emplace_back(event, data);
      return true;
    });
    EXPECT_TRUE(more && *more);
  }
  return out;
}

TEST(EventStream, IsTheSameInPiecesOfAnySize) {
  constexpr std::string_view kText =
      ": ping\n\nevent: view\ndata: {\"a\":1}\n\nevent:view\ndata:{}\n\nevent: nothing\n\ndata: x\ndata: y\n\ndata: "
      "rest";
  const Events want = {{"view", "{\"a\":1}"}, {"view", "{}"}, {"", "x\ny"}};
  for (std::size_t piece = 1; piece <= kText.size(); ++piece) EXPECT_EQ(EventsOf(kText, piece), want) << piece;
}

TEST(EventStream, EndsWhenItIsEnough) {
  EventStream stream;
  int seen = 0;
  auto more = stream.Add("data: 1\n\ndata: 2\n\n", [&](std::string_view, const std::string&) { return ++seen < 1; });
  EXPECT_TRUE(more && !*more);
  EXPECT_EQ(seen, 1);
}

TEST(EventStream, AnEventWithoutAnEndIsAnError) {
  EventStream stream;
  const std::string much(1u << 20, 'x');
  bool refused = false;
  for (int i = 0; i < 20 && !refused; ++i) {
    refused = !stream.Add(much, [](std::string_view, const std::string&) { return true; });
  }
  EXPECT_TRUE(refused);
}

// Answers each connection with one of the texts, one after the other, and keeps the last one open.
class FakeServer {
 public:
  explicit FakeServer(std::vector<std::string> answers) : answers_(std::move(answers)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address;
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { Serve(); });
  }
  ~FakeServer() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    if (open_ >= 0) ::close(open_);
    ::close(listener_);
  }
  ConnectionOptions options() const { return {.server = "http://127.0.0.1:" + std::to_string(port_)}; }
  // Of the first connection. After Run().
  std::string request;

 private:
  void Serve() {
    for (const std::string& answer : answers_) {
      const int fd = ::accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      std::string got;
      char buffer[4096];
      while (got.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = ::recv(fd, buffer, sizeof buffer, 0);
        if (n <= 0) break;
        got.append(buffer, static_cast<std::size_t>(n));
      }
      if (request.empty()) request = got;
      ::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
      if (&answer == &answers_.back()) {
        open_ = fd;
      } else {
        ::close(fd);
      }
    }
  }

  std::vector<std::string> answers_;
  int listener_ = -1, open_ = -1;
  int port_ = 0;
  std::thread thread_;
};

const std::string kStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

TEST(LiveView, DeliversViewsAndComesBackAfterALostConnection) {
  FakeServer server({kStream + "event: view\ndata: 1\n\n: ping\n\nevent: other\ndata: 0\n\nevent: view\ndata: 2\n\n",
                     kStream + "event: view\ndata: 3\n\n"});
  auto view = LiveView::Open(server.options(), "/v1/queues/default/overview");
  ASSERT_TRUE(view);
  std::vector<std::string> seen;
  auto ran = view->Run({.on_view =
                            [&](const std::string& json) {
                              seen.push_back(json);
                              if (json == "3") view->Stop();
                            },
                        .on_lost = [&](const Error& error) { seen.push_back(std::string(CodeText(error.code))); }});
  EXPECT_TRUE(ran);
  EXPECT_EQ(seen, (std::vector<std::string>{"1", "2", "unavailable", "3"}));
  EXPECT_NE(server.request.find("GET /v1/queues/default/overview HTTP/1.1\r\n"), std::string::npos);
  EXPECT_NE(server.request.find("Accept: text/event-stream\r\n"), std::string::npos);
}

TEST(LiveView, ARefusalIsTheEnd) {
  const std::string refusal = R"({"error":{"code":"unknown_queue","message":"there is none","hint":""}})";
  FakeServer server(
      {"HTTP/1.1 404 Not Found\r\nContent-Length: " + std::to_string(refusal.size()) + "\r\n\r\n" + refusal});
  auto view = LiveView::Open(server.options(), "/x");
  auto ran = view->Run({});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Code::kUnknownQueue);
  EXPECT_EQ(ran.error().message, "there is none");
}

TEST(LiveView, AnErrorEventIsTheEnd) {
  FakeServer server(
      {kStream +
       "event: view\ndata: 1\n\nevent: error\ndata: {\"error\":{\"code\":\"unknown_job\",\"message\":\"gone\"}}\n\n"});
  auto view = LiveView::Open(server.options(), "/x");
  auto ran = view->Run({});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Code::kUnknownJob);
}

TEST(LiveView, StopEndsItWhileNothingComes) {
  FakeServer server({kStream});
  auto view = LiveView::Open(server.options(), "/x");
  std::thread stopper([&] {
    std::this_thread::sleep_for(milliseconds(20));
    view->Stop();
  });
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_TRUE(view->Run({}));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));  // the timeout is 90 s
  stopper.join();
}

TEST(LiveView, StopEndsItWhileNobodyIsThere) {
  auto view = LiveView::Open({.server = "http://127.0.0.1:1"}, "/x");
  ASSERT_TRUE(view);
  int lost = 0;
  EXPECT_TRUE(view->Run({.on_lost = [&](const Error&) {
    if (++lost == 2) view->Stop();
  }}));
  EXPECT_EQ(lost, 2);
}

TEST(LiveView, RefusesAPathThatIsNone) {
  EXPECT_FALSE(LiveView::Open({}, "x"));
  EXPECT_FALSE(LiveView::Open({}, "/x\r\nHost: y"));
  EXPECT_FALSE(LiveView::Open({.server = "nonsense://"}, "/x"));
}

}  // namespace
}  // namespace allotter
