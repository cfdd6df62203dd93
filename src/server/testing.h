// For tests: a server in this process on a free port, and clients that talk to it over real sockets.
#pragma once

#include <gtest/gtest.h>
#include <simdjson.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/log.h"
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
            const std::string& type = "application/json", const Fields& more = {}) {
    http::request<http::string_body> request{verb, target, 11};
    request.set(http::field::host, "127.0.0.1:" + std::to_string(port_));
    if (!token.empty()) request.set(http::field::authorization, "Bearer " + token);
    if (!body.empty()) request.set(http::field::content_type, type);
    for (const auto& [name, value] : more) request.set(name, value);
    request.body() = body;
    request.prepare_payload();
    if (closed_) Connect();
    http::write(socket_, request);
    return Read();
  }
  Answer Get(const std::string& target) { return Do(http::verb::get, target); }
  Answer GetWith(const std::string& target, const Fields& more) { return Do(http::verb::get, target, "", "", more); }
  // Begins to watch: the answer's head.
  std::string Watch(const std::string& target) {
    std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n";
    if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
    Write(request + "\r\n");
    return ReadUntil("\r\n\r\n");
  }
  // The next event, pings left out: its name, and its data.
  std::pair<std::string, Json> NextEvent() {
    for (;;) {
      const std::string text = ReadUntil("\n\n");
      if (text.empty()) return {};
      if (text[0] == ':') continue;
      const std::size_t line = text.find('\n');
      return {text.substr(7, line - 7), Json(text.substr(line + 7))};
    }
  }
  Answer Post(const std::string& target, const std::string& body = "", const std::string& type = "application/json") {
    return Do(http::verb::post, target, body, type);
  }
  // Bytes as they are.
  void Write(std::string_view bytes) {
    if (closed_) Connect();
    asio::write(socket_, asio::buffer(bytes.data(), bytes.size()));
  }
  Answer Read() {
    http::response_parser<http::string_body> parser;
    parser.body_limit(boost::none);
    beast::error_code ec;
    http::read(socket_, buffer_, parser, ec);
    Answer answer;
    if (ec) return answer;
    answer.status = static_cast<int>(parser.get().result_int());
    answer.body = parser.get().body();
    for (const auto& field : parser.get()) {
      answer.head += std::string(field.name_string()) + ": " + std::string(field.value()) + "\n";
    }
    answer.json = Json(answer.body);
    if (!parser.get().keep_alive()) closed_ = true;  // connects again when it is used again
    return answer;
  }
  void Connect() {
    beast::error_code ec;
    socket_.close(ec);
    buffer_.clear();
    closed_ = false;
    socket_.connect({asio::ip::make_address("127.0.0.1"), port_});
    socket_.set_option(tcp::no_delay(true));
  }
  // Everything until the server closes.
  std::string ReadAll() {
    std::string all(static_cast<const char*>(buffer_.data().data()), buffer_.size());
    beast::error_code ec;
    asio::read(socket_, asio::dynamic_buffer(all), ec);
    return all;
  }
  // Until `mark` was read.
  std::string ReadUntil(const std::string& mark) {
    beast::error_code ec;
    std::string all;
    asio::read_until(socket_, asio::dynamic_buffer(rest_), mark, ec);
    const std::size_t at = rest_.find(mark);
    if (at == std::string::npos) return std::exchange(rest_, {});
    all = rest_.substr(0, at + mark.size());
    rest_.erase(0, at + mark.size());
    return all;
  }
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
  WsClient(std::uint16_t port, const std::string& path, const std::string& token = "") : ws_(io_) {
    ws_.next_layer().connect({asio::ip::make_address("127.0.0.1"), port});
    ws_.next_layer().set_option(tcp::no_delay(true));
    if (!token.empty()) {
      ws_.set_option(beast::websocket::stream_base::decorator(
          [token](beast::websocket::request_type& r) { r.set(http::field::authorization, "Bearer " + token); }));
    }
    beast::error_code ec;
    ws_.handshake("127.0.0.1:" + std::to_string(port), path, ec);
    open_ = !ec;
  }
  bool open() const { return open_; }
  void Send(std::string_view text) {
    beast::error_code ec;
    ws_.write(asio::buffer(text.data(), text.size()), ec);
  }
  // Empty when the connection is closed.
  std::string ReadText() {
    beast::flat_buffer buffer;
    beast::error_code ec;
    ws_.read(buffer, ec);
    if (ec) return "";
    return beast::buffers_to_string(buffer.data());
  }
  Json Read() { return Json(ReadText()); }
  // Reads until a message has that field.
  Json ReadUntil(std::string_view field) {
    for (;;) {
      const std::string text = ReadText();
      if (text.empty()) return Json();
      Json json(text);
      if (json[field].there()) return json;
    }
  }
  // Hard, as by a crash.
  void Cut() {
    beast::error_code ec;
    ws_.next_layer().close(ec);
  }
  void Close() {
    beast::error_code ec;
    ws_.close(beast::websocket::close_code::normal, ec);
  }

 private:
  asio::io_context io_;
  beast::websocket::stream<tcp::socket> ws_;
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

inline const std::string kJobs = "/v1/queues/default/jobs";
inline const std::string kWorkers = "/v1/queues/default/workers";

}  // namespace allot::testing
