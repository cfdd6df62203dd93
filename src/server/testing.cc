// SPDX-License-Identifier: Apache-2.0
#include "server/testing.h"

#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>

namespace allot::testing {

Answer HttpClient::Do(http::verb verb, const std::string& target, const std::string& body, const std::string& type,
                      const Fields& more) {
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

std::string HttpClient::Watch(const std::string& target) {
  std::string request = "GET " + target + " HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n";
  if (!token.empty()) request += "Authorization: Bearer " + token + "\r\n";
  Write(request + "\r\n");
  return ReadUntil("\r\n\r\n");
}

std::pair<std::string, Json> HttpClient::NextEvent() {
  for (;;) {
    const std::string text = ReadUntil("\n\n");
    if (text.empty()) return {};
    if (text[0] == ':') continue;
    const std::size_t line = text.find('\n');
    return {text.substr(7, line - 7), Json(text.substr(line + 7))};
  }
}

void HttpClient::Write(std::string_view bytes) {
  if (closed_) Connect();
  asio::write(socket_, asio::buffer(bytes.data(), bytes.size()));
}

Answer HttpClient::Read() {
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

void HttpClient::Connect() {
  beast::error_code ec;
  socket_.close(ec);
  buffer_.clear();
  closed_ = false;
  socket_.connect({asio::ip::make_address("127.0.0.1"), port_});
  socket_.set_option(tcp::no_delay(true));
}

std::string HttpClient::ReadAll() {
  std::string all(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  beast::error_code ec;
  asio::read(socket_, asio::dynamic_buffer(all), ec);
  return all;
}

std::string HttpClient::ReadUntil(const std::string& mark) {
  beast::error_code ec;
  asio::read_until(socket_, asio::dynamic_buffer(rest_), mark, ec);
  const std::size_t at = rest_.find(mark);
  if (at == std::string::npos) return std::exchange(rest_, {});
  std::string all = rest_.substr(0, at + mark.size());
  rest_.erase(0, at + mark.size());
  return all;
}

struct WsClient::Stream {
  asio::io_context io;
  beast::websocket::stream<tcp::socket> ws{io};
};

WsClient::WsClient(std::uint16_t port, const std::string& path, const std::string& token)
    : stream_(std::make_unique<Stream>()) {
  auto& ws = stream_->ws;
  ws.next_layer().connect({asio::ip::make_address("127.0.0.1"), port});
  ws.next_layer().set_option(tcp::no_delay(true));
  if (!token.empty()) {
    ws.set_option(beast::websocket::stream_base::decorator(
        [token](beast::websocket::request_type& r) { r.set(http::field::authorization, "Bearer " + token); }));
  }
  beast::error_code ec;
  ws.handshake("127.0.0.1:" + std::to_string(port), path, ec);
  open_ = !ec;
}

WsClient::WsClient(WsClient&& other) noexcept = default;
WsClient::~WsClient() = default;

void WsClient::Send(std::string_view text) {
  beast::error_code ec;
  stream_->ws.write(asio::buffer(text.data(), text.size()), ec);
}

std::string WsClient::ReadText() {
  beast::flat_buffer buffer;
  beast::error_code ec;
  stream_->ws.read(buffer, ec);
  if (ec) return "";
  return beast::buffers_to_string(buffer.data());
}

Json WsClient::ReadUntil(std::string_view field) {
  for (;;) {
    const std::string text = ReadText();
    if (text.empty()) return Json();
    Json json(text);
    if (json[field].there()) return json;
  }
}

void WsClient::Cut() {
  beast::error_code ec;
  stream_->ws.next_layer().close(ec);
}

void WsClient::Close() {
  beast::error_code ec;
  stream_->ws.close(beast::websocket::close_code::normal, ec);
}

}  // namespace allot::testing
