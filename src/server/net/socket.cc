// SPDX-License-Identifier: Apache-2.0
#include "server/net/socket.h"

#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace allot {
namespace {

constexpr std::size_t kTlsReadBytes = 4 * 1024;
constexpr std::size_t kTlsWriteBytes = 64 * 1024;  // taken at once

bool Again(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

struct Socket::Tls {
  explicit Tls(Stream s) : stream(std::move(s)) {}
  Stream stream;
  std::string in;         // read into
  std::string_view here;  // of it, not yet taken
  bool reading = false;   // or in the handshake
  bool ended = false;
  std::string out;
};

Socket::Socket(NetThread& net, Stream stream, User& user) : net_(net), user_(&user) {
  if (stream.is_tls()) {
    tls_ = std::make_unique<Tls>(std::move(stream));
    Handshake();
    return;
  }
  const int fd = stream.socket().release();
  try {
    slot_ = net_.sockets().Add(fd, *this);
  } catch (...) {
    close(fd);
    throw;
  }
  fd_ = fd;
}

Socket::~Socket() { Close(); }

void Socket::Close() {
  if (tls_) tls_->stream.Close();
  if (fd_ < 0) return;
  const int fd = std::exchange(fd_, -1);
  net_.sockets().Remove(fd, slot_);
  close(fd);
}

void Socket::ShutdownSend() {
  if (tls_) tls_->stream.ShutdownSend();
  if (fd_ >= 0) shutdown(fd_, SHUT_WR);
}

bool Socket::busy() const { return tls_ && (tls_->reading || writing_); }
std::size_t Socket::unsent() const { return tls_ && writing_ ? tls_->out.size() : 0; }

void Socket::OnReady(bool readable, bool writable, bool ended) {
  const std::shared_ptr<void> kept = user_->Keep();
  readable_ = readable_ || readable;
  ending_ = ending_ || ended;
  if (writable && writing_) {
    writing_ = false;
    user_->OnWritable();
  }
  if (readable && fd_ >= 0) user_->OnReadable();
}

std::optional<std::size_t> Socket::Read(std::span<char> into) {
  if (tls_) return ReadTls(into);
  if (fd_ < 0) return std::nullopt;
  if (!readable_) return 0;
  const ssize_t n = recv(fd_, into.data(), into.size(), MSG_DONTWAIT);
  if (n > 0) {
    // Less than there was room for: that was all, and the next edge says when there is more. Its end is one.
    if (static_cast<std::size_t>(n) < into.size() && !ending_) readable_ = false;
    return static_cast<std::size_t>(n);
  }
  if (n == 0) return std::nullopt;
  if (!Again(errno)) {
    broken_ = true;
    return std::nullopt;
  }
  readable_ = false;
  return 0;
}

void Socket::Handshake() {
  tls_->reading = true;
  tls_->stream.Handshake([this, kept = user_->Keep()](error_code ec) {
    tls_->reading = false;
    tls_->ended = broken_ = static_cast<bool>(ec);
    readable_ = true;
    user_->OnReadable();
  });
}

std::optional<std::size_t> Socket::ReadTls(std::span<char> into) {
  Tls& tls = *tls_;
  if (!tls.here.empty()) {
    const std::size_t n = std::min(into.size(), tls.here.size());
    std::memcpy(into.data(), tls.here.data(), n);
    tls.here.remove_prefix(n);
    return n;
  }
  if (tls.ended) return std::nullopt;
  if (tls.reading) return 0;
  tls.reading = true;
  readable_ = false;
  tls.in.resize(kTlsReadBytes);
  tls.stream.async_read_some(asio::buffer(tls.in), [this, kept = user_->Keep()](error_code ec, std::size_t n) {
    tls_->reading = false;
    tls_->here = std::string_view(tls_->in).substr(0, n);
    tls_->ended = static_cast<bool>(ec);
    broken_ = broken_ || (ec && ec != asio::error::eof);
    readable_ = true;
    user_->OnReadable();
  });
  return 0;
}

std::size_t Socket::WriteTls(std::string_view head, std::string_view body) {
  Tls& tls = *tls_;
  head = head.substr(0, kTlsWriteBytes);
  body = body.substr(0, kTlsWriteBytes - head.size());
  tls.out.assign(head).append(body);
  writing_ = true;
  asio::async_write(tls.stream, asio::buffer(tls.out), [this, kept = user_->Keep()](error_code ec, std::size_t) {
    broken_ = broken_ || ec;
    if (tls_->out.capacity() > kTlsReadBytes) std::string().swap(tls_->out);
    writing_ = false;
    user_->OnWritable();
  });
  return tls.out.size();
}

std::optional<std::size_t> Socket::Write(std::string_view head, std::string_view body) {
  if (writing_) return 0;
  if (broken_) return std::nullopt;
  if (tls_) return WriteTls(head, body);
  if (fd_ < 0) return std::nullopt;
  iovec parts[2] = {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = body.empty() ? 1 : 2;
  const ssize_t n = sendmsg(fd_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && !Again(errno)) {
    broken_ = true;
    return std::nullopt;
  }
  const auto taken = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  writing_ = taken < head.size() + body.size();
  return taken;
}

}  // namespace allot
