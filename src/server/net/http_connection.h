// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection: requests come in, are answered in order, and the connection is kept alive.
//
// Bounded throughout: heads and bodies by their limits (http_framing.h), all bodies together (inflight.h), what is read
// ahead by one buffer, what is written by not going on to the next request while much is unsent. A peer that is slow in
// any of these is cut off by Sweep(), and so is one whose token is no longer what it was.
//
// Threading: confined to its network thread, except Reply's destructor.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "server/net/http_framing.h"
#include "server/net/http_text.h"
#include "server/net/inflight.h"
#include "server/net/net_thread.h"
#include "server/net/request.h"
#include "server/net/stream.h"
#include "server/ops/principal.h"
#include "server/ops/tokens.h"
#include "server/queue/closure.h"

namespace allot {

struct ServerContext;

class HttpConnection final : public Connection, public ReplyTarget, public OpenResponse, public BodySource {
 public:
  HttpConnection(NetThread& net, Stream stream, ServerContext& server, std::string peer);
  ~HttpConnection() override;
  void Start();

  void Sweep(Instant now) override;
  void Flush() override;
  void Abort() override;
  void CloseIfIdle() override;

  NetThread& home() const override { return net(); }
  std::uint64_t owner() const override { return id_; }

  void Respond(std::uint64_t request, const Response& response, Closure on_lost) override;
  void OnAbort(std::uint64_t request, Closure abort) override;
  std::shared_ptr<OpenResponse> Hijack(std::uint64_t request) override;
  bool Awaits(std::uint64_t request) const override { return state_ == State::kAnswering && request_no_ == request; }
  void OnLost(std::uint64_t request) override;

  void ResumeBody() override;
  void BreakBody(const Error& error) override;

  void Write(std::string_view bytes) override;
  std::size_t unsent() const override { return out_.size() + writing_.size() - written_; }
  void OnDrained(UniqueFunction<void(bool)> drained) override { drained_ = std::move(drained); }
  void EndResponse() override;
  void BreakResponse() override { Abort(); }

 private:
  // Of heads alone: bodies are decoded here.
  using Parser = beast::http::request_parser<beast::http::empty_body>;
  enum class State {
    kIdle,       // between requests
    kHead,       // of a request
    kBody,       //
    kAnswering,  // a request is being worked on
    kHijacked,   // a response goes on
    kLast,       // the last answer is being written
    kLingering,  // so that the last answer is not lost in a reset
    kClosed,
  };

  void Read();
  void OnRead(error_code ec, std::size_t n);
  void Advance();
  void BeginRequest();
  // False: it is not complete.
  bool TakeHead();
  void OnHead();
  std::optional<Error> Inspect();
  Result<PrincipalPtr> Authenticate();
  // The token of the last request is what it was.
  bool Admitted();
  void Upgrade();
  // What there is of it. The request may be over then.
  void TakeBody();
  void OnRequest();
  void SendAnswer(const Response& response, Closure on_lost);
  // There is memory for a long answer until it is read.
  bool HasRoomFor(const Response& response);
  void ClearUnread();
  // Answers the request that is being read, and ends the connection after it.
  void Refuse(const Error& error);
  void WriteSome();
  void OnWrittenSome(error_code ec, std::size_t n);
  void OnWritten();
  void Finish();
  void Close();
  void Lost();
  void EndSink();
  void FeedSink();
  std::uint64_t MaxBody() const;
  // The token of the request under way is no longer good.
  void OnRevoked();

  ServerContext& server_;
  Stream stream_;
  const std::string peer_;
  const std::uint64_t id_;
  State state_ = State::kIdle;
  bool reading_ = false;
  bool eof_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool body_paused_ = false;
  std::optional<Instant> read_deadline_;
  std::optional<Instant> write_deadline_;
  Instant write_end_{};  // however much it moves

  std::string chunk_;      // being read into
  beast::flat_buffer in_;  // not yet parsed
  std::optional<Parser> parser_;
  Request request_;
  std::uint64_t request_no_ = 0;
  std::optional<Error> refusal_;  // answered once the body is through
  bool open_path_ = false;        // no token is needed, and no body
  bool admitted_ = false;         // by a token, if there are any
  HeadScanner scanner_;
  std::size_t scanned_ = 0;  // of in_, by it
  BodyDecoder decoder_;
  std::string body_;                // collected, or a piece that goes to the sink
  bool only_looks_ = false;         // a GET: refusing its answer loses nothing
  InflightBudget::Share inflight_;  // what it has of all connections' memory; goes with the request to its answer
  std::unique_ptr<BodySink> sink_;
  Closure abort_;

  std::string out_;
  InflightBudget::Share unread_;           // for answers that are not sent yet
  InflightBudget::Share stranger_unread_;  // of those, for the ones that need no token
  std::string writing_;
  std::size_t written_ = 0;
  std::vector<Closure> lost_;
  UniqueFunction<void(bool)> drained_;

  // The last token that was verified on this connection.
  std::string authorization_;
  TokenBook::Admission admission_;
};

}  // namespace allot
