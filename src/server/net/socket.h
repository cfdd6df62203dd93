// SPDX-License-Identifier: Apache-2.0
// The bytes of a connection. A plain socket is read and written at once, as far as the kernel goes along; one with TLS
// through the library, a piece at a time. Both look the same to whoever uses them.
//
// Threading: confined to its network thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/net/net_thread.h"
#include "server/net/stream.h"

namespace allot {

class Socket final : private ReadySockets::Handler {
 public:
  class User {
   public:
    virtual ~User() = default;
    // Read() may have something again.
    virtual void OnReadable() = 0;
    // What was taken has left, and Write() may take more.
    virtual void OnWritable() = 0;
    // Keeps the user, and with it this, while an operation is under way.
    virtual std::shared_ptr<void> Keep() = 0;
  };
  // With TLS it begins with the handshake.
  Socket(NetThread& net, Stream stream, User& user);
  ~Socket() override;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Goes to another user of the same thread. REQUIRES: not busy().
  void PassTo(User& user) { user_ = &user; }
  // It waits for the library, on behalf of its user.
  bool busy() const;

  // How many bytes there were. 0: none for now, and OnReadable() follows. nullopt: it has ended.
  std::optional<std::size_t> Read(std::span<char> into);
  // How much of `head` and `body`, one after the other, was taken; unless all, OnWritable() follows. nullopt: it is
  // broken.
  std::optional<std::size_t> Write(std::string_view head, std::string_view body);
  // What was taken, and has not left this process.
  std::size_t unsent() const;
  // All that was taken has left this process.
  bool sent() const { return !writing_; }
  // It ended other than by the peer's last byte, or what was taken could not be sent.
  bool broken() const { return broken_; }
  // The next Read() need not be waited for.
  bool readable() const { return readable_; }
  // Nothing more is sent.
  void ShutdownSend();
  void Close();

 private:
  struct Tls;
  void OnReady(bool readable, bool writable, bool ended) override;
  void Handshake();
  std::optional<std::size_t> ReadTls(std::span<char> into);
  std::size_t WriteTls(std::string_view head, std::string_view body);

  NetThread& net_;
  User* user_;
  std::unique_ptr<Tls> tls_;  // null: plain
  int fd_ = -1;               // of a plain one
  std::uint32_t slot_ = 0;
  bool readable_ = false;
  bool ending_ = false;   // the end is behind what is to be read
  bool writing_ = false;  // OnWritable() follows
  bool broken_ = false;
};

}  // namespace allot
