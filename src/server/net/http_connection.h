// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection: requests come in, are answered in order, and the connection is kept alive.
//
// Bounded throughout: heads and bodies by their limits (http_framing.h), all bodies together (inflight.h), what is read
// ahead by a bound of its own, what is written by not going on to the next request while much is unsent. A peer that is
// slow in any of these is cut off by Sweep(), and so is one whose token is no longer what it was.
//
// A request that is there whole is parsed where the thread has read it, and an answer is written at once: between
// requests a connection has no memory for them.
//
// Threading: confined to its network thread, except Reply's destructor.
#pragma once

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
#include "server/net/http_head.h"
#include "server/net/http_text.h"
#include "server/net/inflight.h"
#include "server/net/net_thread.h"
#include "server/net/request.h"
#include "server/net/socket.h"
#include "server/net/stream.h"
#include "server/ops/principal.h"
#include "server/ops/tokens.h"
#include "server/queue/closure.h"

namespace allot {

struct ServerContext;

class HttpConnection final : public Connection,
                             public ReplyTarget,
                             public OpenResponse,
                             public BodySource,
                             private Socket::User {
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
  std::size_t unsent() const override;
  void OnDrained(UniqueFunction<void(bool)> drained) override { drained_ = std::move(drained); }
  void EndResponse() override;
  void BreakResponse() override { Abort(); }

 private:
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

  void OnReadable() override;
  void OnWritable() override;
  std::shared_ptr<void> Keep() override { return shared_from_this(); }
  // What there is, as long as it is wanted.
  void Read();
  bool WantsInput() const;
  void OnEnd();
  void Take(std::string_view bytes);
  // Goes on with what was read, as far as that goes.
  void Advance();
  void Parse();
  // There is a request behind the last one, and room for its answer.
  bool HasNext() const;
  // Advance(), when others have had their turn.
  void AdvanceLater();
  void BeginRequest();
  // False: it is not complete.
  bool TakeHead();
  void OnHead(const RequestHead& head);
  std::optional<Error> Inspect(const RequestHead& head);
  Result<PrincipalPtr> Authenticate(std::string_view header);
  // The token of the last request is what it was.
  bool Admitted();
  void Upgrade(const RequestHead& head);
  // What there is of it. The request may be over then.
  void TakeBody();
  void OnRequest();
  void SendAnswer(const Response& response, Closure on_lost);
  // There is memory for a long answer until it is read.
  bool HasRoomFor(const Response& response);
  void ClearUnread();
  // Answers the request that is being read, and ends the connection after it.
  void Refuse(const Error& error);
  void WriteOut();
  void OnWritten();
  // What is not parsed yet outlives the thread's buffer.
  void KeepInput();
  void DropInput();
  void Finish();
  void Close();
  void Lost();
  void EndSink();
  void FeedSink();
  std::uint64_t MaxBody() const;
  // The token of the request under way is no longer good.
  void OnRevoked();

  ServerContext& server_;
  std::optional<Stream> stream_;  // until it starts
  std::unique_ptr<Socket> socket_;
  const std::string peer_;
  const std::uint64_t id_;
  State state_ = State::kIdle;
  bool reading_ = false;    // Read() is on the stack
  bool advancing_ = false;  // Advance() is
  bool draining_ = false;   // drained_() is
  bool eof_ = false;
  bool keep_alive_ = true;
  bool head_only_ = false;
  bool body_paused_ = false;
  std::optional<Instant> read_deadline_;
  std::optional<Instant> write_deadline_;
  Instant write_end_{};  // however much it moves

  std::string_view input_;  // not yet parsed: of kept_, or of the thread's buffer
  std::string kept_;
  bool input_is_kept_ = true;
  Request request_;
  std::uint64_t request_no_ = 0;
  std::optional<Error> refusal_;  // answered once the body is through
  bool open_path_ = false;        // no token is needed, and no body
  bool admitted_ = false;         // by a token, if there are any
  HeadScanner scanner_;
  std::size_t scanned_ = 0;  // of input_, by it
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
  std::size_t written_ = 0;  // of it, what the socket took
  std::vector<Closure> lost_;
  UniqueFunction<void(bool)> drained_;

  // The last token that was verified on this connection.
  std::string authorization_;
  TokenBook::Admission admission_;
};

}  // namespace allot
