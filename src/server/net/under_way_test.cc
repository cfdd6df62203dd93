// SPDX-License-Identifier: Apache-2.0
// What is under way has memory of its own, and an end: bodies, uploads, unread answers, closes that nobody answers.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/sanitizers.h"
#include "server/testing.h"
#include "server/testing_tokens.h"

namespace allot::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// What comes until the peer closes or the time is over; true: it closed.
bool ReadToEnd(tcp::socket& socket, std::string& got, std::chrono::milliseconds most) {
  const auto until = Clock::now() + most;
  std::array<char, 64 * 1024> piece{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd wait{socket.native_handle(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
    const ssize_t n = ::recv(socket.native_handle(), piece.data(), piece.size(), 0);
    if (n <= 0) return true;
    got.append(piece.data(), static_cast<std::size_t>(n));
  }
}

struct TokenClient : HttpClient {
  TokenClient(std::uint16_t port, const std::string& its_token) : HttpClient(port) { token = its_token; }
};

class UnderWayTest : public ServerTest {
 protected:
  void SetUp() override {
    config_.request_timeout = 20s;
    config_.write_timeout = 2s;
    admin_ = MakeToken(config_, "admin", {Scope::kAdmin, Scope::kSubmit, Scope::kRead, Scope::kWork});
    other_ = MakeToken(config_, "other", {Scope::kSubmit, Scope::kRead, Scope::kWork});
    Start();
  }
  TokenClient As(const std::string& token) { return TokenClient(port(), token); }
  std::string Head(const std::string& request, const std::string& fields) const {
    return request + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + admin_ + "\r\n" + fields + "\r\n";
  }
  // Those of `clients` that were refused within the time.
  static int Refused(std::vector<std::unique_ptr<HttpClient>>& clients, std::chrono::milliseconds most) {
    const auto until = Clock::now() + most * (ALLOT_SANITIZED ? 5 : 1);  // it reads slowly then
    int refused = 0;
    for (auto& client : clients) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
      pollfd wait{client->socket().native_handle(), POLLIN, 0};
      if (::poll(&wait, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 1))) <= 0) continue;
      std::array<char, 64> text{};
      ::recv(client->socket().native_handle(), text.data(), text.size() - 1, MSG_PEEK);
      refused += std::string(text.data()).find(" 503 ") != std::string::npos ? 1 : 0;
    }
    return refused;
  }
  std::string admin_, other_;
};

TEST_F(UnderWayTest, BodiesCountUntilTheyAreAnswered) {
  TokenClient http = As(admin_);
  const std::string job = Submit(http, R"({"tag":"nobody"})");
  const std::string padding(15 * 1024 * 1024, ' ');
  // Of one token, as many as fit into half of the memory; each waits, with its body, for the end of the job.
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 12; ++i) {
    waiting.push_back(std::make_unique<HttpClient>(port()));
    waiting.back()->Write(
        Head("GET " + kJobs + "/" + job + "?wait_ms=60000",
             "Content-Type: application/json\r\nContent-Length: " + std::to_string(padding.size()) + "\r\n"));
    beast::error_code ec;  // it may be refused before it is all sent
    asio::write(waiting.back()->socket(), asio::buffer(padding), ec);
  }
  EXPECT_GE(Refused(waiting, 1s), 3);
  // Another token has room, and with the clients the memory is there again.
  const std::string large = R"({"tag":"nobody","payload":")" + std::string(1'000'000, 'x') + R"("})";
  TokenClient another = As(other_);
  Submit(another, large);
  waiting.clear();
  int status = 0;
  for (int i = 0; i < 200 && status != 201; ++i) {
    TokenClient again = As(admin_);
    status = again.Post(kJobs, large).status;
    if (status != 201) std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(status, 201);
}

TEST_F(UnderWayTest, APullThatWaitsHasNoBodyAnyMore) {
  TokenClient http = As(admin_);
  std::vector<std::unique_ptr<HttpClient>> waiting;
  for (int i = 0; i < 12; ++i) {
    const Json welcome = http.Post(kWorkers, R"({"name":"w","tags":["none"],"slots":1})").json;
    std::string body = R"({"pull":1,"wait_ms":60000,"key":")" + welcome["key"].str() + "\"}";
    body.append(15 * 1024 * 1024, ' ');
    waiting.push_back(std::make_unique<HttpClient>(port()));
    waiting.back()->Write(
        Head("POST " + kWorkers + "/" + welcome["worker"].str() + "/pull",
             "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n"));
    beast::error_code ec;
    asio::write(waiting.back()->socket(), asio::buffer(body), ec);
    EXPECT_FALSE(ec) << i;
    // One at a time: what is being read counts.
    for (int n = 0; n < 500 && http.Get(kWorkers + "/" + welcome["worker"].str()).json["credit"].num() != 1; ++n)
      std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(Refused(waiting, 300ms), 0);
}

TEST_F(UnderWayTest, UnfinishedLinesOfUploadsCount) {
  const std::string line = "\"" + std::string(1'000'000, 'x');
  std::vector<std::unique_ptr<HttpClient>> uploads;
  for (int i = 0; i < 150; ++i) {
    uploads.push_back(std::make_unique<HttpClient>(port()));
    uploads.back()->Write(Head("POST " + kJobs, "Content-Type: application/x-ndjson\r\nContent-Length: 100000000\r\n"));
    beast::error_code ec;
    asio::write(uploads.back()->socket(), asio::buffer("{\"tag\":\"t\"}\n" + line), ec);
  }
  const int refused = Refused(uploads, 1s);
  EXPECT_GE(refused, 15);
  EXPECT_LT(refused, 40);
  // Whoever has room goes on.
  TokenClient another = As(other_);
  EXPECT_EQ(another.Post(kJobs, "{\"tag\":\"t\"}\n" + line + "\"\n", "application/x-ndjson").status, 201);
}

TEST_F(UnderWayTest, AnUploadThatIsLongerThanItsMemoryIsTakenAllTheSame) {
  std::string body = "{\"tag\":\"t\"}\n";
  for (int i = 0; i < 300; ++i) body += "\"" + std::string(100'000, 'x') + "\"\n";
  TokenClient http = As(admin_);
  const Answer answer = http.Post(kJobs, body, "application/x-ndjson");
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(answer.json["job"]["count"].num(), 300);
}

// While its first line is on the way through the queue: the rest is asked for when nobody sends it any more.
TEST_F(UnderWayTest, AnUploadWhoseClientLeavesAtOnceEndsAlone) {
  for (int i = 0; i < 200; ++i) {
    HttpClient http(port());
    http.Write(Head("POST " + kJobs, "Content-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n") +
               "{\"tag\":\"gone\"}\n\"one\"\n");
    if (i % 2 == 0) http.socket().shutdown(asio::socket_base::shutdown_send);
    beast::error_code ec;
    http.socket().close(ec);
  }
  TokenClient http = As(admin_);
  for (int i = 0; i < 1000 && http.Get(kJobs + "?tag=gone").json["jobs"].size() > 0; ++i) {
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(http.Get(kJobs + "?tag=gone").json["jobs"].size(), 0u);
}

TEST_F(UnderWayTest, PullsThatAreNotReadGoBackWhereThereIsNoRoom) {
  TokenClient http = As(admin_);
  const std::string job =
      Submit(http, R"({"tag":"big","count":200,"payload":")" + std::string(1'000'000, 'x') + R"("})");
  std::vector<std::unique_ptr<HttpClient>> stuck;
  for (int i = 0; i < 12; ++i) {
    const Json welcome = http.Post(kWorkers, R"({"name":"w","tags":["big"],"slots":15})").json;
    const std::string body = R"({"pull":15,"key":")" + welcome["key"].str() + "\"}";
    stuck.push_back(std::make_unique<HttpClient>(port()));
    stuck.back()->socket().set_option(asio::socket_base::receive_buffer_size(4096));
    stuck.back()->Write(
        Head("POST " + kWorkers + "/" + welcome["worker"].str() + "/pull",
             "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n") +
        body);
  }
  // Each of them is answered, but 180 MB take their time with sanitizers.
  EXPECT_GE(Refused(stuck, 6s), 3);
  // Those that did not leave are free for others. 12 times 15 were given out.
  std::int64_t running = 180;
  for (int i = 0; i < 100 && running > 135; ++i) {
    running = http.Get(kJobs + "/" + job).json["running"].num();
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_LE(running, 135);
}

// A frame of a client, with a mask of zeros.
std::string Frame(int opcode, const std::string& text) {
  std::string frame(1, static_cast<char>(0x80 | opcode));
  frame.push_back(static_cast<char>(0x80 | text.size()));
  return frame + std::string(4, '\0') + text;
}

TEST_F(UnderWayTest, ACloseThatNobodyAnswersEndsAllTheSame) {
  TokenClient http = As(admin_);
  Submit(http, R"({"tag":"big","count":20,"payload":")" + std::string(1'000'000, 'x') + R"("})");
  HttpClient raw(port());
  raw.Write(Head("GET /v1/queues/default/work",
                 "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                 "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"));
  ASSERT_NE(raw.ReadUntil("\r\n\r\n").find("101"), std::string::npos);
  raw.Write(Frame(1, R"({"hello":{"name":"w","tags":["big"],"slots":20}})"));
  raw.Write(Frame(1, R"({"pull":20})"));
  std::this_thread::sleep_for(700ms);  // until a message is stuck on its way
  raw.Write(Frame(2, "binary"));
  std::this_thread::sleep_for(300ms);
  // It is read to its end, and so is the close, which is not answered.
  std::string got;
  EXPECT_TRUE(ReadToEnd(raw.socket(), got, 10s)) << got.size();
  EXPECT_NE(got.find("messages are text"), std::string::npos);
}

TEST_F(UnderWayTest, AnExpensiveBatchHoldsNoNetworkThread) {
  // Each has as many patterns as are looked at closely, and each of those takes long to compile.
  std::string batch = R"({"jobs":[)";
  for (int i = 0; i < 400; ++i) {
    std::string requirements;
    for (int n = 0; n < 50; ++n) {
      requirements += n == 0 ? "" : " || ";
      requirements += "regexp(\\\"x{80}y" + std::to_string(n) + "\\\", TARGET.name)";
    }
    batch += i == 0 ? "" : ",";
    batch += R"({"tag":"t","requirements":")" + requirements + "\"}";
  }
  batch += "]}";
  const auto began = Clock::now();
  std::atomic<bool> over{false};
  std::int64_t took = 0;
  std::thread submitter([&] {
    TokenClient http = As(other_);
    const Answer answer = http.Post(kJobs + "/batch", batch);
    EXPECT_EQ(answer.status, 201) << answer.body.substr(0, 300);
    took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began).count();
    over = true;
  });
  HttpClient http = Http();
  std::int64_t longest = 0;
  while (!over) {
    const auto asked = Clock::now();
    EXPECT_EQ(http.Get("/livez").status, 200);
    longest = std::max<std::int64_t>(
        longest, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - asked).count());
    std::this_thread::sleep_for(1ms);
  }
  submitter.join();
  RecordProperty("batch_ms", static_cast<int>(took));
  RecordProperty("longest_ms", static_cast<int>(longest));
  EXPECT_LE(longest, std::max<std::int64_t>(took / 2, 50)) << "of " << took;
}

class SlowUploadTest : public ServerTest {
  void SetUp() override {
    config_.request_timeout = 600ms;
    Start();
  }
};

TEST_F(SlowUploadTest, ALineHasToComeInTimeHoweverManyBytesOfItDo) {
  HttpClient http = Http();
  http.Write(
      "POST /v1/queues/default/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
      "Content-Length: 1000\r\n\r\n{\"tag\":\"t\"}\n");
  // Whole lines may come as slowly as that.
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(120ms);
    http.Write("1\n");
  }
  for (int i = 0; i < 40; ++i) {
    pollfd wait{http.socket().native_handle(), POLLIN, 0};
    if (::poll(&wait, 1, 120) > 0) break;
    beast::error_code ec;
    asio::write(http.socket(), asio::buffer("1", 1), ec);
    ASSERT_LT(i, 39) << "it goes on";
  }
  EXPECT_EQ(http.Read().code(), "timed_out");
}

}  // namespace
}  // namespace allot::testing
