// SPDX-License-Identifier: Apache-2.0
#include "server/net/ready_sockets.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace allot {
namespace {

// Handled before others of the thread have their turn.
constexpr int kAtOnce = 64;

}  // namespace

ReadySockets::ReadySockets(asio::io_context& io, std::mutex& turn, std::function<void()> before)
    : turn_(turn), before_(std::move(before)), epoll_(io.get_executor()) {}

void ReadySockets::Begin() {
  const int fd = epoll_create1(EPOLL_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  epoll_.assign(fd);
  Wait();
}

std::uint32_t ReadySockets::Add(int fd, Handler& handler) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t at = free_.back();
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.u64 = static_cast<std::uint64_t>(slots_[at].generation) << 32 | at;
  if (epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, fd, &event) != 0) {
    throw std::system_error(errno, std::generic_category(), "epoll_ctl");
  }
  free_.pop_back();
  slots_[at].handler = &handler;
  return at;
}

void ReadySockets::Remove(int fd, std::uint32_t slot) {
  epoll_event none{};
  epoll_ctl(epoll_.native_handle(), EPOLL_CTL_DEL, fd, &none);
  slots_[slot].handler = nullptr;
  ++slots_[slot].generation;
  free_.push_back(slot);
}

void ReadySockets::Wait() {
  epoll_.async_wait(Descriptor::wait_read, [this](const boost::system::error_code& ec) {
    if (ec) return;
    // What is left over, and what comes meanwhile, ends the next wait at once.
    const std::lock_guard lock(turn_);
    before_();
    Dispatch();
    Wait();
  });
}

void ReadySockets::Dispatch() {
  std::array<epoll_event, kAtOnce> events;
  const int count = epoll_wait(epoll_.native_handle(), events.data(), kAtOnce, 0);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::uint32_t>(events[i].data.u64);
    const auto generation = static_cast<std::uint32_t>(events[i].data.u64 >> 32);
    // A handler before it may have ended this one.
    if (slots_[at].handler == nullptr || slots_[at].generation != generation) continue;
    const std::uint32_t what = events[i].events;
    const bool ended = (what & (EPOLLERR | EPOLLHUP | EPOLLRDHUP)) != 0;
    slots_[at].handler->OnReady(ended || (what & EPOLLIN) != 0, ended || (what & EPOLLOUT) != 0, ended);
  }
}

}  // namespace allot
