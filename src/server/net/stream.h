// SPDX-License-Identifier: Apache-2.0
// A connection as the library knows it, with or without TLS: what a Socket (socket.h) is made of.
//
// Threading: confined to the network thread of its io_context.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <memory>
#include <utility>

namespace allot {

namespace asio = boost::asio;
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

  // REQUIRES: is_tls().
  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    tls_->async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    tls_->async_write_some(buffers, std::forward<Handler>(handler));
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
};

}  // namespace allot
