// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace allot::bench {
namespace {

constexpr std::uint8_t kText = 0x1;
constexpr std::uint8_t kClose = 0x8;
constexpr std::uint8_t kPing = 0x9;
constexpr std::uint8_t kPong = 0xA;
constexpr int kCallLimitSeconds = 120;

}  // namespace

std::string Target::Path(std::string_view rest) const { return "/v1/queues/" + queue + std::string(rest); }

std::string Target::Request(std::string_view method, std::string_view path, std::string_view type,
                            std::string_view body) const {
  std::string out(method);
  out.append(" ").append(path).append(" HTTP/1.1\r\nHost: 127.0.0.1:").append(std::to_string(port)).append("\r\n");
  if (!token.empty()) out.append("Authorization: Bearer ").append(token).append("\r\n");
  if (!type.empty()) {
    out.append("Content-Type: ").append(type).append("\r\nContent-Length: ");
    out.append(std::to_string(body.size())).append("\r\n");
  }
  return out.append("\r\n").append(body);
}

std::size_t ParseAnswer(std::string_view data, HttpAnswer& answer) {
  const std::size_t head = data.find("\r\n\r\n");
  if (head == std::string_view::npos || head < 12) return 0;
  std::from_chars(data.data() + 9, data.data() + 12, answer.status);
  constexpr std::string_view kLength = "\r\ncontent-length:";
  std::size_t length = 0;
  for (std::size_t line = data.find("\r\n"); line < head; line = data.find("\r\n", line + 2)) {
    if (strncasecmp(data.data() + line, kLength.data(), kLength.size()) != 0) continue;
    std::size_t at = line + kLength.size();
    while (data[at] == ' ') ++at;
    std::from_chars(data.data() + at, data.data() + head, length);
    break;
  }
  if (data.size() < head + 4 + length) return 0;
  answer.body = data.substr(head + 4, length);
  return head + 4 + length;
}

std::size_t HttpLink::OnData(std::string_view data) {
  std::size_t used = 0;
  HttpAnswer answer;
  while (const std::size_t size = ParseAnswer(data.substr(used), answer)) {
    used += size;
    OnAnswer(answer);
    if (used >= data.size()) break;
  }
  return used;
}

WebSocketLink::WebSocketLink(Loop& loop, const Target& target, std::string_view path) : Link(loop) {
  request_ = target.Request("GET", path, {}, {});
  // Any key will do: the answer to it guards against caches, and there are none.
  constexpr std::string_view kUpgrade =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: YWxsb3QtYmVuY2gtMDAwMA==\r\n";
  request_.insert(request_.size() - 2, kUpgrade);
}

void WebSocketLink::OnOpen() {
  upgraded_ = false;
  Send(request_);
}

void WebSocketLink::SendText(std::string_view text) { SendFrame(kText, text); }

void WebSocketLink::SendFrame(std::uint8_t opcode, std::string_view body) {
  frame_.clear();
  frame_.push_back(static_cast<char>(0x80 | opcode));
  if (body.size() < 126) {
    frame_.push_back(static_cast<char>(0x80 | body.size()));
  } else if (body.size() < 65536) {
    frame_.push_back(static_cast<char>(0x80 | 126));
    for (int shift = 8; shift >= 0; shift -= 8) frame_.push_back(static_cast<char>(body.size() >> shift));
  } else {
    frame_.push_back(static_cast<char>(0x80 | 127));
    for (int shift = 56; shift >= 0; shift -= 8) frame_.push_back(static_cast<char>(body.size() >> shift));
  }
  frame_.append(4, '\0').append(body);
  Send(frame_);
  if (frame_.capacity() > 4096) std::string().swap(frame_);  // thousands of these are open
}

std::size_t WebSocketLink::OnData(std::string_view data) {
  std::size_t used = 0;
  if (!upgraded_) {
    HttpAnswer answer;
    used = ParseAnswer(data, answer);
    if (used == 0) return 0;
    if (answer.status != 101) throw Failure("no WebSocket: " + std::string(answer.body));
    upgraded_ = true;
    OnUpgraded();
  }
  while (open()) {
    const std::string_view rest = data.substr(used);
    if (rest.size() < 2) break;
    const auto byte = [&rest](std::size_t i) { return static_cast<std::uint8_t>(rest[i]); };
    const std::uint8_t opcode = byte(0) & 0x0F;
    if ((byte(0) & 0x80) == 0) throw Failure("a fragmented message");
    std::size_t head = 2;
    std::uint64_t size = byte(1) & 0x7F;
    const std::size_t more = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (rest.size() < head + more) break;
    if (more > 0) {
      size = 0;
      for (std::size_t i = 0; i < more; ++i) size = size << 8 | byte(head + i);
      head += more;
    }
    if (rest.size() - head < size) break;
    const std::string_view body = rest.substr(head, size);
    used += head + size;
    if (opcode == kText) {
      OnText(body);
    } else if (opcode == kPing) {
      SendFrame(kPong, body);
    } else if (opcode == kClose) {
      Close();
      OnClosed();
      return used;
    }
  }
  return used;
}

Caller::~Caller() { Close(); }

void Caller::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  in_.clear();
}

bool Caller::Open() {
  if (fd_ >= 0) return true;
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) throw Failure("no socket to be had");
  const int one = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  const timeval limit{kCallLimitSeconds, 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(target_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return true;
  Close();
  return false;
}

void Caller::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) throw Failure("the server takes no more");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string Caller::ReadAnswer(int& status) {
  char buffer[64 * 1024];
  HttpAnswer answer;
  for (;;) {
    if (const std::size_t size = ParseAnswer(in_, answer)) {
      status = answer.status;
      std::string body(answer.body);
      in_.erase(0, size);
      return body;
    }
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n <= 0) {
      Close();
      throw Failure("the server does not answer");
    }
    in_.append(buffer, static_cast<std::size_t>(n));
  }
}

std::string Caller::Call(std::string_view method, std::string_view path, std::string_view body) {
  if (!Open()) throw Failure("nobody listens on port " + std::to_string(target_.port));
  Write(target_.Request(method, path, body.empty() ? std::string_view() : "application/json", body));
  int status = 0;
  std::string answer = ReadAnswer(status);
  if (status >= 400) throw Failure(answer);
  return answer;
}

std::string Caller::CallLines(std::string_view path, std::string_view first, std::uint64_t count,
                              std::string_view line) {
  if (!Open()) throw Failure("nobody listens on port " + std::to_string(target_.port));
  std::string head = target_.Request("POST", path, {}, {});
  const std::uint64_t length = first.size() + 1 + count * (line.size() + 1);
  head.insert(head.size() - 2,
              "Content-Type: application/x-ndjson\r\nContent-Length: " + std::to_string(length) + "\r\n");
  head.append(first).append("\n");
  Write(head);
  std::string block;
  constexpr std::uint64_t kLinesPerWrite = 1000;
  for (std::uint64_t i = 0; i < std::min(count, kLinesPerWrite); ++i) block.append(line).append("\n");
  for (std::uint64_t left = count; left > 0;) {
    const std::uint64_t lines = std::min(left, kLinesPerWrite);
    Write(std::string_view(block).substr(0, lines * (line.size() + 1)));
    left -= lines;
  }
  int status = 0;
  std::string answer = ReadAnswer(status);
  if (status >= 400) throw Failure(answer);
  return answer;
}

int Caller::Probe(std::string_view path) {
  Close();
  if (!Open()) return 0;
  try {
    int status = 0;
    Write(target_.Request("GET", path, {}, {}));
    ReadAnswer(status);
    return status;
  } catch (const Failure&) {
    return 0;
  }
}

std::string_view TextField(std::string_view json, std::string_view key) {
  const std::string pattern = "\"" + std::string(key) + "\":\"";
  const std::size_t at = json.find(pattern);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + pattern.size();
  return json.substr(begin, json.find('"', begin) - begin);
}

}  // namespace allot::bench
