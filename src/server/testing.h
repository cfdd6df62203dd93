// SPDX-License-Identifier: Apache-2.0
// For tests: a server in this process on a free port, and clients that talk to it over real sockets. What they are made
// of is in testing.cc: it takes half a minute to compile.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/verb.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/ops/log.h"
#include "server/server.h"

namespace allot::testing {

namespace beast = boost::beast;
namespace http = beast::http;
namespace asio = boost::asio;
using tcp = asio::ip::tcp;

// A parsed value: `json["job"]["state"]`. Missing fields give a null.
class Json {
 public:
  Json() = default;
  explicit Json(std::string_view text) : parser_(std::make_shared<simdjson::dom::parser>()) {
    if (parser_->parse(text.data(), text.size()).get(element_) == simdjson::SUCCESS) there_ = true;
  }
  Json operator[](std::string_view key) const {
    Json out(*this);
    simdjson::dom::element at;
    out.there_ = there_ && element_.at_key(key).get(at) == simdjson::SUCCESS;
    if (out.there_) out.element_ = at;
    return out;
  }
  Json operator[](std::size_t index) const {
    Json out(*this);
    simdjson::dom::element at;
    simdjson::dom::array array;
    out.there_ = there_ && element_.get(array) == simdjson::SUCCESS && array.at(index).get(at) == simdjson::SUCCESS;
    if (out.there_) out.element_ = at;
    return out;
  }
  bool there() const { return there_; }
  bool null() const { return !there_ || element_.is_null(); }
  std::string str() const {
    std::string_view text;
    if (there_ && element_.get(text) == simdjson::SUCCESS) return std::string(text);
    return "";
  }
  std::int64_t num() const {
    std::int64_t n = -1;
    if (there_ && element_.get(n) == simdjson::SUCCESS) return n;
    return -1;
  }
  bool flag() const {
    bool b = false;
    return there_ && element_.get(b) == simdjson::SUCCESS && b;
  }
  std::size_t size() const {
    simdjson::dom::array array;
    return there_ && element_.get(array) == simdjson::SUCCESS ? array.size() : 0;
  }
  // Minified.
  std::string text() const { return there_ ? std::string(simdjson::minify(element_)) : ""; }

 private:
  std::shared_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::element element_;
  bool there_ = false;
};

struct Answer {
  int status = 0;
  std::string body;
  Json json;
  std::string head;  // the fields, a line each
  std::string code() const { return json["error"]["code"].str(); }
};

// One kept-alive connection.
class HttpClient {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;
  explicit HttpClient(std::uint16_t port) : port_(port), socket_(io_) { Connect(); }

  Answer Do(http::verb verb, const std::string& target, const std::string& body = "",
            const std::string& type = "application/json", const Fields& more = {});
  Answer Get(const std::string& target) { return Do(http::verb::get, target); }
  Answer GetWith(const std::string& target, const Fields& more) { return Do(http::verb::get, target, "", "", more); }
  Answer Post(const std::string& target, const std::string& body = "", const std::string& type = "application/json") {
    return Do(http::verb::post, target, body, type);
  }
  // Begins to watch: the answer's head.
  std::string Watch(const std::string& target);
  // The next event, pings left out: its name, and its data.
  std::pair<std::string, Json> NextEvent();
  // Bytes as they are.
  void Write(std::string_view bytes);
  // The next answer.
  Answer Read();
  void Connect();
  // Everything until the server closes.
  std::string ReadAll();
  // Until `mark` was read.
  std::string ReadUntil(const std::string& mark);
  tcp::socket& socket() { return socket_; }
  std::string token;

 private:
  const std::uint16_t port_;
  asio::io_context io_;
  tcp::socket socket_;
  beast::flat_buffer buffer_;
  std::string rest_;
  bool closed_ = false;
};

class WsClient {
 public:
  WsClient(std::uint16_t port, const std::string& path, const std::string& token = "");
  WsClient(WsClient&& other) noexcept;
  ~WsClient();
  bool open() const { return open_; }
  void Send(std::string_view text);
  // Empty when the connection is closed.
  std::string ReadText();
  Json Read() { return Json(ReadText()); }
  // Reads until a message has that field.
  Json ReadUntil(std::string_view field);
  // Hard, as by a crash.
  void Cut();
  void Close();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  bool open_ = false;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "allot-server-XXXXXX").string();
    data_ = ::mkdtemp(pattern.data());
    config_.listen = {"127.0.0.1", 0};
    config_.data = data_;
    config_.network_threads = 1;
    config_.log_level = LogLevel::kOff;
    static const bool quiet = [this] {
      InitLog(config_);
      return true;
    }();
    static_cast<void>(quiet);
  }
  ~ServerTest() override {
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(data_, ignored);
  }
  void SetUp() override { Start(); }
  void Start() {
    Result<std::unique_ptr<Server>> server = Server::Start(config_, web_);
    ASSERT_TRUE(server.ok()) << server.error().message;
    server_ = std::move(*server);
  }
  void Stop() {
    server_->Stop();
    EXPECT_EQ(server_->Wait(), 0);
    server_.reset();
  }
  std::uint16_t port() const { return server_->port(); }
  HttpClient Http() { return HttpClient(port()); }
  WsClient Worker() { return WsClient(port(), "/v1/queues/default/work"); }
  // Says hello and gives the welcome.
  static Json Greet(WsClient& worker, const std::string& more = "") {
    worker.Send(R"({"hello":{"name":"w","tags":["t"],"slots":4)" + more + "}}");
    return worker.Read()["welcome"];
  }
  std::string Submit(HttpClient& http, const std::string& spec) {
    const Answer answer = http.Post("/v1/queues/default/jobs", spec);
    EXPECT_EQ(answer.status, 201) << answer.body;
    return answer.json["job"]["id"].str();
  }
  // `{"job":…,"index":…,"lease":…` of an assignment, without the closing brace.
  static std::string Ref(const Json& task) {
    return R"({"job":")" + task["job"].str() + R"(","index":)" + std::to_string(task["index"].num()) + R"(,"lease":")" +
           task["lease"].str() + "\"";
  }

  std::string data_;
  Config config_;
  std::span<const WebAsset> web_;
  std::unique_ptr<Server> server_;
};

inline const std::string kQueue = "/v1/queues/default";
inline const std::string kJobs = "/v1/queues/default/jobs";
inline const std::string kWorkers = "/v1/queues/default/workers";
inline const std::string kLimits = "/v1/queues/default/limits";

}  // namespace allot::testing
