#include "server/ws_connection.h"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <utility>

#include "base/bounds.h"
#include "server/clock.h"
#include "server/context.h"
#include "server/ws_upgrade.h"

namespace allot {
namespace {

namespace websocket = beast::websocket;
using namespace std::chrono_literals;

constexpr std::size_t kKeptBufferBytes = 4 * 1024;  // larger buffers are given back after use
constexpr int kSilentHeartbeats = 3;
constexpr Duration kCloseTimeout = 5s;

}  // namespace

struct WsConnection::Wire {
  explicit Wire(Stream stream) : ws(std::move(stream)) {}
  websocket::stream<Stream, false> ws;
  beast::flat_buffer in;
};

WsConnection::WsConnection(NetThread& net, ServerContext& server) : Connection(net), server_(server) {
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
  ws.read_message_max(bounds::kMaxMessageBytes);
  ws.auto_fragment(false);
  ws.text(true);
  ws.control_callback([this](websocket::frame_type, beast::string_view) {
    last_heard_ = net().now();
    OnSign();
  });
  const auto held = std::make_shared<beast::http::request<ChunkBody>>(std::move(upgrade.request));
  ws.async_accept(*held, [self = Self(), held](error_code ec) {
    if (ec) return self->Fail();
    self->open_ = true;
    self->write_deadline_.reset();
    self->Flush();
    if (!self->paused_) self->Read();
  });
}

void WsConnection::Read() {
  if (reading_ || !open_ || gone_ || closing_) return;
  reading_ = true;
  wire_->ws.async_read(wire_->in, [self = Self()](error_code ec, std::size_t n) {
    self->reading_ = false;
    if (self->gone_) return;
    if (ec) return self->Fail();
    self->last_heard_ = self->net().now();
    self->server_.metrics.MessageReceived(n);
    const auto data = self->wire_->in.data();
    const Reading next = self->OnMessage({static_cast<const char*>(data.data()), data.size()});
    self->wire_->in.consume(self->wire_->in.size());
    if (self->wire_->in.capacity() > kKeptBufferBytes) self->wire_->in.shrink_to_fit();
    if (next == Reading::kPause) {
      self->paused_ = true;
    } else {
      self->Read();
    }
  });
}

void WsConnection::ResumeReading() {
  if (!paused_) return;
  paused_ = false;
  Read();
}

void WsConnection::Flush() {
  if (!open_ || gone_ || writing_ || closing_) return;
  out_.clear();
  if (!NextMessage(out_)) {
    if (out_.capacity() > kKeptBufferBytes) out_.shrink_to_fit();
    if (close_soon_) {
      closing_ = true;
      write_deadline_ = net().now() + kCloseTimeout;
      wire_->ws.async_close(websocket::close_code::normal, [self = Self()](error_code) { self->Fail(); });
    }
    return;
  }
  writing_ = true;
  write_deadline_ = net().now() + server_.config.write_timeout;
  wire_->ws.async_write(asio::buffer(out_), [self = Self()](error_code ec, std::size_t n) {
    self->writing_ = false;
    self->write_deadline_.reset();
    if (self->gone_) return;
    if (ec) return self->Fail();
    self->server_.metrics.BytesOut(n);
    self->OnSent();
    self->Flush();
  });
}

void WsConnection::CloseSoon() {
  close_soon_ = true;
  net().MarkDirty(*this);
}

void WsConnection::Fail() {
  if (gone_) return;
  const auto self = shared_from_this();
  gone_ = true;
  if (wire_) wire_->ws.next_layer().Close();
  OnGone();
  net().Disown(*this);
}

bool WsConnection::Admitted() {
  const Now now = ReadClock();
  if (server_.tokens->Holds(admission_, now)) return true;
  // The tokens have changed; this one may be as it was.
  Result<TokenBook::Admission> again = server_.tokens->Verify(authorization_, now);
  if (!again.ok() || !(*again->principal == *admission_.principal)) return false;
  admission_ = std::move(*again);
  return true;
}

void WsConnection::Sweep(Instant now) {
  if (!Admitted()) return Fail();
  if (write_deadline_ && now >= *write_deadline_) return Fail();
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
