// SPDX-License-Identifier: Apache-2.0
// A connection's bytes, with or without TLS: one type for everything above it.
//
// Threading: confined to the network thread of its io_context.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/bind_handler.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <string>
#include <utility>

namespace allot {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

class Stream {
 public:
  using executor_type = asio::io_context::executor_type;
  using Socket = asio::basic_stream_socket<asio::ip::tcp, executor_type>;
  using Tls = asio::ssl::stream<Socket&>;

  // `tls` is null for a plain connection; otherwise begin with Handshake().
  Stream(Socket socket, asio::ssl::context* tls) : socket_(std::make_unique<Socket>(std::move(socket))) {
    if (tls != nullptr) tls_ = std::make_unique<Tls>(*socket_, *tls);
  }
  Stream(Stream&&) noexcept = default;
  Stream& operator=(Stream&&) noexcept = default;

  executor_type get_executor() { return socket_->get_executor(); }
  Socket& socket() { return *socket_; }
  bool is_tls() const { return tls_ != nullptr; }

  // REQUIRES: is_tls().
  template <typename Handler>
  void Handshake(Handler&& handler) {
    tls_->async_handshake(asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }

  // Bytes that were read too early: the next reads give these first.
  void Unread(std::string bytes) { unread_ = std::move(bytes); }
  std::string TakeUnread() { return std::exchange(unread_, {}); }

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    if (!unread_.empty()) {
      const std::size_t n = asio::buffer_copy(buffers, asio::buffer(unread_));
      unread_.erase(0, n);
      asio::post(get_executor(), beast::bind_handler(std::forward<Handler>(handler), error_code(), n));
    } else if (tls_) {
      tls_->async_read_some(buffers, std::forward<Handler>(handler));
    } else {
      socket_->async_read_some(buffers, std::forward<Handler>(handler));
    }
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    if (tls_) {
      tls_->async_write_some(buffers, std::forward<Handler>(handler));
    } else {
      socket_->async_write_some(buffers, std::forward<Handler>(handler));
    }
  }
  // Ends all operations; their handlers get an error.
  void Close() {
    error_code ignored;
    socket_->close(ignored);
  }
  void ShutdownSend() {
    error_code ignored;
    socket_->shutdown(Socket::shutdown_send, ignored);
  }

 private:
  // Behind pointers, so that a stream can move while TLS refers to its socket.
  std::unique_ptr<Socket> socket_;
  std::unique_ptr<Tls> tls_;
  std::string unread_;
};

// Found by Beast's WebSocket when it gives up.
inline void beast_close_socket(Stream& stream) { stream.Close(); }
// Found by Beast's WebSocket when it closes. A TLS close_notify would wait for a peer that may be gone.
inline void teardown(beast::role_type, Stream& stream, error_code& ec) {
  stream.socket().shutdown(Stream::Socket::shutdown_both, ec);
  stream.socket().close(ec);
}
template <typename Handler>
void async_teardown(beast::role_type, Stream& stream, Handler&& handler) {
  error_code ec;
  stream.socket().shutdown(Stream::Socket::shutdown_both, ec);
  ec = {};
  asio::post(stream.get_executor(), beast::bind_handler(std::forward<Handler>(handler), ec));
}

}  // namespace allot
