// SPDX-License-Identifier: Apache-2.0
#include "server/ops/supervisor.h"

#include <systemd/sd-daemon.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr Duration kStatusEvery = 10s;  // where nobody wants signs of life

std::optional<Duration> WatchdogOfEnvironment() {
  std::uint64_t us = 0;
  if (sd_watchdog_enabled(0, &us) <= 0) return std::nullopt;
  return Duration(static_cast<std::int64_t>(std::min<std::uint64_t>(us, std::uint64_t{1} << 60)));
}

Supervisor::Options Complete(Supervisor::Options options) {
  if (!options.notify) {
    if (!options.watchdog) options.watchdog = WatchdogOfEnvironment();
    if (std::getenv("NOTIFY_SOCKET") != nullptr)
      options.notify = [](const std::string& lines) { sd_notify(0, lines.c_str()); };
  }
  return options;
}

}  // namespace

Supervisor::Supervisor(Options options)
    : options_(Complete(std::move(options))), every_(options_.watchdog ? *options_.watchdog / 2 : kStatusEvery) {}

Supervisor::~Supervisor() { Stopping(); }

void Supervisor::Loading(const std::string& status) {
  if (options_.notify) options_.notify("STATUS=" + status);
}

void Supervisor::Ready() {
  if (!options_.notify) return;
  status_ = options_.status();
  options_.notify("READY=1\nSTATUS=" + status_);
  thread_ = std::thread([this] { Watch(); });
}

void Supervisor::Stopping() {
  {
    std::lock_guard lock(shared_->mutex);
    if (std::exchange(shared_->stopping, true)) return;
  }
  shared_->changed.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  options_.notify("STOPPING=1\nSTATUS=stopping");
}

void Supervisor::NotifyStatus() {
  std::string status = options_.status();
  if (status == status_) return;
  status_ = std::move(status);
  options_.notify("STATUS=" + status_);
}

void Supervisor::Watch() {
  std::unique_lock lock(shared_->mutex);
  while (!shared_->stopping) {
    const auto next = std::chrono::steady_clock::now() + every_;
    shared_->answered = false;
    lock.unlock();
    // There is one question at a time: the next is not asked before all have answered this one.
    options_.ask(Answer(nullptr, [shared = shared_](void*) {
      std::lock_guard answering(shared->mutex);
      shared->answered = true;
      shared->changed.notify_all();
    }));
    lock.lock();
    shared_->changed.wait(lock, [this] { return shared_->answered || shared_->stopping; });
    if (shared_->stopping) return;
    lock.unlock();
    if (options_.watchdog) options_.notify("WATCHDOG=1");
    NotifyStatus();
    lock.lock();
    shared_->changed.wait_until(lock, next, [this] { return shared_->stopping; });
  }
}

}  // namespace allot
