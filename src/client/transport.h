// SPDX-License-Identifier: Apache-2.0
// A blocking byte stream to the server, plain or TLS.
//
// On bare sockets rather than Asio's: a request is then one send and one recv, with the kernel keeping the timeouts.
// Errors are kUnavailable, with what went wrong for people.
#pragma once

#include <memory>
#include <string_view>

#include "allotter/result.h"
#include "allotter/types.h"
#include "client/url.h"

struct sockaddr;
typedef struct ssl_st SSL;
typedef struct ssl_ctx_st SSL_CTX;

namespace allotter {

// What all TLS connections of a client share: the authorities that it trusts. Null for a CA file that cannot be read.
Result<std::shared_ptr<SSL_CTX>> MakeTlsContext(const std::string& ca_file);

// Where to connect to.
struct Target {
  Endpoint endpoint;
  std::shared_ptr<SSL_CTX> tls;  // null without TLS
};
// Checks the options. kBadValue, or what MakeTlsContext says.
Result<Target> TargetOf(const ConnectionOptions& options);

class Transport {
 public:
  // `tls` may be null for a plain endpoint. Once `stop_fd` is readable, connecting and reading fail at once (but for a
  // TLS handshake under way); -1: none. It is not owned.
  static Result<std::unique_ptr<Transport>> Connect(const Endpoint& endpoint, const std::shared_ptr<SSL_CTX>& tls,
                                                    milliseconds timeout, int stop_fd = -1);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  Result<void> Write(std::string_view bytes);
  // At least one byte; 0: the other side has closed.
  Result<std::size_t> Read(char* buffer, std::size_t size);
  // How long a Read or Write may take from now on.
  void SetTimeout(milliseconds timeout);
  // Something is there to be read, or the other side has closed.
  bool Readable() const;

 private:
  Transport(int fd, std::string peer, int stop_fd) : fd_(fd), peer_(std::move(peer)), stop_fd_(stop_fd) {}
  // As connect(), but ends early when it is told to stop.
  bool ConnectTo(const sockaddr* address, unsigned length);
  // Until there is something to read. False, with errno: it took too long, or it is to stop.
  bool AwaitInput() const;
  Result<void> Handshake(const Endpoint& endpoint, SSL_CTX* context);
  Error Lost(const char* what) const;

  int fd_;
  std::string peer_;
  int stop_fd_;
  SSL* ssl_ = nullptr;
  std::shared_ptr<SSL_CTX> context_;
  milliseconds timeout_{0};
};

// "cannot reach the server at …", with the hint that helps.
Error Unreachable(const std::string& peer, const std::string& why);

}  // namespace allotter
