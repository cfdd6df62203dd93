// SPDX-License-Identifier: Apache-2.0
#include "support/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace allot::testing {
namespace {

int Left(SteadyTime deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - SteadyNow()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 600'000));
}

// Reads from `socket` until `buffer` has `size` bytes.
bool Fill(Socket& socket, std::string& buffer, std::size_t size, SteadyTime deadline) {
  while (buffer.size() < size) {
    if (socket.ReadSome(buffer, deadline) != Socket::Read::kBytes) return false;
  }
  return true;
}

bool FillLine(Socket& socket, std::string& buffer, std::size_t from, SteadyTime deadline, std::size_t& end) {
  while ((end = buffer.find("\r\n", from)) == std::string::npos) {
    if (socket.ReadSome(buffer, deadline) != Socket::Read::kBytes) return false;
  }
  return true;
}

}  // namespace

Socket::Socket(std::uint16_t port, int receive_bytes) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receive_bytes > 0) ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    Close();
    return;
  }
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

Socket::~Socket() { Close(); }

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void Socket::Close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void Socket::Reset() {
  if (fd_ < 0) return;
  const linger now{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  Close();
}

void Socket::ShutdownWrite() {
  if (fd_ >= 0) ::shutdown(fd_, SHUT_WR);
}

bool Socket::Send(std::string_view bytes, milliseconds timeout) {
  const SteadyTime deadline = SteadyNow() + timeout;
  while (!bytes.empty()) {
    if (fd_ < 0) return false;
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN) {
      pollfd poll{fd_, POLLOUT, 0};
      if (::poll(&poll, 1, Left(deadline)) <= 0) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return fd_ >= 0;
}

Socket::Read Socket::ReadSome(std::string& out, SteadyTime deadline) {
  if (fd_ < 0) return Read::kEnd;
  while (true) {
    char bytes[65536];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got > 0) {
      out.append(bytes, static_cast<std::size_t>(got));
      return Read::kBytes;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) return Read::kEnd;
    pollfd poll{fd_, POLLIN, 0};
    if (::poll(&poll, 1, Left(deadline)) <= 0) return Read::kTimeout;
  }
}

bool Socket::ReadToEnd(std::string& out, milliseconds timeout) {
  const SteadyTime deadline = SteadyNow() + timeout;
  Read read;
  while ((read = ReadSome(out, deadline)) == Read::kBytes) {
  }
  return read == Read::kEnd;
}

std::string Answer::Header(std::string_view name) const {
  std::string lower = headers;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  const std::size_t at = lower.find("\r\n" + std::string(name) + ":");
  if (at == std::string::npos) return {};
  std::size_t begin = at + 3 + name.size();
  while (begin < headers.size() && headers[begin] == ' ') ++begin;
  return headers.substr(begin, headers.find("\r\n", begin) - begin);
}

std::string Http::Head(std::string_view method, std::string_view path, const Headers& headers) const {
  std::string head = std::string(method) + " " + std::string(path) + " HTTP/1.1\r\n";
  bool host = false;
  for (const auto& [name, value] : headers) {
    head += name + ": " + value + "\r\n";
    host |= name == "Host";
  }
  if (!host) head += "Host: 127.0.0.1:" + std::to_string(port_) + "\r\n";
  if (!token_.empty()) head += "Authorization: Bearer " + token_ + "\r\n";
  return head;
}

Answer Http::Call(std::string_view method, std::string_view path, std::string_view body, const Headers& headers,
                  milliseconds timeout) {
  const bool kept = socket_.connected();
  if (!kept) socket_ = Socket(port_);
  std::string text = Head(method, path, headers);
  bool typed = false;
  for (const auto& [name, value] : headers) typed |= name == "Content-Type";
  if (!body.empty() && !typed) text += "Content-Type: application/json\r\n";
  if (!body.empty() || method != "GET") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n";
  text += body;
  Answer answer;
  // A server that refuses early may stop reading before all is sent: its answer counts all the same.
  socket_.Send(text, timeout);
  answer = ReadAnswer(socket_, timeout);
  if (answer.status == 0 || answer.Header("connection") == "close") socket_.Close();
  // The server may have closed a connection that was idle; what changes nothing may be asked again.
  if (answer.status == 0 && kept && method == "GET") return Call(method, path, body, headers, timeout);
  return answer;
}

Answer Http::PostStream(std::string_view path, const std::vector<std::string>& pieces, bool broken) {
  if (!socket_.connected()) socket_ = Socket(port_);
  std::string head =
      Head("POST", path, {{"Content-Type", "application/x-ndjson"}, {"Transfer-Encoding", "chunked"}}) + "\r\n";
  if (!socket_.Send(head)) {
    socket_.Close();
    return {};
  }
  for (const std::string& piece : pieces) {
    if (piece.empty()) continue;
    char size[20];
    std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
    if (!socket_.Send(size + piece + "\r\n")) break;
  }
  if (broken) {
    socket_.Reset();
    return {};
  }
  socket_.Send("0\r\n\r\n");
  Answer answer = ReadAnswer(socket_);
  if (answer.status == 0 || answer.Header("connection") == "close") socket_.Close();
  return answer;
}

Answer Http::ReadAnswer(Socket& socket, milliseconds timeout) {
  const SteadyTime deadline = SteadyNow() + timeout;
  Answer answer;
  std::string buffer;
  std::size_t end;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (socket.ReadSome(buffer, deadline) != Socket::Read::kBytes) return answer;
  }
  answer.headers = buffer.substr(0, end + 2);
  buffer.erase(0, end + 4);
  const int status = answer.headers.size() > 12 ? std::atoi(answer.headers.c_str() + 9) : 0;
  if (answer.Header("transfer-encoding") == "chunked") {
    while (true) {
      std::size_t line;
      if (!FillLine(socket, buffer, 0, deadline, line)) return answer;
      const std::size_t size = std::strtoul(buffer.c_str(), nullptr, 16);
      if (!Fill(socket, buffer, line + 2 + size + 2, deadline)) return answer;
      answer.body += buffer.substr(line + 2, size);
      buffer.erase(0, line + 2 + size + 2);
      if (size == 0) break;
    }
  } else if (const std::string length = answer.Header("content-length"); !length.empty()) {
    const std::size_t size = std::strtoul(length.c_str(), nullptr, 10);
    if (!Fill(socket, buffer, size, deadline)) return answer;
    answer.body = buffer.substr(0, size);
  } else if (status != 204 && status != 304 && status != 101) {
    answer.body = buffer;
    socket.ReadToEnd(answer.body, milliseconds(Left(deadline)));
  }
  answer.status = status;
  return answer;
}

double MetricOf(Http& http, const std::string& name) {
  const std::string text = "\n" + http.Get("/metrics").body;
  const std::size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

WebSocket::WebSocket(std::uint16_t port, std::string_view path, const std::string& token, const Headers& headers)
    : socket_(port) {
  if (!socket_.connected()) return;
  std::string head = "GET " + std::string(path) + " HTTP/1.1\r\n";
  bool host = false;
  for (const auto& [name, value] : headers) {
    head += name + ": " + value + "\r\n";
    host |= name == "Host";
  }
  if (!host) head += "Host: 127.0.0.1:" + std::to_string(port) + "\r\n";
  head +=
      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  if (!token.empty()) head += "Authorization: Bearer " + token + "\r\n";
  head += "\r\n";
  const SteadyTime deadline = SteadyNow() + milliseconds(10'000);
  bool upgraded = false;
  if (socket_.Send(head)) {
    std::size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (socket_.ReadSome(buffer_, deadline) != Socket::Read::kBytes) break;
    }
    upgraded = end != std::string::npos && buffer_.compare(0, 12, "HTTP/1.1 101") == 0;
    if (upgraded) {
      buffer_.erase(0, end + 4);
    } else if (end != std::string::npos) {
      refusal_.headers = buffer_.substr(0, end + 2);
      refusal_.status = std::atoi(buffer_.c_str() + 9);
      refusal_.body = buffer_.substr(end + 4);
      const std::size_t size = std::strtoul(refusal_.Header("content-length").c_str(), nullptr, 10);
      Fill(socket_, refusal_.body, size, deadline);
    }
  }
  if (!upgraded) socket_.Close();
}

bool WebSocket::SendFrame(int opcode, std::string_view payload, bool final) {
  std::string frame;
  frame.push_back(static_cast<char>((final ? 0x80 : 0) | opcode));
  if (payload.size() < 126) {
    frame.push_back(static_cast<char>(0x80 | payload.size()));
  } else if (payload.size() < 65536) {
    frame.push_back(static_cast<char>(0x80 | 126));
    frame.push_back(static_cast<char>(payload.size() >> 8));
    frame.push_back(static_cast<char>(payload.size()));
  } else {
    frame.push_back(static_cast<char>(0x80 | 127));
    for (int shift = 56; shift >= 0; shift -= 8) frame.push_back(static_cast<char>(payload.size() >> shift));
  }
  const char mask[4] = {0x11, 0x22, 0x33, 0x44};
  frame.append(mask, 4);
  for (std::size_t i = 0; i < payload.size(); ++i) frame.push_back(static_cast<char>(payload[i] ^ mask[i % 4]));
  return socket_.Send(frame);
}

std::optional<std::string> WebSocket::Receive(SteadyTime deadline) {
  while (socket_.connected()) {
    std::size_t need = 2;
    if (buffer_.size() >= 2) {
      const auto byte = [&](std::size_t i) {
        return static_cast<std::uint64_t>(static_cast<unsigned char>(buffer_[i]));
      };
      std::uint64_t size = byte(1) & 0x7f;
      std::size_t head = 2;
      if (size == 126) head = 4;
      if (size == 127) head = 10;
      need = head;
      if (buffer_.size() >= head) {
        if (head > 2) {
          size = 0;
          for (std::size_t i = 2; i < head; ++i) size = size << 8 | byte(i);
        }
        need = head + size;
        if (buffer_.size() >= need) {
          const int first = static_cast<int>(byte(0));
          std::string payload = buffer_.substr(head, size);
          buffer_.erase(0, need);
          const int opcode = first & 0xf;
          if (opcode == 0x8) {
            SendFrame(0x8, payload);
            socket_.Close();
            return std::nullopt;
          }
          if (opcode == 0x9) SendFrame(0xa, payload);
          if (opcode <= 0x2) {
            message_ += payload;
            if ((first & 0x80) != 0) return std::exchange(message_, {});
          }
          continue;
        }
      }
    }
    switch (socket_.ReadSome(buffer_, deadline)) {
      case Socket::Read::kBytes:
        break;
      case Socket::Read::kTimeout:
        return std::nullopt;
      case Socket::Read::kEnd:
        socket_.Close();
        return std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace allot::testing
