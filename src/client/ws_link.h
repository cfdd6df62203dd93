// SPDX-License-Identifier: Apache-2.0
// One WebSocket to the server, as callbacks: plain or TLS behind one interface.
//
// Threading: confined to the io_context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/transport.h"
#include "client/url.h"

namespace allotter {

class WsLink {
 public:
  struct Callbacks {
    std::function<void()> on_open;
    std::function<void(std::string_view text)> on_message;  // with SIMDJSON_PADDING readable bytes behind it
    std::function<void()> on_written;
    std::function<void()> on_control;             // a ping or pong came
    std::function<void(const Error&)> on_closed;  // once, and nothing after it
  };
  virtual ~WsLink() = default;
  virtual void Open() = 0;
  // REQUIRES: open, and the one before was written.
  virtual void Write(std::string&& text) = 0;
  // Gives the last written text's memory back, for the next one.
  virtual std::string TakeBuffer() = 0;
  virtual void Ping() = 0;
  // Drops the connection. No callback follows.
  virtual void Close() = 0;
};

// `tls` may be null for a plain endpoint.
std::shared_ptr<WsLink> MakeWsLink(boost::asio::io_context& context, const Endpoint& endpoint,
                                   const std::shared_ptr<SSL_CTX>& tls, const std::string& path,
                                   const std::string& token, WsLink::Callbacks callbacks);

}  // namespace allotter
