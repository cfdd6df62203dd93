// SPDX-License-Identifier: Apache-2.0
// A request, and the duty to answer it, as those see them who serve it: without sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "server/net/http_text.h"
#include "server/net/inflight.h"
#include "server/ops/principal.h"
#include "server/queue/closure.h"
#include "server/queue/fair_queue.h"

namespace allot {

class NetThread;

enum class Method : std::uint8_t { kGet, kPost, kPut, kPatch, kDelete, kOther };

struct Request {
  Method method = Method::kOther;
  std::string path;
  std::string query;
  std::vector<std::string> parts;  // of the path, decoded
  std::string media;               // of the body, in lower case; empty: not said
  std::string body;
  PrincipalPtr principal;
  std::string peer;  // ADDRESS:PORT
  // Not 0: asked by the server on behalf of those who watch, which counts apart and is never refused for being many.
  AskerId asker = 0;
  bool upgrade = false;
  bool events = false;        // it takes server-sent events
  bool gzip = false;          // it takes compressed bodies
  std::string if_none_match;  // of a GET
  // Of a node of a cluster.
  std::string authorization;  // that header's value
  bool head = false;          // only the answer's head is wanted
  bool redirect = false;      // the client goes to another node by itself
  int hops = 0;               // nodes that it came over
};

// A response that goes on: its own head and body, until the connection ends, or the token that it was asked for with
// is no longer what it was.
//
// Threading: confined to the connection's network thread.
class OpenResponse {
 public:
  virtual ~OpenResponse() = default;
  virtual NetThread& home() const = 0;
  // What stands for the connection in a WaitTable.
  virtual std::uint64_t owner() const = 0;
  virtual void Write(std::string_view bytes) = 0;
  virtual std::size_t unsent() const = 0;
  // Called whenever everything is sent, and with false when the connection is gone. Stays until the end.
  virtual void OnDrained(UniqueFunction<void(bool)> drained) = 0;
  virtual void EndResponse() = 0;
  // Without an end.
  virtual void BreakResponse() = 0;
};

// An answer as a whole.
struct Response {
  int status = 200;
  std::string_view body;
  std::string_view type = kJsonType;
  std::string_view cache = kNoStore;
  std::string_view extra;  // whole lines of the head
};

// Where an answer goes: a connection, or whoever asks on behalf of others. Requests are told apart by a number, since
// an answer may come after its request was given up.
//
// Threading: home() and owner() from any thread, the rest on its network thread.
class ReplyTarget {
 public:
  virtual ~ReplyTarget() = default;
  virtual NetThread& home() const = 0;
  // What stands for it in a WaitTable.
  virtual std::uint64_t owner() const = 0;
  // `on_lost` may be empty.
  virtual void Respond(std::uint64_t request, const Response& response, Closure on_lost) = 0;
  virtual void OnAbort(std::uint64_t request, Closure abort) = 0;
  virtual std::shared_ptr<OpenResponse> Hijack(std::uint64_t request) = 0;
  virtual bool Awaits(std::uint64_t request) const = 0;
  // Nobody will answer, and whether what was asked for is done nobody knows.
  virtual void OnLost(std::uint64_t request);
};

// The duty to answer one request. If it gets lost (a queue that ends, a command that is dropped), the answer is
// `unavailable`.
//
// Threading: passed from thread to thread; answers on the network thread.
class Reply {
 public:
  Reply() = default;
  // `body` is what the request's body has of the memory for all: it is given back with the answer.
  Reply(std::shared_ptr<ReplyTarget> to, std::uint64_t request, InflightBudget::Share body = {})
      : to_(std::move(to)), request_(request), body_(std::move(body)) {}
  Reply(Reply&& other) noexcept : to_(std::move(other.to_)), request_(other.request_), body_(std::move(other.body_)) {
    other.to_ = nullptr;
  }
  Reply& operator=(Reply&& other) noexcept {
    std::swap(to_, other.to_);
    std::swap(request_, other.request_);
    std::swap(body_, other.body_);
    return *this;
  }
  ~Reply();

  NetThread& net() const;
  // For waits: what stands for this connection in a WaitTable.
  std::uint64_t owner() const;

  // Once, one of them.
  void Send(int status, std::string_view body, std::string_view type = kJsonType);
  // `on_lost` runs if the answer surely never left.
  void Send(int status, std::string_view body, Closure on_lost);
  void Send(const Response& response);
  void Fail(const Error& error);

  // Before the answer: runs if the client goes away first.
  void OnAbort(Closure abort);
  // Instead of an answer. Null if the client is gone.
  std::shared_ptr<OpenResponse> Hijack();
  // It is still there, and waits for this answer.
  bool alive() const;
  // As if it were lost.
  void Lose() { Reply(std::move(*this)); }
  // For what outlives, or does not outlive, the answer.
  InflightBudget::Share TakeBody() { return std::move(body_); }

 private:
  std::shared_ptr<ReplyTarget> to_;
  std::uint64_t request_ = 0;
  InflightBudget::Share body_;
};

// Takes a body as it comes in.
class BodySink {
 public:
  virtual ~BodySink() = default;
  // True: give me more. False: I am not ready, ResumeBody() follows. An error ends the request with it.
  virtual Result<bool> OnBody(std::string_view bytes) = 0;
  // The body is complete.
  virtual void OnEnd(Reply reply) = 0;
  // Neither more nor an end will come.
  virtual void OnBroken() = 0;
  // How many of its parts have come in whole: the next has to follow in time, however many bytes of it come.
  virtual std::uint64_t complete() const = 0;
};

// Where a sink's body comes from.
//
// Threading: confined to the connection's network thread.
class BodySource {
 public:
  virtual ~BodySource() = default;
  virtual NetThread& home() const = 0;
  // For a sink that said false.
  virtual void ResumeBody() = 0;
  // For a sink that found an error in the meantime: answers with it.
  virtual void BreakBody(const Error& error) = 0;
};

}  // namespace allot
