// SPDX-License-Identifier: Apache-2.0
// Sockets, HTTP and WebSocket in the plainest form: a test says every byte that is sent, and sees every message that
// comes. Written from docs/reference/protocol, and apart from the client library on purpose.
//
// Threading: an object belongs to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/json.h"

namespace allot::testing {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;
inline SteadyTime SteadyNow() { return std::chrono::steady_clock::now(); }

// A TCP connection to 127.0.0.1.
class Socket {
 public:
  Socket() = default;
  // Not connected if nobody listens there. `receive_bytes`: size of the kernel's receive buffer; 0: as usual.
  explicit Socket(std::uint16_t port, int receive_bytes = 0);
  ~Socket();
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept;

  bool connected() const { return fd_ >= 0; }
  void Close();
  // Closes with a reset instead of a good-bye.
  void Reset();
  void ShutdownWrite();
  // False if the connection is gone, or not all was taken in that time.
  bool Send(std::string_view bytes, milliseconds timeout = milliseconds(10'000));
  enum class Read { kBytes, kTimeout, kEnd };
  // Appends what has come, waiting for it until `deadline`.
  Read ReadSome(std::string& out, SteadyTime deadline);
  // Everything until the peer closes or `timeout` is over; true if it closed.
  bool ReadToEnd(std::string& out, milliseconds timeout);

 private:
  int fd_ = -1;
};

struct Answer {
  int status = 0;       // 0: no answer, the connection was lost
  std::string headers;  // as they came
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
  // A header's value; empty if it is not there. `name` in lower case.
  std::string Header(std::string_view name) const;
  std::string ErrorCode() const { return Document(body).Text("/error/code"); }
};

using Headers = std::vector<std::pair<std::string, std::string>>;

// One kept-alive HTTP connection, made anew when it is needed.
class Http {
 public:
  explicit Http(std::uint16_t port, std::string token = {}) : port_(port), token_(std::move(token)) {}

  Answer Get(std::string_view path) { return Call("GET", path); }
  // With a body of JSON, if there is one.
  Answer Call(std::string_view method, std::string_view path, std::string_view body = {}, const Headers& headers = {},
              milliseconds timeout = milliseconds(20'000));
  Answer Post(std::string_view path, std::string_view body) { return Call("POST", path, body); }
  // A chunked body of NDJSON, a chunk per piece. With `broken` the connection is reset before the last chunk.
  Answer PostStream(std::string_view path, const std::vector<std::string>& pieces, bool broken = false);
  // An answer to what was sent on `socket` by hand.
  static Answer ReadAnswer(Socket& socket, milliseconds timeout = milliseconds(20'000));
  void Close() { socket_.Close(); }
  std::uint16_t port() const { return port_; }

 private:
  std::string Head(std::string_view method, std::string_view path, const Headers& headers) const;
  std::uint16_t port_;
  std::string token_;
  Socket socket_;
};

// What is in the exposition, of a metric with these labels, as they are printed; -1 if it is not there.
double MetricOf(Http& http, const std::string& name);

class WebSocket {
 public:
  WebSocket() = default;
  // Not open if the server refused; then `refusal` is its answer.
  WebSocket(std::uint16_t port, std::string_view path, const std::string& token = {}, const Headers& headers = {});
  bool open() const { return socket_.connected(); }
  const Answer& refusal() const { return refusal_; }
  bool Send(std::string_view text) { return SendFrame(0x1, text); }
  bool SendFrame(int opcode, std::string_view payload, bool final = true);
  bool Ping() { return SendFrame(0x9, ""); }
  // The next text message; none by the deadline, or once the connection is gone (then open() is false).
  std::optional<std::string> Receive(SteadyTime deadline);
  std::optional<std::string> Receive(milliseconds timeout = milliseconds(10'000)) {
    return Receive(SteadyNow() + timeout);
  }
  void Close() { socket_.Close(); }
  void Reset() { socket_.Reset(); }
  Socket& socket() { return socket_; }

 private:
  Socket socket_;
  Answer refusal_;
  std::string buffer_;
  std::string message_;
};

}  // namespace allot::testing
