// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/loop.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace allot::bench {
namespace {

constexpr int kMaxEvents = 256;
constexpr auto kTick = std::chrono::milliseconds(100);

sockaddr_in Loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

[[noreturn]] void Fail(const char* what) { throw Failure(std::string(what) + ": " + std::strerror(errno)); }

}  // namespace

Loop::Loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), buffer_(new char[kReadBytes + kPadding]()) {
  if (epoll_ < 0) Fail("epoll");
}

Loop::~Loop() { close(epoll_); }

void Loop::RunUntil(const std::function<bool()>& done, std::chrono::milliseconds limit, std::string_view what) {
  const auto begun = SteadyClock::now();
  auto next_tick = begun + kTick;
  epoll_event events[kMaxEvents];
  while (!done()) {
    const int n = epoll_wait(epoll_, events, kMaxEvents, static_cast<int>(kTick.count()));
    if (n < 0 && errno != EINTR) Fail("epoll");
    for (int i = 0; i < n; ++i) {
      Link& link = *static_cast<Link*>(events[i].data.ptr);
      if (link.fd_ < 0) continue;  // closed by one of the events before
      if (link.connecting_ || (events[i].events & EPOLLOUT) != 0) link.OnWritable();
      if (link.fd_ >= 0 && (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) link.OnReadable();
    }
    const auto now = SteadyClock::now();
    if (now < next_tick) continue;
    next_tick = now + kTick;
    if (on_tick) on_tick();
    if (now - begun > limit && !done()) {
      throw Failure(std::string(what) + " took longer than " + std::to_string(limit.count() / 1000) + " s");
    }
  }
}

void Link::Connect(std::uint16_t port) {
  Close();
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd_ < 0) Fail("socket");
  const int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const sockaddr_in address = Loopback(port);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 && errno != EINPROGRESS) {
    Fail("connect");
  }
  connecting_ = true;
  epoll_event event{};
  event.events = watched_ = EPOLLOUT;
  event.data.ptr = this;
  if (epoll_ctl(loop_.epoll_, EPOLL_CTL_ADD, fd_, &event) != 0) Fail("epoll");
}

void Link::Close() {
  if (fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  connecting_ = false;
  in_.clear();
  out_.clear();
}

void Link::Ended() {
  Close();
  OnClosed();
}

void Link::Watch(std::uint32_t events) {
  if (events == watched_) return;
  epoll_event event{};
  event.events = watched_ = events;
  event.data.ptr = this;
  if (epoll_ctl(loop_.epoll_, EPOLL_CTL_MOD, fd_, &event) != 0) Fail("epoll");
}

void Link::Send(std::string_view bytes) {
  if (fd_ < 0) return;
  if (!connecting_ && out_.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN) return;  // reading will tell
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
    if (bytes.empty()) return;
  }
  out_.append(bytes);
  if (!connecting_) Watch(EPOLLIN | EPOLLOUT);
}

void Link::OnWritable() {
  if (connecting_) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return Ended();
    connecting_ = false;
    Watch(EPOLLIN);
    OnOpen();
    return;
  }
  const ssize_t n = send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
  if (n > 0) out_.erase(0, static_cast<std::size_t>(n));
  if (out_.empty()) Watch(EPOLLIN);
}

void Link::OnReadable() {
  char* const buffer = loop_.buffer_.get();
  const ssize_t n = recv(fd_, buffer, Loop::kReadBytes, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return Ended();
  const auto size = static_cast<std::size_t>(n);
  if (in_.empty()) {
    const std::size_t used = OnData({buffer, size});
    if (used < size && fd_ >= 0) in_.assign(buffer + used, size - used);
    return;
  }
  in_.append(buffer, size);
  in_.reserve(in_.size() + kPadding);
  const std::size_t used = OnData(in_);
  if (fd_ >= 0) in_.erase(0, used);
  if (in_.empty()) std::string().swap(in_);
}

void RaiseFileLimit(std::size_t wanted) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
  if (limit.rlim_cur < wanted) {
    throw Failure("needs " + std::to_string(wanted) + " open files, and may have " + std::to_string(limit.rlim_cur) +
                  " (ulimit -Hn)");
  }
}

std::uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  const bool found = fd >= 0 && bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0;
  if (!found) Fail("no free port");
  close(fd);
  return ntohs(address.sin_port);
}

}  // namespace allot::bench
