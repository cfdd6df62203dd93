// SPDX-License-Identifier: Apache-2.0
#include "server/net/http_connection.h"

#include <algorithm>

#include "base/bounds.h"
#include "base/text.h"
#include "server/net/context.h"
#include "server/net/serve.h"
#include "server/net/ws_connection.h"
#include "server/net/ws_upgrade.h"
#include "server/ops/clock.h"
#include "server/wire/reply_json.h"
#include "server/wire/request_query.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRequestReadBytes = 16 * 1024;
constexpr std::size_t kBodyReadBytes = NetThread::kReadBytes;  // while a body comes in
// Of one connection, before others have their turn.
constexpr int kRequestReadsAtOnce = 8;
constexpr int kTurns = 8;
constexpr std::size_t kMaxReadAhead = 32 * 1024;           // of requests behind the one that is worked on
constexpr std::size_t kMaxUnsentBeforeNext = 256 * 1024;   // more than this unsent: the next request waits
constexpr std::size_t kKeptBufferBytes = 4 * 1024;         // larger buffers are given back after use
constexpr std::uint64_t kMaxDiscardedBytes = 1024 * 1024;  // of a refused body, before the connection is ended instead
// Where no token is needed, and none of these paths has a use for a body.
constexpr std::uint64_t kMaxOpenBodyBytes = 4 * 1024;
// A client that reads at less than this is too slow for a long answer.
constexpr std::size_t kLeastReadBytesPerSecond = 16 * 1024;
constexpr Duration kLinger = 2s;

Method ToMethod(std::string_view word) {
  if (word == "GET" || word == "HEAD") return Method::kGet;
  if (word == "POST") return Method::kPost;
  if (word == "PUT") return Method::kPut;
  if (word == "PATCH") return Method::kPatch;
  if (word == "DELETE") return Method::kDelete;
  return Method::kOther;
}

// Keeps a little of its memory for the next time.
void Recycle(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptBufferBytes) std::string().swap(buffer);
}

}  // namespace

// --- Reply

Reply::~Reply() {
  if (to_ == nullptr) return;
  NetThread& net = to_->home();
  net.Post(Closure([to = std::move(to_), request = request_] { to->OnLost(request); }));
}

void ReplyTarget::OnLost(std::uint64_t request) {
  std::string body;
  AppendError({Code::kUnavailable, "the queue is not available", "try again soon"}, body);
  Response response;
  response.status = HttpStatus(Code::kUnavailable);
  response.body = body;
  Respond(request, response, {});
}

NetThread& Reply::net() const { return to_->home(); }
std::uint64_t Reply::owner() const { return to_->owner(); }

void Reply::Send(const Response& response) {
  const auto to = std::exchange(to_, nullptr);
  to->Respond(request_, response, {});
}

void Reply::Send(int status, std::string_view body, std::string_view type) {
  Response response;
  response.status = status;
  response.body = body;
  response.type = type;
  Send(response);
}

void Reply::Send(int status, std::string_view body, Closure on_lost) {
  const auto to = std::exchange(to_, nullptr);
  Response response;
  response.status = status;
  response.body = body;
  to->Respond(request_, response, std::move(on_lost));
}

void Reply::Fail(const Error& error) {
  std::string body;
  AppendError(error, body);
  Send(HttpStatus(error.code), body);
}

void Reply::OnAbort(Closure abort) {
  if (to_ != nullptr) to_->OnAbort(request_, std::move(abort));
}

bool Reply::alive() const { return to_ != nullptr && to_->Awaits(request_); }

std::shared_ptr<OpenResponse> Reply::Hijack() { return std::exchange(to_, nullptr)->Hijack(request_); }

// --- HttpConnection

HttpConnection::HttpConnection(NetThread& net, Stream stream, ServerContext& server, std::string peer)
    : Connection(net),
      server_(server),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      id_(server.next_connection.fetch_add(1)),
      inflight_(server.inflight),
      unread_(server.inflight),
      stranger_unread_(server.strangers) {
  server_.connections.fetch_add(1);
  server_.http_connections.fetch_add(1);
  server_.metrics.ConnectionOpened();
}

HttpConnection::~HttpConnection() {
  server_.connections.fetch_sub(1);
  server_.http_connections.fetch_sub(1);
  server_.metrics.ConnectionClosed();
}

void HttpConnection::Start() {
  net().Adopt(shared_from_this());
  read_deadline_ = net().now() + server_.config.request_timeout;
  Stream stream = std::move(*stream_);
  stream_.reset();
  socket_ = std::make_unique<Socket>(net(), std::move(stream), static_cast<Socket::User&>(*this));
}

void HttpConnection::OnReadable() {
  Guard("a request", [this] { Read(); });
}

bool HttpConnection::WantsInput() const {
  if (eof_) return false;
  switch (state_) {
    case State::kBody:
      if (body_paused_) return false;
      [[fallthrough]];
    case State::kIdle:
    case State::kHead:
      return unsent() <= kMaxUnsentBeforeNext;
    case State::kAnswering:
    case State::kLast:
      return input_.size() < kMaxReadAhead;
    case State::kHijacked:
    case State::kLingering:
      return true;
    case State::kClosed:
      break;
  }
  return false;
}

void HttpConnection::Read() {
  if (reading_) return;
  reading_ = true;
  int reads = 0;
  for (; reads < kRequestReadsAtOnce && WantsInput(); ++reads) {
    const bool bulk = state_ == State::kBody && (sink_ || body_.size() > kRequestReadBytes);
    const std::span<char> room = net().read_buffer().first(bulk ? kBodyReadBytes : kRequestReadBytes);
    const std::optional<std::size_t> n = socket_->Read(room);
    if (!n) {
      OnEnd();
      break;
    }
    if (*n == 0) break;
    server_.metrics.BytesIn(*n);
    Take(std::string_view(room.data(), *n));
  }
  reading_ = false;
  if (reads == kRequestReadsAtOnce && WantsInput() && socket_->readable()) AdvanceLater();
}

void HttpConnection::OnEnd() {
  eof_ = true;
  switch (state_) {
    case State::kAnswering:
      // Half-closed: an answer that is on its way is still wanted. One that is waited for is not.
      if (socket_->broken() || abort_) return Close();
      keep_alive_ = false;
      return;
    case State::kIdle:
      if (socket_->broken() || unsent() == 0) return Close();
      state_ = State::kLast;
      return;
    case State::kLast:
      if (!socket_->broken()) return;
      [[fallthrough]];
    default:
      return Close();
  }
}

void HttpConnection::Take(std::string_view bytes) {
  if (state_ == State::kLingering || state_ == State::kHijacked) return;
  if (input_.empty()) {
    input_ = bytes;
    input_is_kept_ = false;
  } else {
    kept_.erase(0, kept_.size() - input_.size());
    kept_.append(bytes);
    input_ = kept_;
  }
  Advance();
}

void HttpConnection::KeepInput() {
  if (!input_is_kept_) {
    kept_.assign(input_);
    input_ = kept_;
    input_is_kept_ = true;
  }
  if (input_.empty()) DropInput();
}

void HttpConnection::DropInput() {
  input_ = {};
  input_is_kept_ = true;
  Recycle(kept_);
}

bool HttpConnection::HasNext() const {
  return state_ == State::kIdle && !input_.empty() && unsent() <= kMaxUnsentBeforeNext;
}

void HttpConnection::Advance() {
  if (advancing_) return;  // it goes on further up
  advancing_ = true;
  int turns = 0;
  do {
    Parse();
    WriteOut();
  } while (HasNext() && ++turns < kTurns);
  advancing_ = false;
  if (state_ == State::kClosed) return;
  KeepInput();
  if (HasNext()) return AdvanceLater();
  Read();
}

void HttpConnection::AdvanceLater() {
  net().Later([self = std::static_pointer_cast<HttpConnection>(shared_from_this())] {
    self->Guard("a request", [&self] { self->Advance(); });
  });
}

void HttpConnection::Parse() {
  while (true) {
    if (state_ == State::kIdle) {
      if (!HasNext()) return;  // OnWritten() goes on
      BeginRequest();
    } else if (state_ == State::kHead) {
      if (!TakeHead()) return;
    } else if (state_ == State::kBody && !body_paused_) {
      if (decoder_.done()) {
        OnRequest();
      } else if (input_.empty()) {
        return;
      } else {
        TakeBody();
      }
    } else {
      return;
    }
  }
}

void HttpConnection::BeginRequest() {
  scanner_ = {};
  scanned_ = 0;
  ++request_no_;
  refusal_.reset();
  decoder_ = {};
  body_.clear();
  body_paused_ = false;
  open_path_ = false;
  admitted_ = false;
  only_looks_ = false;
  head_only_ = false;
  state_ = State::kHead;
  read_deadline_ = net().now() + server_.config.request_timeout;
}

bool HttpConnection::TakeHead() {
  std::size_t used = 0;
  const Result<bool> complete = scanner_.Scan(input_.substr(scanned_), used);
  scanned_ += used;
  if (!complete.ok()) {
    Refuse(complete.error());
    return true;
  }
  if (!*complete) return false;
  const std::string_view bytes = input_.substr(0, scanned_);
  input_.remove_prefix(scanned_);
  const Result<RequestHead> head = RequestHead::Parse(bytes);
  if (!head.ok()) {
    Refuse(head.error());
  } else {
    OnHead(*head);
  }
  return true;
}

Result<PrincipalPtr> HttpConnection::Authenticate(std::string_view header) {
  const Now now = ReadClock();
  if (admission_.principal && header == authorization_ && server_.tokens->Holds(admission_, now)) {
    return admission_.principal;
  }
  Result<TokenBook::Admission> admission = server_.tokens->Verify(header, now);
  if (!admission.ok()) return admission.error();
  authorization_ = header;
  admission_ = std::move(*admission);
  return admission_.principal;
}

bool HttpConnection::Admitted() { return server_.tokens->Renew(admission_, authorization_, ReadClock()); }

std::optional<Error> HttpConnection::Inspect(const RequestHead& head) {
  const std::string_view target = head.target();
  const std::size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  request_.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  request_.method = ToMethod(head.method());
  request_.media = MediaType(head[HeadField::kContentType]);
  request_.peer = peer_;
  request_.upgrade = EqualNoCase(head[HeadField::kUpgrade], "websocket");
  head_only_ = head.method() == "HEAD";
  only_looks_ = request_.method == Method::kGet;
  if (only_looks_) {
    request_.events = !head_only_ && Accepts(head[HeadField::kAccept], kEventsType);
    request_.gzip = Accepts(head[HeadField::kAcceptEncoding], "gzip");
    request_.if_none_match = head[HeadField::kIfNoneMatch];
  }
  request_.head = head_only_;
  bool forwarded = false;
  if (server_.signer) {
    request_.authorization = head[HeadField::kAuthorization];
    request_.redirect = EqualNoCase(head[HeadField::kRedirect], "yes");
    if (const std::string_view header = head[HeadField::kForwarded]; !header.empty()) {
      std::optional<cluster::Forwarded> from =
          server_.signer->Verify(header, {head.method(), target, request_.authorization});
      if (!from) {
        return Error{Code::kForbidden, "the request came over a node that has another secret",
                     "all nodes of a cluster have the same: see cluster_secret_file"};
      }
      request_.peer = std::move(from->peer);
      request_.hops = from->hops;
      forwarded = true;  // the node before has looked where it comes from
    }
  }
  Result<std::vector<std::string>> parts = SplitPath(request_.path);
  if (!parts.ok()) return parts.error();
  request_.parts = std::move(*parts);
  open_path_ = NeedsNoToken(request_);
  const Result<void> own =
      forwarded ? Result<void>() : server_.origins.Check(head[HeadField::kHost], head[HeadField::kOrigin]);
  if (!own.ok() && !(open_path_ && own.error().code == Code::kBadRequest)) return own.error();
  if (open_path_) {
    request_.principal = LocalPrincipal();
  } else if (IsWebPath(request_)) {
    request_.principal = Nobody();
    open_path_ = true;
    return RefuseWeb(request_, !decoder_.done());
  } else {
    Result<PrincipalPtr> principal = Authenticate(head[HeadField::kAuthorization]);
    if (!principal.ok()) return principal.error();
    request_.principal = std::move(*principal);
    admitted_ = true;
  }
  return std::nullopt;
}

void HttpConnection::OnHead(const RequestHead& head) {
  request_ = {};
  state_ = State::kBody;
  Result<BodyDecoder> decoder = BodyDecoder::For(head);
  if (!decoder.ok()) return Refuse(decoder.error());
  decoder_ = *decoder;
  keep_alive_ = head.keep_alive();
  refusal_ = Inspect(head);
  if (!refusal_ && request_.upgrade) return Upgrade(head);
  if (!refusal_) {
    Result<std::unique_ptr<BodySink>> sink =
        OpenSink(server_, std::static_pointer_cast<HttpConnection>(shared_from_this()), request_);
    if (!sink.ok()) {
      refusal_ = sink.error();
    } else if (*sink) {
      sink_ = std::move(*sink);
    } else if (decoder_.length() > MaxBody()) {
      refusal_ =
          Error{Code::kTooLarge,
                "the body has " + std::to_string(decoder_.length()) + " bytes, more than " + std::to_string(MaxBody()),
                "submit many tasks as a stream of lines (application/x-ndjson)"};
    }
  }
  if (refusal_ && (decoder_.chunked() || decoder_.length() > kMaxDiscardedBytes)) return Refuse(*refusal_);
  if (!decoder_.done() && EqualNoCase(head[HeadField::kExpect], "100-continue")) {
    if (refusal_) return Refuse(*refusal_);
    out_.append("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

std::uint64_t HttpConnection::MaxBody() const {
  return open_path_ ? std::min(kMaxOpenBodyBytes, server_.config.max_body_bytes) : server_.config.max_body_bytes;
}

void HttpConnection::TakeBody() {
  const Result<std::size_t> used = decoder_.Take(input_, body_);
  if (!used.ok()) return Refuse(used.error());
  input_.remove_prefix(*used);
  if (refusal_) {
    body_.clear();
  } else if (sink_) {
    FeedSink();
  } else if (body_.size() > MaxBody()) {
    Refuse({Code::kTooLarge, "the body has more than " + std::to_string(MaxBody()) + " bytes",
            "submit many tasks as a stream of lines (application/x-ndjson)"});
  } else if (!inflight_.Grow(request_.principal->id, body_.capacity())) {
    Refuse({Code::kUnavailable, "too many large requests at once", "try again soon"});
  }
}

void HttpConnection::FeedSink() {
  if (body_.empty()) return;
  // A stream may take as long as it likes, as long as its content moves: by whole parts, not by single bytes.
  const std::uint64_t before = sink_->complete();
  const Result<bool> more = sink_->OnBody(body_);
  body_.clear();
  if (sink_->complete() != before) read_deadline_ = net().now() + server_.config.request_timeout;
  if (!more.ok()) {
    EndSink();
    if (!decoder_.done()) return Refuse(more.error());
    refusal_ = more.error();
  } else if (!*more) {
    body_paused_ = true;
    read_deadline_.reset();
  }
}

// Whoever takes the body lets go of this when the client turns out to be gone: Guard() keeps it.
void HttpConnection::ResumeBody() {
  if (!body_paused_ || state_ != State::kBody) return;
  Guard("a body", [this] {
    body_paused_ = false;
    read_deadline_ = net().now() + server_.config.request_timeout;
    Advance();
  });
}

void HttpConnection::BreakBody(const Error& error) {
  if (state_ == State::kBody && sink_) Guard("a body", [this, &error] { Refuse(error); });
}

void HttpConnection::EndSink() {
  if (!sink_) return;
  const std::unique_ptr<BodySink> sink = std::move(sink_);
  sink->OnBroken();
}

void HttpConnection::OnRequest() {
  state_ = State::kAnswering;
  read_deadline_.reset();
  const auto self = std::static_pointer_cast<HttpConnection>(shared_from_this());
  Reply reply(self, request_no_, std::move(inflight_));
  if (refusal_) return reply.Fail(*refusal_);
  if (sink_) {
    const std::unique_ptr<BodySink> sink = std::move(sink_);
    sink->OnEnd(std::move(reply));
    return;
  }
  request_.body = std::move(body_);
  body_ = {};
  Serve(server_, std::move(request_), std::move(reply));
}

void HttpConnection::Upgrade(const RequestHead& head) {
  if (socket_->busy() || unsent() != 0) {
    return Refuse({Code::kBadRequest, "an upgrade cannot follow a request that is not answered yet", ""});
  }
  if (!decoder_.done()) return Refuse({Code::kBadRequest, "an upgrade has no body", ""});
  Result<std::shared_ptr<UpgradeTarget>> upgraded = OpenWebSocket(server_, net(), request_);
  if (!upgraded.ok()) {
    refusal_ = upgraded.error();
    return;
  }
  if (const Result<void> handshake = CheckHandshake(head); !handshake.ok()) {
    refusal_ = handshake.error();
    return;
  }
  const auto self = shared_from_this();
  WsUpgrade upgrade;
  upgrade.socket = std::move(socket_);
  upgrade.ahead = input_;
  upgrade.key = head[HeadField::kWsKey];
  upgrade.authorization = authorization_;
  upgrade.admission = admission_;
  state_ = State::kClosed;
  net().Disown(*this);
  (*upgraded)->Accept(std::move(upgrade));
}

void HttpConnection::Refuse(const Error& error) {
  inflight_.Clear();
  body_ = {};
  EndSink();
  keep_alive_ = false;
  state_ = State::kAnswering;
  std::string body;
  AppendError(error, body);
  Response response;
  response.status = HttpStatus(error.code);
  response.body = body;
  Respond(request_no_, response, {});
}

void HttpConnection::OnAbort(std::uint64_t request, Closure abort) {
  if (Awaits(request)) abort_ = std::move(abort);
}

std::shared_ptr<OpenResponse> HttpConnection::Hijack(std::uint64_t request) {
  if (!Awaits(request)) return nullptr;
  abort_ = {};
  state_ = State::kHijacked;
  return std::static_pointer_cast<HttpConnection>(shared_from_this());
}

void HttpConnection::Respond(std::uint64_t request, const Response& response, Closure on_lost) {
  if (!Awaits(request)) {
    if (on_lost) on_lost();
    return;
  }
  Guard("an answer", [&] { SendAnswer(response, std::move(on_lost)); });
}

void HttpConnection::OnLost(std::uint64_t request) {
  // A queue that another node has now: an error would say that nothing was done, where an answer that is missing says
  // neither.
  if (server_.peers != nullptr && !only_looks_ && Awaits(request)) return Close();
  ReplyTarget::OnLost(request);
}

bool HttpConnection::HasRoomFor(const Response& response) {
  const std::size_t bytes = unsent() + response.body.size();
  if (admitted_) return unread_.Grow(admission_.principal->id, bytes);
  return stranger_unread_.Grow(peer_.substr(0, peer_.rfind(':')), bytes);
}

void HttpConnection::ClearUnread() {
  unread_.Clear();
  stranger_unread_.Clear();
}

void HttpConnection::SendAnswer(const Response& response, Closure on_lost) {
  // Where nothing is lost with it: what only looked, and what is taken back.
  if (!HasRoomFor(response) && (only_looks_ || on_lost)) {
    only_looks_ = false;
    if (on_lost) on_lost();
    std::string text;
    AppendError({Code::kUnavailable, "too many long answers wait to be read", "read them, and try again"}, text);
    Response instead;
    instead.status = HttpStatus(Code::kUnavailable);
    instead.body = text;
    return SendAnswer(instead, {});
  }
  abort_ = {};
  server_.metrics.RequestServed(response.status);
  if (server_.stopping.load(std::memory_order_relaxed)) keep_alive_ = false;
  ResponseHead head;
  head.status = response.status;
  head.type = response.type;
  // A 304 has no body, and a length would be that of the one that it stands for.
  if (response.status != 304) head.length = response.body.size();
  head.close = !keep_alive_;
  head.cache = response.cache;
  head.extra = response.status == 401 ? "WWW-Authenticate: Bearer\r\n" : response.extra;
  std::string named;
  if (!server_.node_line.empty() && head.extra.find("Allot-Node:") == std::string_view::npos) {
    named = std::string(head.extra) + server_.node_line;
    head.extra = named;
  }
  AppendHead(head, out_);
  if (!head_only_) out_.append(response.body);
  if (on_lost) lost_.push_back(std::move(on_lost));
  state_ = keep_alive_ ? State::kIdle : State::kLast;
  read_deadline_ = net().now() + server_.config.idle_timeout;
  net().MarkDirty(*this);
}

void HttpConnection::Flush() {
  WriteOut();
  // A request that came in behind the one just answered.
  if (HasNext()) Advance();
}

std::size_t HttpConnection::unsent() const {
  return out_.size() + writing_.size() - written_ + (socket_ ? socket_->unsent() : 0);
}

void HttpConnection::WriteOut() {
  if (state_ == State::kClosed || !socket_->sent()) return;  // OnWritable() goes on
  if (writing_.empty()) {
    if (out_.empty()) return;
    writing_.swap(out_);
    // From here on the client may have it, whatever becomes of the write.
    lost_.clear();
    write_end_ =
        net().now() + server_.config.write_timeout + std::chrono::seconds(writing_.size() / kLeastReadBytesPerSecond);
  }
  const std::optional<std::size_t> n = socket_->Write(std::string_view(writing_).substr(written_), {});
  if (!n) return Close();
  server_.metrics.BytesOut(*n);
  written_ += *n;
  if (written_ == writing_.size() && socket_->sent()) return OnWritten();
  write_deadline_ = std::min(net().now() + server_.config.write_timeout, write_end_);
}

void HttpConnection::OnWritable() {
  Guard("writing", [this] {
    if (state_ == State::kClosed) return;
    if (socket_->broken()) return Close();
    if (written_ == writing_.size()) return OnWritten();
    WriteOut();
  });
}

void HttpConnection::OnWritten() {
  Recycle(writing_);
  written_ = 0;
  if (out_.empty()) Recycle(out_);
  write_deadline_.reset();
  if (out_.empty()) {
    ClearUnread();
    if (state_ == State::kLast) return Finish();
    if (drained_) {
      // It may end the response, and so itself.
      UniqueFunction<void(bool)> drained = std::move(drained_);
      draining_ = true;
      const bool survived = net().exceptions().Survives("writing", [&drained] { drained(true); });
      draining_ = false;
      if (!survived) {
        // Whoever wrote learns that it is over.
        if (!drained_) drained_ = std::move(drained);
        return Close();
      }
      if (state_ == State::kClosed) return drained(false);
      if (state_ == State::kHijacked && !drained_) drained_ = std::move(drained);
    }
  }
  if (state_ == State::kIdle) return Advance();
  // Others have their turn between two writes.
  if (!out_.empty()) AdvanceLater();
}

void HttpConnection::Write(std::string_view bytes) {
  if (state_ != State::kHijacked) return;
  Guard("an answer", [this, bytes] {
    out_.append(bytes);
    if (!draining_) net().MarkDirty(*this);
  });
}

void HttpConnection::EndResponse() {
  if (state_ != State::kHijacked) return;
  Guard("the end of an answer", [this] {
    drained_ = {};
    state_ = State::kLast;
    if (unsent() == 0) Finish();
  });
}

void HttpConnection::Finish() {
  socket_->ShutdownSend();
  if (eof_) return Close();
  state_ = State::kLingering;
  read_deadline_ = net().now() + kLinger;
  DropInput();
  Read();
}

void HttpConnection::Lost() {
  inflight_.Clear();
  ClearUnread();
  body_ = {};
  // Each of them, whatever the others throw.
  const auto run = [this](auto&& f) { net().exceptions().Survives("the end of a connection", f); };
  run([this] { EndSink(); });
  if (Closure abort = std::exchange(abort_, {})) run([&abort] { abort(); });
  for (Closure& lost : std::exchange(lost_, {})) run([&lost] { lost(); });
  if (UniqueFunction<void(bool)> drained = std::exchange(drained_, {})) run([&drained] { drained(false); });
}

void HttpConnection::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  if (stream_) stream_->Close();
  if (socket_) socket_->Close();
  Lost();
  net().Disown(*this);
}

void HttpConnection::Abort() { Close(); }

void HttpConnection::CloseIfIdle() {
  if (unsent() == 0 && ((state_ == State::kIdle && input_.empty()) || state_ == State::kHijacked)) Close();
}

void HttpConnection::OnRevoked() {
  // Whether something that was begun has been done is not known here: no answer says neither. What waits has not been.
  if (state_ == State::kHijacked || (state_ == State::kAnswering && !abort_)) return Close();
  if (abort_) std::exchange(abort_, {})();
  if (state_ == State::kAnswering || state_ == State::kBody) {
    Refuse({Code::kUnauthorized, "the token is no longer valid", "`allot token create` makes a new one"});
  }
}

void HttpConnection::Sweep(Instant now) {
  if (state_ == State::kClosed) return;
  if (write_deadline_ && now >= *write_deadline_) return Close();
  if (admitted_ && (state_ == State::kHijacked || state_ == State::kAnswering || state_ == State::kBody) &&
      !Admitted()) {
    return OnRevoked();
  }
  if (!read_deadline_ || now < *read_deadline_) return;
  if (state_ == State::kHead || state_ == State::kBody) {
    return Refuse({Code::kTimedOut, "the request came too slowly", ""});
  }
  if (state_ == State::kIdle || state_ == State::kLingering) Close();
}

}  // namespace allot
