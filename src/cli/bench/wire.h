// SPDX-License-Identifier: Apache-2.0
// Our protocol as lean as a load generator needs it: requests and frames are built by hand, answers looked at just as
// far as is needed.
//
// Threading: the loop's thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/loop.h"

namespace allot::bench {

// Where the server under measurement is.
struct Target {
  std::uint16_t port = 0;
  std::string queue = "default";
  std::string token;  // empty: none
  // `/v1/queues/Q` and what follows.
  std::string Path(std::string_view rest) const;
  // A whole request; with no `type` one without a body.
  std::string Request(std::string_view method, std::string_view path, std::string_view type,
                      std::string_view body) const;
};

struct HttpAnswer {
  int status = 0;
  std::string_view body;
};
// The answer at the beginning of `data`: its size in bytes, 0 if it is not complete.
std::size_t ParseAnswer(std::string_view data, HttpAnswer& answer);

// One request at a time on a kept-alive connection.
class HttpLink : public Link {
 public:
  using Link::Link;
  bool opened = false;

 protected:
  virtual void OnAnswer(const HttpAnswer& answer) = 0;
  void OnOpen() override { opened = true; }
  std::size_t OnData(std::string_view data) override;
};

// A WebSocket. Frames are masked with a key of zeros: allowed, and free.
class WebSocketLink : public Link {
 public:
  WebSocketLink(Loop& loop, const Target& target, std::string_view path);
  void SendText(std::string_view text);

 protected:
  virtual void OnUpgraded() = 0;
  virtual void OnText(std::string_view text) = 0;
  void OnOpen() override;
  std::size_t OnData(std::string_view data) override;

 private:
  void SendFrame(std::uint8_t opcode, std::string_view body);
  std::string request_;
  bool upgraded_ = false;
  std::string frame_;
};

// Blocking requests, one after the other, for what stands around a measurement. Failure for an answer of 400 and above.
class Caller {
 public:
  explicit Caller(Target target) : target_(std::move(target)) {}
  ~Caller();
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  // The answer's body.
  std::string Call(std::string_view method, std::string_view path, std::string_view body = {});
  // A stream of lines, `first` and then `count` times `line`; the answer's body.
  std::string CallLines(std::string_view path, std::string_view first, std::uint64_t count, std::string_view line);
  // Status of a GET, 0 if nobody answers.
  int Probe(std::string_view path);
  const Target& target() const { return target_; }

 private:
  bool Open();
  void Write(std::string_view bytes);
  std::string ReadAnswer(int& status);
  void Close();

  const Target target_;
  int fd_ = -1;
  std::string in_;
};

// The text of a field `"key":"value"` of a flat answer; empty if there is none.
std::string_view TextField(std::string_view json, std::string_view key);

}  // namespace allot::bench
