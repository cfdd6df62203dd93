// SPDX-License-Identifier: Apache-2.0
#include "client/transport.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace allotter {
namespace {

std::string TlsErrorText() {
  const unsigned long code = ERR_get_error();
  if (code == 0) return "the TLS connection failed";
  char text[256];
  ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return text;
}

std::string ErrnoText() {
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINPROGRESS) return "no answer in time";
  return std::strerror(errno);
}

bool IsAddress(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

}  // namespace

Error Unreachable(const std::string& peer, const std::string& why) {
  return {Code::kUnavailable, "cannot reach the server at " + peer + ": " + why,
          "start one with `allot serve`, or name another with --server or ALLOT_SERVER"};
}

Result<std::shared_ptr<SSL_CTX>> MakeTlsContext(const std::string& ca_file) {
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (!context) return Error{Code::kInternal, TlsErrorText(), ""};
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context.get(), SSL_MODE_AUTO_RETRY);
  const int ok = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context.get())
                                 : SSL_CTX_load_verify_locations(context.get(), ca_file.c_str(), nullptr);
  if (ok != 1)
    return Error{Code::kBadValue, "cannot read the authorities in `" + ca_file + "`", "a file of PEM certificates"};
  return context;
}

Result<Target> TargetOf(const ConnectionOptions& options) {
  auto endpoint = CheckOptions(options);
  if (!endpoint) return endpoint.error();
  Target target{std::move(*endpoint), nullptr};
  if (target.endpoint.tls) {
    auto made = MakeTlsContext(options.ca_file);
    if (!made) return made.error();
    target.tls = std::move(*made);
  }
  return target;
}

Result<std::unique_ptr<Transport>> Transport::Connect(const Endpoint& endpoint, const std::shared_ptr<SSL_CTX>& tls,
                                                      milliseconds timeout, int stop_fd) {
  const std::string peer = (endpoint.tls ? "https://" : "http://") + endpoint.authority;
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(endpoint.host.c_str(), endpoint.port.c_str(), &hints, &found); error != 0) {
    return Unreachable(peer, gai_strerror(error));
  }
  std::string why = "no address";
  std::unique_ptr<Transport> transport;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd < 0) {
      why = ErrnoText();
      continue;
    }
    transport.reset(new Transport(fd, peer, stop_fd));
    transport->SetTimeout(timeout);  // SO_SNDTIMEO bounds connect() too
    if (transport->ConnectTo(at->ai_addr, at->ai_addrlen)) break;
    why = ErrnoText();
    transport.reset();
  }
  freeaddrinfo(found);
  if (!transport) return Unreachable(peer, why);
  const int on = 1;
  ::setsockopt(transport->fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (endpoint.tls) {
    transport->context_ = tls;
    if (auto shaken = transport->Handshake(endpoint, tls.get()); !shaken) return shaken.error();
  }
  return transport;
}

bool Transport::ConnectTo(const sockaddr* address, unsigned length) {
  if (stop_fd_ < 0) return ::connect(fd_, address, length) == 0;
  const int flags = ::fcntl(fd_, F_GETFL);
  ::fcntl(fd_, F_SETFL, flags | O_NONBLOCK);
  int error = ::connect(fd_, address, length) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    pollfd pollers[] = {{fd_, POLLOUT, 0}, {stop_fd_, POLLIN, 0}};
    const int ready = ::poll(pollers, 2, static_cast<int>(timeout_.count()));
    socklen_t size = sizeof error;
    if (ready > 0 && pollers[1].revents != 0) {
      error = ECANCELED;
    } else if (ready > 0) {
      ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    }
  }
  ::fcntl(fd_, F_SETFL, flags);
  errno = error;
  return error == 0;
}

bool Transport::AwaitInput() const {
  if (stop_fd_ < 0 || (ssl_ != nullptr && SSL_pending(ssl_) > 0)) return true;
  pollfd pollers[] = {{fd_, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
  for (;;) {
    const int ready = ::poll(pollers, 2, static_cast<int>(timeout_.count()));
    if (ready < 0 && errno == EINTR) continue;
    errno = ready == 0 ? EAGAIN : ECANCELED;
    return ready > 0 && pollers[1].revents == 0;
  }
}

Result<void> Transport::Handshake(const Endpoint& endpoint, SSL_CTX* context) {
  ssl_ = SSL_new(context);
  if (ssl_ == nullptr) return Error{Code::kInternal, TlsErrorText(), ""};
  if (IsAddress(endpoint.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), endpoint.host.c_str());
  } else {
    SSL_set1_host(ssl_, endpoint.host.c_str());
    SSL_set_tlsext_host_name(ssl_, endpoint.host.c_str());
  }
  SSL_set_fd(ssl_, fd_);
  if (SSL_connect(ssl_) == 1) return {};
  if (const long verify = SSL_get_verify_result(ssl_); verify != X509_V_OK) {
    ERR_clear_error();
    return Error{Code::kUnavailable,
                 "the certificate of " + peer_ + " is not trusted: " + X509_verify_cert_error_string(verify),
                 "name its authority with --ca-file or ALLOT_CA_FILE"};
  }
  return Unreachable(peer_, TlsErrorText());
}

Transport::~Transport() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  ::close(fd_);
}

void Transport::SetTimeout(milliseconds timeout) {
  if (timeout == timeout_) return;
  timeout_ = timeout;
  timeval tv{};
  tv.tv_sec = static_cast<time_t>(timeout.count() / 1000);
  tv.tv_usec = static_cast<suseconds_t>(timeout.count() % 1000 * 1000);
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
}

Error Transport::Lost(const char* what) const {
  return {Code::kUnavailable, std::string(what) + " " + peer_ + ": " + ErrnoText(), "is the server still running?"};
}

Result<void> Transport::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    long sent = 0;
    if (ssl_ != nullptr) {
      errno = 0;
      sent = SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1 << 20)));
      if (sent <= 0) return Error{Code::kUnavailable, "lost the connection to " + peer_ + ": " + TlsErrorText(), ""};
    } else {
      sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return Lost("lost the connection to");
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

Result<std::size_t> Transport::Read(char* buffer, std::size_t size) {
  for (;;) {
    if (!AwaitInput()) return Lost("lost the connection to");
    if (ssl_ != nullptr) {
      errno = 0;
      const int got = SSL_read(ssl_, buffer, static_cast<int>(std::min<std::size_t>(size, 1 << 20)));
      if (got > 0) return static_cast<std::size_t>(got);
      const int reason = SSL_get_error(ssl_, got);
      ERR_clear_error();
      if (reason == SSL_ERROR_ZERO_RETURN || (reason == SSL_ERROR_SYSCALL && errno == 0)) return std::size_t{0};
      if (reason == SSL_ERROR_SYSCALL && errno == EINTR) continue;
      return Lost("lost the connection to");
    }
    const ssize_t got = ::recv(fd_, buffer, size, 0);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) return Lost("lost the connection to");
  }
}

bool Transport::Readable() const {
  if (ssl_ != nullptr && SSL_pending(ssl_) > 0) return true;
  pollfd poller{fd_, POLLIN, 0};
  return ::poll(&poller, 1, 0) > 0;
}

}  // namespace allotter
