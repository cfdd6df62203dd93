// SPDX-License-Identifier: Apache-2.0
// A connection to another node, with or without TLS.
//
// Threading: confined to the network thread of its io_context.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace allot {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;

// Where a node is, from its `--advertise`.
struct NodeAddress {
  std::string host, port;
  bool tls = false;
  std::string authority;  // for `Host`

  // `http://HOST:PORT` or `https://HOST:PORT`, and nothing after it. kBadValue otherwise.
  static Result<NodeAddress> Parse(std::string_view url);
};

class Upstream : public std::enable_shared_from_this<Upstream> {
 public:
  // `tls` is for addresses that want it, and outlives it.
  Upstream(asio::io_context& io, NodeAddress address, asio::ssl::context* tls);

  // Whatever they wait for ends with an error after Close(). False: it is of no use any more.
  asio::awaitable<bool> Connect(std::chrono::milliseconds patience);
  asio::awaitable<bool> Write(std::string_view bytes);
  // What comes next, put behind `in`. None: the other side has closed, or is gone.
  asio::awaitable<bool> Read();
  void Close();

  beast::flat_buffer in;
  const NodeAddress& address() const { return address_; }
  bool open() const { return open_; }
  // The other side has not closed it, as far as is known here.
  bool Alive() const;
  bool used = false;                                   // for a request, before
  std::chrono::steady_clock::time_point idle_since{};  // in the pool

 private:
  asio::awaitable<bool> Open();

  asio::io_context& io_;
  const NodeAddress address_;
  asio::ip::tcp::socket socket_;
  std::optional<asio::ssl::stream<asio::ip::tcp::socket&>> tls_;
  bool open_ = false;
  bool closed_ = false;
};
using UpstreamPtr = std::shared_ptr<Upstream>;

// The head of an answer.
struct UpstreamHead {
  int status = 0;
  std::string type, cache;
  std::optional<std::size_t> length;
  bool chunked = false;
  bool keep_alive = false;
  std::string extra;  // other lines that go on to the client
};
// None if the connection ended before it was complete. What comes behind it is in upstream.in.
asio::awaitable<std::optional<UpstreamHead>> ReadHead(Upstream& upstream);
// False if the connection ended before.
asio::awaitable<bool> ReadBody(Upstream& upstream, std::size_t length, std::string& body);

// Waits on this thread.
asio::awaitable<void> Pause(std::chrono::milliseconds time);

}  // namespace allot
