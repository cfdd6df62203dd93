// SPDX-License-Identifier: Apache-2.0
#include "server/peers/upstream.h"

#include <sys/socket.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cerrno>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "base/close_on_exec.h"
#include "base/text.h"
#include "server/ops/config.h"

namespace allot {
namespace {

namespace http = beast::http;
using asio::ip::tcp;

constexpr auto kWithError = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kUpstreamReadBytes = 16 * 1024;
constexpr std::size_t kMaxUpstreamHead = 64 * 1024;

}  // namespace

Result<NodeAddress> NodeAddress::Parse(std::string_view url) {
  const Error bad{Code::kBadValue, "is not an address like `http://node1.example:7420`",
                  "http:// or https://, a host and a port"};
  NodeAddress address;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    address.tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return bad;
  }
  if (rest.ends_with("/")) rest.remove_suffix(1);
  if (rest.empty()) return bad;
  Result<Endpoint> endpoint = ParseEndpoint(rest);
  if (!endpoint || endpoint->host == "0.0.0.0" || endpoint->host == "::" || endpoint->port == 0) return bad;
  address.host = endpoint->host;
  address.port = std::to_string(endpoint->port);
  address.authority = endpoint->Text();
  return address;
}

Upstream::Upstream(asio::io_context& io, NodeAddress address, asio::ssl::context* tls)
    : io_(io), address_(std::move(address)), socket_(io) {
  if (address_.tls && tls != nullptr) tls_.emplace(socket_, *tls);
}

void Upstream::Close() {
  closed_ = true;
  open_ = false;
  error_code ignored;
  socket_.close(ignored);
}

bool Upstream::Alive() const {
  if (!open_) return false;
  char byte = 0;
  const ssize_t n = ::recv(const_cast<tcp::socket&>(socket_).native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

asio::awaitable<bool> Upstream::Open() {
  error_code ec;
  const asio::ip::address literal = asio::ip::make_address(address_.host, ec);
  if (!ec) {
    const tcp::endpoint endpoint(literal, static_cast<std::uint16_t>(std::stoi(address_.port)));
    std::tuple<error_code> connected = co_await socket_.async_connect(endpoint, kWithError);
    ec = std::get<0>(connected);
  } else {
    tcp::resolver resolver(io_);
    std::tuple<error_code, tcp::resolver::results_type> found =
        co_await resolver.async_resolve(address_.host, address_.port, kWithError);
    ec = std::get<0>(found);
    if (!ec) ec = asio::error::host_unreachable;
    for (const auto& entry : std::get<1>(found)) {
      if (closed_) co_return false;
      error_code ignored;
      socket_.close(ignored);
      const tcp::endpoint endpoint = entry.endpoint();
      std::tuple<error_code> connected = co_await socket_.async_connect(endpoint, kWithError);
      ec = std::get<0>(connected);
      if (!ec) break;
    }
  }
  if (ec || closed_) co_return false;
  CloseOnExec(socket_.native_handle());
  socket_.set_option(tcp::no_delay(true), ec);
  if (!address_.tls) co_return true;
  if (!tls_) co_return false;
  if (SSL_set_tlsext_host_name(tls_->native_handle(), address_.host.c_str()) != 1) co_return false;
  tls_->set_verify_mode(asio::ssl::verify_peer, ec);
  tls_->set_verify_callback(asio::ssl::host_name_verification(address_.host), ec);
  std::tuple<error_code> shaken = co_await tls_->async_handshake(asio::ssl::stream_base::client, kWithError);
  co_return !std::get<0>(shaken) && !closed_;
}

asio::awaitable<bool> Upstream::Connect(std::chrono::milliseconds patience) {
  const auto timer = std::make_shared<asio::steady_timer>(io_, patience);
  const auto connecting = std::make_shared<bool>(true);
  timer->async_wait([self = shared_from_this(), timer, connecting](error_code) {
    if (*connecting) self->Close();
  });
  open_ = co_await Open();
  *connecting = false;
  timer->cancel();
  if (!open_) Close();
  co_return open_;
}

asio::awaitable<bool> Upstream::Write(std::string_view bytes) {
  if (!open_) co_return false;
  const asio::const_buffer buffer(bytes.data(), bytes.size());
  std::tuple<error_code, std::size_t> written;
  if (tls_) {
    written = co_await asio::async_write(*tls_, buffer, kWithError);
  } else {
    written = co_await asio::async_write(socket_, buffer, kWithError);
  }
  if (std::get<0>(written)) Close();
  co_return open_;
}

asio::awaitable<bool> Upstream::Read() {
  if (!open_) co_return false;
  const asio::mutable_buffer buffer = in.prepare(kUpstreamReadBytes);
  std::tuple<error_code, std::size_t> read;
  if (tls_) {
    read = co_await tls_->async_read_some(buffer, kWithError);
  } else {
    read = co_await socket_.async_read_some(buffer, kWithError);
  }
  if (std::get<0>(read)) {
    Close();
    co_return false;
  }
  in.commit(std::get<1>(read));
  co_return true;
}

asio::awaitable<std::optional<UpstreamHead>> ReadHead(Upstream& upstream) {
  http::response_parser<http::empty_body> parser;
  parser.header_limit(kMaxUpstreamHead);
  parser.skip(true);
  for (;;) {
    if (upstream.in.size() > 0) {
      error_code ec;
      const std::size_t used = parser.put(upstream.in.data(), ec);
      upstream.in.consume(used);
      if (ec && ec != http::error::need_more) co_return std::nullopt;
      if (parser.is_header_done()) break;
    }
    const bool more = co_await upstream.Read();
    if (!more) co_return std::nullopt;
  }
  const auto& message = parser.get();
  UpstreamHead head;
  head.status = static_cast<int>(message.result_int());
  head.keep_alive = message.keep_alive();
  head.chunked = message.chunked();
  for (const auto& field : message) {
    const std::string_view value(field.value().data(), field.value().size());
    switch (field.name()) {
      case http::field::content_length:
        head.length = static_cast<std::size_t>(std::strtoull(std::string(value).c_str(), nullptr, 10));
        break;
      case http::field::content_type:
        head.type = value;
        break;
      case http::field::cache_control:
        head.cache = value;
        break;
      case http::field::connection:
      case http::field::keep_alive:
      case http::field::transfer_encoding:
      case http::field::www_authenticate:
      case http::field::date:
        break;
      default:
        head.extra.append(field.name_string().data(), field.name_string().size());
        head.extra.append(": ").append(value).append("\r\n");
    }
  }
  if (head.status == 204 || head.status == 304) head.length = 0;
  co_return head;
}

asio::awaitable<bool> ReadBody(Upstream& upstream, std::size_t length, std::string& body) {
  for (;;) {
    if (upstream.in.size() >= length) break;
    const bool more = co_await upstream.Read();
    if (!more) co_return false;
  }
  body.assign(static_cast<const char*>(upstream.in.data().data()), length);
  upstream.in.consume(length);
  co_return true;
}

asio::awaitable<void> Pause(std::chrono::milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  std::tuple<error_code> waited = co_await timer.async_wait(kWithError);
  static_cast<void>(waited);
}

}  // namespace allot
