#include "server/net/ws_connection.h"

#include <algorithm>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "base/bounds.h"
#include "server/net/context.h"
#include "server/net/ws_upgrade.h"
#include "server/ops/clock.h"

namespace allot {
namespace {

namespace websocket = beast::websocket;
using namespace std::chrono_literals;

constexpr std::size_t kKeptFrameBytes = 4 * 1024;  // larger buffers are given back after use
constexpr int kSilentHeartbeats = 3;
constexpr Duration kCloseTimeout = 5s;
constexpr std::size_t kFrameReadBytes = 64 * 1024;
constexpr Duration kLeastBetweenSigns = 100ms;  // a flood of pings is one sign of life

}  // namespace

struct WsConnection::Wire {
  explicit Wire(Stream stream) : ws(std::move(stream)) {}
  websocket::stream<Stream, false> ws;
  beast::flat_buffer in;
};

WsConnection::WsConnection(NetThread& net, ServerContext& server)
    : Connection(net), server_(server), inflight_(server.inflight), unread_(server.inflight) {
  server_.connections.fetch_add(1);
  server_.metrics.ConnectionOpened();
}

WsConnection::~WsConnection() {
  server_.connections.fetch_sub(1);
  server_.metrics.ConnectionClosed();
}

void WsConnection::Accept(WsUpgrade upgrade) {
  net().Adopt(shared_from_this());
  last_heard_ = net().now();
  write_deadline_ = last_heard_ + server_.config.write_timeout;
  authorization_ = std::move(upgrade.authorization);
  admission_ = std::move(upgrade.admission);
  wire_ = std::make_unique<Wire>(std::move(upgrade.stream));
  auto& ws = wire_->ws;
  ws.read_message_max(kMaxFirstMessageBytes);
  ws.auto_fragment(false);
  ws.text(true);
  ws.control_callback([this](websocket::frame_type, beast::string_view) {
    last_heard_ = net().now();
    if (gone_ || last_heard_ < next_sign_) return;
    next_sign_ = last_heard_ + kLeastBetweenSigns;
    Guard("a sign of life", [this] { OnSign(); });
  });
  const auto held = std::make_shared<beast::http::request<beast::http::empty_body>>(std::move(upgrade.request));
  ws.async_accept(*held, [self = Self(), held](error_code ec) {
    self->Guard("beginning a WebSocket", [&self, ec] {
      if (ec) return self->Fail();
      self->open_ = true;
      self->write_deadline_.reset();
      if (self->expects_hello()) self->read_deadline_ = self->net().now() + self->server_.config.request_timeout;
      self->Flush();
      if (!self->paused_) self->Read();
    });
  });
}

void WsConnection::Read() {
  if (reading_ || !open_ || gone_ || closing_) return;
  reading_ = true;
  wire_->ws.async_read_some(wire_->in, kFrameReadBytes, [self = Self()](error_code ec, std::size_t n) {
    self->Guard("a message", [&self, ec, n] { self->OnRead(ec, n); });
  });
}

void WsConnection::OnRead(error_code ec, std::size_t n) {
  reading_ = false;
  if (gone_ || closing_) return;
  if (ec) return Fail();
  auto& ws = wire_->ws;
  if (ws.got_binary()) return CloseNow(CloseReason::kUnsupported, "messages are text");
  if (!ws.is_message_done()) {
    server_.metrics.BytesIn(n);
    if (!read_deadline_) read_deadline_ = net().now() + server_.config.request_timeout;
    if (!inflight_.Grow(admission_.principal->id, wire_->in.capacity())) {
      return CloseNow(CloseReason::kTryAgain, "too many large messages at once");
    }
    return Read();
  }
  last_heard_ = net().now();
  read_deadline_.reset();
  server_.metrics.MessageReceived(n);
  const auto data = wire_->in.data();
  const Reading next = OnMessage({static_cast<const char*>(data.data()), data.size()});
  wire_->in.consume(wire_->in.size());
  if (wire_->in.capacity() > kKeptFrameBytes) wire_->in.shrink_to_fit();
  if (next == Reading::kPause) {
    paused_ = true;  // what became of a large message counts until there is room for the next
  } else {
    inflight_.Clear();
    Read();
  }
}

void WsConnection::ResumeReading() {
  if (!paused_) return;
  paused_ = false;
  inflight_.Clear();
  Read();
}

void WsConnection::Flush() {
  if (!open_ || gone_ || writing_ || closing_) return;
  out_.clear();
  if (!NextMessage(out_)) {
    if (out_.capacity() > kKeptFrameBytes) out_.shrink_to_fit();
    unread_.Shrink(out_.capacity());
    if (close_soon_) {
      closing_ = true;
      write_deadline_ = CloseDeadline();
      wire_->ws.async_close(websocket::close_code::normal,
                            [self = Self()](error_code) { self->Guard("closing", [&self] { self->Fail(); }); });
    }
    return;
  }
  if (!unread_.Grow(admission_.principal->id, out_.capacity())) {
    OnRefused();
    return CloseNow(CloseReason::kTryAgain, "too many messages wait to be read");
  }
  writing_ = true;
  write_deadline_ = net().now() + server_.config.write_timeout;
  wire_->ws.async_write(asio::buffer(out_), [self = Self()](error_code ec, std::size_t n) {
    self->Guard("writing", [&self, ec, n] { self->OnWritten(ec, n); });
  });
}

void WsConnection::OnWritten(error_code ec, std::size_t n) {
  writing_ = false;
  unread_.Clear();
  if (gone_ || closing_) return;  // the deadline is that of the close
  write_deadline_.reset();
  if (ec) return Fail();
  server_.metrics.BytesOut(n);
  OnSent();
  Flush();
}

void WsConnection::CloseSoon() {
  close_soon_ = true;
  net().MarkDirty(*this);
}

void WsConnection::AllowLargeMessages() {
  if (wire_) wire_->ws.read_message_max(bounds::kMaxMessageBytes);
}

void WsConnection::CloseNow(CloseReason reason, std::string_view why) {
  if (gone_) return;
  if (!open_ || closing_) return Fail();
  closing_ = true;
  gone_ = true;
  write_deadline_ = CloseDeadline();
  websocket::close_reason said(static_cast<websocket::close_code>(reason));
  said.reason.assign(why.data(), std::min(why.size(), said.reason.max_size()));
  wire_->ws.async_close(said, [self = Self()](error_code) { self->Guard("closing", [&self] { self->End(); }); });
  Forget();
}

Instant WsConnection::CloseDeadline() const {
  return net().now() + std::min<Duration>(kCloseTimeout, server_.config.write_timeout);
}

void WsConnection::Fail() {
  const auto self = shared_from_this();
  if (!std::exchange(gone_, true)) Forget();
  End();
}

void WsConnection::Forget() {
  inflight_.Clear();
  OnGone();
}

void WsConnection::End() {
  if (std::exchange(ended_, true)) return;
  if (wire_) wire_->ws.next_layer().Close();
  net().Disown(*this);
}

bool WsConnection::Admitted() { return server_.tokens->Renew(admission_, authorization_, ReadClock()); }

void WsConnection::Sweep(Instant now) {
  if (write_deadline_ && now >= *write_deadline_) return Fail();
  if (gone_) return;
  if (!Admitted()) return CloseNow(CloseReason::kPolicy, "the token is no longer valid");
  if (read_deadline_ && now >= *read_deadline_) return CloseNow(CloseReason::kPolicy, "a message came too slowly");
  OnSweep();
  if (gone_) return;
  // While it is not being read it cannot be heard.
  if (paused_ || !open_) return;
  const Duration silent = now - last_heard_;
  if (silent >= server_.config.heartbeat * kSilentHeartbeats) return Fail();
  if (asks_for_signs() && silent >= server_.config.heartbeat && !pinging_ && !closing_) {
    pinging_ = true;
    wire_->ws.async_ping({}, [self = Self()](error_code) { self->pinging_ = false; });
  }
}

}  // namespace allot
