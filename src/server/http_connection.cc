#include "server/http_connection.h"

#include <algorithm>

#include "base/bounds.h"
#include "server/clock.h"
#include "server/context.h"
#include "server/reply_json.h"
#include "server/request_query.h"
#include "server/routes.h"
#include "server/serve_web.h"
#include "server/ws_connection.h"
#include "server/ws_upgrade.h"

namespace allot {
namespace {

namespace http = beast::http;
using namespace std::chrono_literals;

constexpr std::size_t kReadBytes = 4 * 1024;
constexpr std::size_t kBulkReadBytes = 64 * 1024;          // while a body comes in
constexpr std::size_t kMaxReadAhead = 32 * 1024;           // of requests behind the one that is worked on
constexpr std::size_t kMaxUnsentBeforeNext = 256 * 1024;   // more than this unsent: the next request waits
constexpr std::size_t kKeptBufferBytes = 16 * 1024;        // larger buffers are given back after use
constexpr std::uint64_t kMaxDiscardedBytes = 1024 * 1024;  // of a refused body, before the connection is ended instead
// Of all bodies that are coming in, together: each is bounded, but there may be many.
constexpr std::uint64_t kMaxCollectedBytes = 512 * 1024 * 1024;
constexpr Duration kLinger = 2s;

Method ToMethod(http::verb verb) {
  switch (verb) {
    case http::verb::get:
    case http::verb::head:
      return Method::kGet;
    case http::verb::post:
      return Method::kPost;
    case http::verb::put:
      return Method::kPut;
    case http::verb::patch:
      return Method::kPatch;
    case http::verb::delete_:
      return Method::kDelete;
    default:
      return Method::kOther;
  }
}

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

bool EqualsNoCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
           return lower(x) == lower(y);
         });
}

}  // namespace

// --- Reply

Reply::~Reply() {
  if (to_ == nullptr) return;
  NetThread& net = to_->home();
  net.Run(Closure([to = std::move(to_), request = request_] {
    std::string body;
    AppendError({Code::kUnavailable, "the queue is not available", "try again soon"}, body);
    Response response;
    response.status = HttpStatus(Code::kUnavailable);
    response.body = body;
    to->Respond(request, response, {});
  }));
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
      id_(server.next_connection.fetch_add(1)) {
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
  if (!stream_.is_tls()) return Read();
  stream_.Handshake([self = std::static_pointer_cast<HttpConnection>(shared_from_this())](error_code ec) {
    if (ec) return self->Close();
    self->Read();
  });
}

void HttpConnection::Read() {
  if (reading_ || eof_ || state_ == State::kClosed) return;
  const bool bulk = state_ == State::kBody && (sink_ || body_bytes_ > kReadBytes);
  reading_ = true;
  // Not straight into in_: that is parsed while the next read is under way.
  const std::size_t want = bulk ? kBulkReadBytes : kReadBytes;
  if (chunk_.size() != want) {
    chunk_.resize(want);
    chunk_.shrink_to_fit();
  }
  stream_.async_read_some(asio::buffer(chunk_), [self = std::static_pointer_cast<HttpConnection>(shared_from_this())](
                                                    error_code ec, std::size_t n) { self->OnRead(ec, n); });
}

void HttpConnection::OnRead(error_code ec, std::size_t n) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (ec) {
    eof_ = true;
    switch (state_) {
      case State::kAnswering:
        // Half-closed: an answer that is on its way is still wanted. One that is waited for is not.
        if (ec != asio::error::eof || abort_) return Close();
        keep_alive_ = false;
        return;
      case State::kIdle:
        if (ec != asio::error::eof || unsent() == 0) return Close();
        state_ = State::kLast;
        return;
      case State::kLast:
        if (ec == asio::error::eof) return;
        [[fallthrough]];
      default:
        return Close();
    }
  }
  server_.metrics.BytesIn(n);
  if (state_ == State::kLingering) return Read();
  if (state_ == State::kHijacked) return Read();
  asio::buffer_copy(in_.prepare(n), asio::buffer(chunk_, n));
  in_.commit(n);
  Advance();
}

void HttpConnection::Advance() {
  while (state_ == State::kIdle || state_ == State::kHead || (state_ == State::kBody && !body_paused_)) {
    if (in_.size() == 0 && !(state_ == State::kBody && parser_->is_done())) break;
    if (state_ == State::kIdle) {
      if (unsent() > kMaxUnsentBeforeNext) break;  // OnWritten() goes on
      BeginRequest();
    }
    error_code ec;
    std::size_t used = 0;
    if (!parser_->is_done()) {
      used = parser_->put(in_.data(), ec);
      in_.consume(used);
      if (ec == http::error::need_more) {
        ec = {};
        if (used == 0) break;
      }
      if (ec) {
        Malformed(ec);
        break;
      }
    }
    if (state_ == State::kHead && parser_->is_header_done()) OnHead();
    if (state_ == State::kBody && TakeBody() && parser_->is_done()) OnRequest();
  }
  if (state_ == State::kClosed) return;
  Flush();
  const bool wants_input =
      state_ == State::kIdle || state_ == State::kHead || (state_ == State::kBody && !body_paused_);
  if (wants_input ? unsent() <= kMaxUnsentBeforeNext : in_.size() < kMaxReadAhead && state_ != State::kBody) Read();
}

void HttpConnection::BeginRequest() {
  parser_.emplace();
  parser_->header_limit(bounds::kMaxHeaderBytes);
  parser_->body_limit(boost::none);  // TakeBody() has a closer look
  parser_->eager(false);
  ++request_no_;
  refusal_.reset();
  body_bytes_ = 0;
  body_paused_ = false;
  state_ = State::kHead;
  read_deadline_ = net().now() + server_.config.request_timeout;
}

Result<PrincipalPtr> HttpConnection::Authenticate() {
  const std::string_view header = View(parser_->get()[http::field::authorization]);
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

bool HttpConnection::Admitted() {
  const Now now = ReadClock();
  if (server_.tokens->Holds(admission_, now)) return true;
  // The tokens have changed; this one may be as it was.
  Result<TokenBook::Admission> again = server_.tokens->Verify(authorization_, now);
  if (!again.ok() || !(*again->principal == *admission_.principal)) return false;
  admission_ = std::move(*again);
  return true;
}

std::optional<Error> HttpConnection::Inspect() {
  const auto& head = parser_->get();
  const std::string_view target = View(head.target());
  const std::size_t mark = target.find('?');
  request_.path = target.substr(0, mark);
  request_.query = mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  request_.method = ToMethod(head.method());
  request_.media = MediaType(View(head[http::field::content_type]));
  request_.peer = peer_;
  request_.upgrade = EqualsNoCase(View(head[http::field::upgrade]), "websocket");
  head_only_ = head.method() == http::verb::head;
  if (request_.method == Method::kGet) {
    request_.events = !head_only_ && Accepts(View(head[http::field::accept]), kEventsType);
    request_.gzip = Accepts(View(head[http::field::accept_encoding]), "gzip");
    request_.if_none_match = View(head[http::field::if_none_match]);
  }
  Result<std::vector<std::string>> parts = SplitPath(request_.path);
  if (!parts.ok()) return parts.error();
  request_.parts = std::move(*parts);
  const bool open = request_.path == "/livez" || request_.path == "/readyz";
  const Result<void> own = server_.origins.Check(View(head[http::field::host]), View(head[http::field::origin]));
  if (!own.ok() && !(open && own.error().code == Code::kBadRequest)) return own.error();
  if (open) {
    request_.principal = LocalPrincipal();
  } else if (IsWebPath(request_)) {
    request_.principal = Nobody();
    return RefuseWeb(request_, parser_->chunked() || parser_->content_length().value_or(0) > 0);
  } else {
    Result<PrincipalPtr> principal = Authenticate();
    if (!principal.ok()) return principal.error();
    request_.principal = std::move(*principal);
  }
  return std::nullopt;
}

void HttpConnection::OnHead() {
  request_ = {};
  state_ = State::kBody;
  keep_alive_ = parser_->get().keep_alive();
  refusal_ = Inspect();
  if (!refusal_ && request_.upgrade) return Upgrade();
  if (!refusal_) {
    const boost::optional<std::uint64_t> length = parser_->content_length();
    Result<std::unique_ptr<BodySink>> sink =
        OpenSink(server_, std::static_pointer_cast<HttpConnection>(shared_from_this()), request_);
    if (!sink.ok()) {
      refusal_ = sink.error();
    } else if (*sink) {
      sink_ = std::move(*sink);
    } else if (length && *length > server_.config.max_body_bytes) {
      refusal_ = Error{Code::kTooLarge,
                       "the body has " + std::to_string(*length) + " bytes, more than " +
                           std::to_string(server_.config.max_body_bytes),
                       "submit many tasks as a stream of lines (application/x-ndjson)"};
    }
  }
  if (refusal_ && (parser_->chunked() || parser_->content_length().value_or(0) > kMaxDiscardedBytes)) {
    return Refuse(*refusal_);
  }
  if (!parser_->is_done() && EqualsNoCase(View(parser_->get()[http::field::expect]), "100-continue")) {
    if (refusal_) return Refuse(*refusal_);
    out_.append("HTTP/1.1 100 Continue\r\n\r\n");
  }
  parser_->eager(true);
}

bool HttpConnection::TakeBody() {
  std::string& piece = parser_->get().body();
  body_bytes_ = piece.size();  // of what is collected: a stream's pieces go as they come
  if (refusal_) {
    piece.clear();
    return true;
  }
  if (!sink_) {
    server_.collected_bytes.fetch_add(body_bytes_ - collected_, std::memory_order_relaxed);
    collected_ = body_bytes_;
    if (server_.collected_bytes.load(std::memory_order_relaxed) > kMaxCollectedBytes) {
      Refuse({Code::kUnavailable, "too many large requests at once", "try again soon"});
      return false;
    }
    if (body_bytes_ > server_.config.max_body_bytes) {
      Refuse({Code::kTooLarge, "the body has more than " + std::to_string(server_.config.max_body_bytes) + " bytes",
              "submit many tasks as a stream of lines (application/x-ndjson)"});
      return false;
    }
    return true;
  }
  // A stream may take as long as it likes, as long as it moves.
  read_deadline_ = net().now() + server_.config.request_timeout;
  if (!piece.empty()) {
    const Result<bool> more = sink_->OnBody(piece);
    piece.clear();
    if (!more.ok()) {
      sink_->OnBroken();
      sink_.reset();
      if (parser_->is_done()) {
        refusal_ = more.error();
        return true;
      }
      Refuse(more.error());
      return false;
    }
    if (!*more) {
      body_paused_ = true;
      read_deadline_.reset();
      return false;
    }
  }
  return true;
}

void HttpConnection::ResumeBody() {
  if (!body_paused_ || state_ != State::kBody) return;
  body_paused_ = false;
  read_deadline_ = net().now() + server_.config.request_timeout;
  Advance();
}

void HttpConnection::BreakBody(const Error& error) {
  if (state_ == State::kBody && sink_) Refuse(error);
}

void HttpConnection::Uncollect() {
  server_.collected_bytes.fetch_sub(std::exchange(collected_, 0), std::memory_order_relaxed);
}

void HttpConnection::OnRequest() {
  state_ = State::kAnswering;
  Uncollect();
  read_deadline_.reset();
  const auto self = std::static_pointer_cast<HttpConnection>(shared_from_this());
  Reply reply(self, request_no_);
  if (refusal_) return reply.Fail(*refusal_);
  if (sink_) {
    const std::unique_ptr<BodySink> sink = std::move(sink_);
    sink->OnEnd(std::move(reply));
    return;
  }
  request_.body = std::move(parser_->get().body());
  Serve(server_, std::move(request_), std::move(reply));
}

void HttpConnection::Upgrade() {
  if (reading_ || unsent() != 0) {
    return Refuse({Code::kBadRequest, "an upgrade cannot follow a request that is not answered yet", ""});
  }
  Result<std::shared_ptr<WsConnection>> upgraded = OpenWebSocket(server_, net(), request_);
  if (!upgraded.ok()) {
    refusal_ = upgraded.error();
    parser_->eager(true);
    if (!parser_->is_done()) Refuse(*refusal_);
    return;
  }
  const auto self = shared_from_this();
  std::string ahead(static_cast<const char*>(in_.data().data()), in_.size());
  Stream stream = std::move(stream_);
  stream.Unread(std::move(ahead));
  state_ = State::kClosed;
  net().Disown(*this);
  (*upgraded)->Accept({std::move(stream), parser_->release(), authorization_, admission_});
}

void HttpConnection::Malformed(error_code ec) {
  if (ec == http::error::header_limit) {
    Refuse({Code::kTooLarge,
            "the head of the request is longer than " + std::to_string(bounds::kMaxHeaderBytes) + " bytes", ""});
  } else if (ec == http::error::body_limit) {
    Refuse({Code::kTooLarge, "the body is too large", ""});
  } else {
    Refuse({Code::kBadRequest, "this is not HTTP/1.1: " + ec.message(), ""});
  }
}

void HttpConnection::Refuse(const Error& error) {
  Uncollect();
  parser_->get().body().clear();
  parser_->get().body().shrink_to_fit();
  if (sink_) {
    sink_->OnBroken();
    sink_.reset();
  }
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
  AppendHead(head, out_);
  if (!head_only_) out_.append(response.body);
  if (on_lost) lost_.push_back(std::move(on_lost));
  state_ = keep_alive_ ? State::kIdle : State::kLast;
  read_deadline_ = net().now() + server_.config.idle_timeout;
  net().MarkDirty(*this);
}

void HttpConnection::Flush() {
  if (state_ == State::kClosed) return;
  if (!out_.empty() && writing_.empty()) {
    writing_.swap(out_);
    written_ = 0;
    // From here on the client may have it, whatever becomes of the write.
    lost_.clear();
    write_deadline_ = net().now() + server_.config.write_timeout;
    WriteSome();
  }
  // A request that came in behind the one just answered.
  if (state_ == State::kIdle && in_.size() > 0 && unsent() <= kMaxUnsentBeforeNext) Advance();
}

void HttpConnection::WriteSome() {
  stream_.async_write_some(
      asio::buffer(writing_.data() + written_, writing_.size() - written_),
      [self = std::static_pointer_cast<HttpConnection>(shared_from_this())](error_code ec, std::size_t n) {
        if (self->state_ == State::kClosed) return;
        if (ec) return self->Close();
        self->server_.metrics.BytesOut(n);
        self->written_ += n;
        if (self->written_ < self->writing_.size()) {
          self->write_deadline_ = self->net().now() + self->server_.config.write_timeout;
          return self->WriteSome();
        }
        self->OnWritten();
      });
}

void HttpConnection::OnWritten() {
  writing_.clear();
  written_ = 0;
  if (writing_.capacity() > kKeptBufferBytes) writing_.shrink_to_fit();
  if (out_.empty() && out_.capacity() > kKeptBufferBytes) out_.shrink_to_fit();
  write_deadline_.reset();
  if (out_.empty()) {
    if (state_ == State::kLast) return Finish();
    if (drained_) drained_(true);
    if (state_ == State::kClosed) return;
  }
  if (state_ == State::kIdle) {
    if (in_.size() == 0 && in_.capacity() > kReadBytes) in_.shrink_to_fit();
    return Advance();
  }
  Flush();
}

void HttpConnection::Write(std::string_view bytes) {
  if (state_ != State::kHijacked) return;
  out_.append(bytes);
  net().MarkDirty(*this);
}

void HttpConnection::EndResponse() {
  if (state_ != State::kHijacked) return;
  drained_ = {};
  state_ = State::kLast;
  if (unsent() == 0) Finish();
}

void HttpConnection::Finish() {
  stream_.ShutdownSend();
  if (eof_) return Close();
  state_ = State::kLingering;
  read_deadline_ = net().now() + kLinger;
  in_.consume(in_.size());
  Read();
}

void HttpConnection::Lost() {
  Uncollect();
  if (sink_) {
    sink_->OnBroken();
    sink_.reset();
  }
  if (abort_) std::exchange(abort_, {})();
  for (Closure& lost : lost_) lost();
  lost_.clear();
  if (drained_) std::exchange(drained_, {})(false);
}

void HttpConnection::Close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  stream_.Close();
  Lost();
  net().Disown(*this);
}

void HttpConnection::Abort() { Close(); }

void HttpConnection::CloseIfIdle() {
  if (unsent() == 0 && ((state_ == State::kIdle && in_.size() == 0) || state_ == State::kHijacked)) Close();
}

void HttpConnection::Sweep(Instant now) {
  if (state_ == State::kClosed) return;
  if (write_deadline_ && now >= *write_deadline_) return Close();
  if (ends_with_token_ && state_ == State::kHijacked && !Admitted()) return Close();
  if (!read_deadline_ || now < *read_deadline_) return;
  if (state_ == State::kHead || state_ == State::kBody) {
    return Refuse({Code::kTimedOut, "the request came too slowly", ""});
  }
  if (state_ == State::kIdle || state_ == State::kLingering) Close();
}

}  // namespace allot
