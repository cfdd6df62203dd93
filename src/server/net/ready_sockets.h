// SPDX-License-Identifier: Apache-2.0
// Sockets that are read and written without the library: an epoll of their own, told of edges, that is one of the
// library's descriptors itself. So a socket is registered once, and no read is needed to learn that there is nothing.
//
// Threading: confined to the network thread of its io_context; handlers are called with that thread's turn.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace allot {

namespace asio = boost::asio;

class ReadySockets {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // There may be something to read, or room to write, that was not there before. With `ended` the peer has sent its
    // last.
    virtual void OnReady(bool readable, bool writable, bool ended) = 0;
  };

  // `before` runs before the handlers of what is ready.
  ReadySockets(asio::io_context& io, std::mutex& turn, std::function<void()> before);
  // Throws where there is no epoll to be had.
  void Begin();

  // What names it for Remove(). Throws where the kernel has no room. It is told at once of what is there already.
  std::uint32_t Add(int fd, Handler& handler);
  // Its handler is not called any more.
  void Remove(int fd, std::uint32_t slot);

 private:
  using Descriptor = asio::posix::basic_stream_descriptor<asio::io_context::executor_type>;
  struct Slot {
    Handler* handler = nullptr;  // null: free
    std::uint32_t generation = 0;
  };
  void Wait();
  void Dispatch();

  std::mutex& turn_;
  const std::function<void()> before_;
  Descriptor epoll_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace allot
