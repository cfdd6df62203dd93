// SPDX-License-Identifier: Apache-2.0
#include "client/ws_link.h"

#include <simdjson.h>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include "base/bounds.h"
#include "base/close_on_exec.h"
#include "client/http.h"

namespace allotter {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using asio::ip::tcp;
using boost::system::error_code;

using Plain = tcp::socket;
using Tls = asio::ssl::stream<tcp::socket>;

template <class Stream>
class Link final : public WsLink, public std::enable_shared_from_this<Link<Stream>> {
 public:
  template <class... Args>
  Link(asio::io_context& context, const Endpoint& endpoint, std::string path, std::string token, Callbacks callbacks,
       Args&&... args)
      : resolver_(context),
        stream_(context, std::forward<Args>(args)...),
        endpoint_(endpoint),
        path_(std::move(path)),
        token_(std::move(token)),
        callbacks_(std::move(callbacks)) {}

  void Open() override {
    error_code ec;
    const auto address = asio::ip::make_address(endpoint_.host, ec);
    if (!ec) {  // the common case, and no thread for a look-up
      const tcp::endpoint at(address, static_cast<std::uint16_t>(std::stoul(endpoint_.port)));
      socket().open(at.protocol(), ec);
      if (!ec) allot::CloseOnExec(socket().native_handle());
      socket().async_connect(at, [self = this->shared_from_this()](error_code e) { self->Connected(e); });
      return;
    }
    resolver_.async_resolve(endpoint_.host, endpoint_.port,
                            [self = this->shared_from_this()](error_code e, const tcp::resolver::results_type& found) {
                              if (self->closed_) return;
                              if (e) return self->Fail(e);
                              asio::async_connect(self->socket(), found,
                                                  [self](error_code e2, const tcp::endpoint&) { self->Connected(e2); });
                            });
  }

  void Write(std::string&& text) override {
    out_ = std::move(text);
    stream_.async_write(asio::buffer(out_), [self = this->shared_from_this()](error_code e, std::size_t) {
      if (self->closed_) return;
      if (e) return self->Fail(e);
      self->callbacks_.on_written();
    });
  }

  std::string TakeBuffer() override { return std::move(out_); }

  void Ping() override {
    if (pinging_ || closed_) return;
    pinging_ = true;
    stream_.async_ping({}, [self = this->shared_from_this()](error_code) { self->pinging_ = false; });
  }

  void Close() override {
    if (closed_) return;
    closed_ = true;
    resolver_.cancel();
    error_code ignored;
    socket().shutdown(tcp::socket::shutdown_both, ignored);
    socket().close(ignored);
  }

 private:
  tcp::socket& socket() { return beast::get_lowest_layer(stream_); }

  void Connected(error_code e) {
    if (closed_) return;
    if (e) return Fail(e);
    error_code ignored;
    allot::CloseOnExec(socket().native_handle());
    socket().set_option(tcp::no_delay(true), ignored);
    if constexpr (std::is_same_v<Stream, Tls>) {
      SSL* ssl = stream_.next_layer().native_handle();
      asio::ip::make_address(endpoint_.host, e);
      if (e) {
        SSL_set1_host(ssl, endpoint_.host.c_str());
        SSL_set_tlsext_host_name(ssl, endpoint_.host.c_str());
      } else {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), endpoint_.host.c_str());
      }
      stream_.next_layer().async_handshake(asio::ssl::stream_base::client,
                                           [self = this->shared_from_this()](error_code e2) {
                                             if (self->closed_) return;
                                             if (e2) return self->Fail(e2);
                                             self->Upgrade();
                                           });
    } else {
      Upgrade();
    }
  }

  void Upgrade() {
    stream_.read_message_max(allot::bounds::kMaxMessageBytes);
    stream_.write_buffer_bytes(16 * 1024);
    stream_.auto_fragment(false);
    stream_.secure_prng(false);  // masks guard old proxies against chosen bytes, and the server is ours
    stream_.text(true);
    stream_.set_option(websocket::stream_base::decorator([token = token_](websocket::request_type& request) {
      if (!token.empty()) request.set(beast::http::field::authorization, "Bearer " + token);
    }));
    stream_.control_callback([this](websocket::frame_type kind, beast::string_view) {
      if (kind != websocket::frame_type::close && !closed_) callbacks_.on_control();
    });
    stream_.async_handshake(response_, endpoint_.authority, path_, [self = this->shared_from_this()](error_code e) {
      if (self->closed_) return;
      if (e == websocket::error::upgrade_declined) {
        return self->Fail(ErrorOfAnswer(static_cast<int>(self->response_.result_int()), self->response_.body()));
      }
      if (e) return self->Fail(e);
      self->response_ = {};
      self->callbacks_.on_open();
      if (!self->closed_) self->Read();
    });
  }

  void Read() {
    stream_.async_read(in_, [self = this->shared_from_this()](error_code e, std::size_t) {
      if (self->closed_) return;
      if (e) return self->Fail(e);
      self->in_.prepare(simdjson::SIMDJSON_PADDING);
      self->callbacks_.on_message({static_cast<const char*>(self->in_.data().data()), self->in_.size()});
      self->in_.clear();
      if (!self->closed_) self->Read();
    });
  }

  void Fail(error_code e) {
    const std::string peer = (endpoint_.tls ? "https://" : "http://") + endpoint_.authority;
    Fail(Unreachable(peer, e == websocket::error::closed ? "it closed the connection" : e.message()));
  }

  void Fail(const Error& error) {
    if (closed_) return;
    Close();
    callbacks_.on_closed(error);
  }

  tcp::resolver resolver_;
  websocket::stream<Stream, false> stream_;  // false: no compression
  const Endpoint endpoint_;
  const std::string path_;
  const std::string token_;
  const Callbacks callbacks_;
  websocket::response_type response_;
  beast::flat_buffer in_;
  std::string out_;
  bool pinging_ = false;
  bool closed_ = false;
};

}  // namespace

std::shared_ptr<WsLink> MakeWsLink(asio::io_context& context, const Endpoint& endpoint,
                                   const std::shared_ptr<SSL_CTX>& tls, const std::string& path,
                                   const std::string& token, WsLink::Callbacks callbacks) {
  if (!endpoint.tls) return std::make_shared<Link<Plain>>(context, endpoint, path, token, std::move(callbacks));
  SSL_CTX_up_ref(tls.get());
  asio::ssl::context shared(tls.get());  // takes the reference
  return std::make_shared<Link<Tls>>(context, endpoint, path, token, std::move(callbacks), shared);
}

}  // namespace allotter
