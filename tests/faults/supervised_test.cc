// SPDX-License-Identifier: Apache-2.0
// As a service: the service manager hears on its socket that the server is ready, alive and stopping, as systemd would.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

using namespace std::chrono_literals;

// $NOTIFY_SOCKET.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : path_(path), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    EXPECT_LT(path.size(), sizeof address.sun_path);
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
  }
  ~NotifySocket() { close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  const std::string& path() const { return path_; }
  // The next message; empty if none comes in time.
  std::string Next(milliseconds timeout = 20s) {
    pollfd ready{fd_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(timeout.count())) != 1) return "";
    char text[4096];
    const ssize_t n = recv(fd_, text, sizeof text, 0);
    return n < 0 ? "" : std::string(text, static_cast<std::size_t>(n));
  }
  // Reads on to one that begins so.
  std::string Until(const std::string& begin, milliseconds timeout = 20s) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (std::chrono::steady_clock::now() < end) {
      std::string text = Next(timeout);
      if (text.empty() || text.rfind(begin, 0) == 0) return text;
    }
    return "";
  }

 private:
  const std::string path_;
  const int fd_;
};

TEST(Supervised, ItIsReadyWhenItServesAliveWhileItRunsAndSaysThatItStops) {
  const TempDir dir;
  NotifySocket manager(dir / "notify");
  LiveServer server({.env = {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "200000"}}});
  server.Launch();
  EXPECT_EQ(manager.Next().rfind("STATUS=loading", 0), 0u);
  const std::string ready = manager.Next();
  EXPECT_EQ(ready, "READY=1\nSTATUS=listening on 127.0.0.1:" + std::to_string(server.port()) + ", 1 queue");
  EXPECT_EQ(server.http().Get("/readyz").status, 200);  // at once, without waiting for it

  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(manager.Next(), "WATCHDOG=1");
  // The first comes at once, four more after a tenth of a second each: at half of what it may be silent for.
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);

  Http http = server.http();
  EXPECT_EQ(http.Post("/v1/queues", R"({"name":"other"})").status, 201);
  EXPECT_NE(manager.Until("STATUS=").find(", 2 queues"), std::string::npos);
  EXPECT_EQ(manager.Until("WATCHDOG=1"), "WATCHDOG=1");

  EXPECT_EQ(server.Stop().value_or(-1), 0);
  EXPECT_EQ(manager.Until("STOPPING=1"), "STOPPING=1\nSTATUS=stopping");
  EXPECT_EQ(manager.Next(0ms), "");
}

TEST(Supervised, ASuspendedServerShowsNoSignOfLife) {
  const TempDir dir;
  NotifySocket manager(dir / "notify");
  LiveServer server({.env = {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "100000"}}});
  ASSERT_TRUE(server.Start()) << server.Log();
  ASSERT_EQ(manager.Until("WATCHDOG=1"), "WATCHDOG=1");
  ASSERT_EQ(kill(server.pid(), SIGSTOP), 0);
  while (!manager.Next(200ms).empty()) {
  }
  EXPECT_EQ(manager.Next(300ms), "");
  ASSERT_EQ(kill(server.pid(), SIGCONT), 0);
  EXPECT_EQ(manager.Until("WATCHDOG=1"), "WATCHDOG=1");
}

TEST(Supervised, WithoutAWatchdogItOnlySaysHowItStands) {
  const TempDir dir;
  NotifySocket manager(dir / "notify");
  // A watchdog of another process is none of its own.
  LiveServer server({.env = {{"NOTIFY_SOCKET", manager.path()}, {"WATCHDOG_USEC", "1000"}, {"WATCHDOG_PID", "1"}}});
  ASSERT_TRUE(server.Start()) << server.Log();
  EXPECT_EQ(manager.Until("READY=1").rfind("READY=1", 0), 0u);
  EXPECT_EQ(manager.Next(300ms), "");
  EXPECT_EQ(server.Stop().value_or(-1), 0);
  EXPECT_EQ(manager.Next().rfind("STOPPING=1", 0), 0u);
}

}  // namespace
}  // namespace allot::testing
