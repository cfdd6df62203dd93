// SPDX-License-Identifier: Apache-2.0
#include "server/net/ws_connection.h"

#include <algorithm>
#include <utility>

#include "base/bounds.h"
#include "server/net/context.h"
#include "server/net/ws_upgrade.h"
#include "server/ops/clock.h"

namespace allot {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kKeptBytes = 4 * 1024;  // larger buffers are given back after use
constexpr int kSilentHeartbeats = 3;
constexpr Duration kCloseTimeout = 5s;
// Of one connection, before others have their turn.
constexpr int kReadsAtOnce = 8;
constexpr std::size_t kReadBytes = 16 * 1024, kLongReadBytes = NetThread::kReadBytes;
constexpr Duration kLeastBetweenSigns = 100ms;  // a flood of pings is one sign of life

}  // namespace

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
  authorization_ = std::move(upgrade.authorization);
  admission_ = std::move(upgrade.admission);
  ahead_ = std::move(upgrade.ahead);
  socket_ = std::move(upgrade.socket);
  socket_->PassTo(*this);
  Guard("beginning a WebSocket", [this, &upgrade] { Begin(upgrade.key); });
}

void WsConnection::Begin(std::string_view key) {
  last_heard_ = net().now();
  write_deadline_ = last_heard_ + server_.config.write_timeout;
  if (expects_hello()) read_deadline_ = last_heard_ + server_.config.request_timeout;
  open_ = true;
  out_ = AcceptHandshake(key);
  if (SendRest()) Flush();
  Read();
}

void WsConnection::OnReadable() {
  Guard("a message", [this] { Read(); });
}

void WsConnection::OnWritable() {
  Guard("writing", [this] {
    if (socket_->broken()) return Fail();
    if (SendRest()) Flush();
  });
}

void WsConnection::Read() {
  if (taking_ || !open_) return;
  taking_ = true;
  for (int i = 0; i < kReadsAtOnce && !ended_ && (!paused_ || closing_); ++i) {
    if (!ahead_.empty()) {
      std::string ahead = std::exchange(ahead_, {});
      Take(ahead);
      continue;
    }
    // What is behind a message that makes it pause is kept: not much, unless a long one is under way.
    const std::span<char> room = net().read_buffer().first(reader_.idle() ? kReadBytes : kLongReadBytes);
    const std::optional<std::size_t> n = socket_->Read(room);
    if (!n) {
      Fail();
      break;
    }
    if (*n == 0) break;
    server_.metrics.BytesIn(*n);
    Take(room.first(*n));
  }
  taking_ = false;
  if (ended_ || (paused_ && !closing_)) return;
  if (ahead_.empty() && !socket_->readable()) return;
  net().Later([self = Self()] { self->OnReadable(); });
}

void WsConnection::Take(std::span<char> bytes) {
  while (!ended_ && !peer_closed_ && !deaf_) {
    const ws::FrameReader::Event event = reader_.Next(bytes);
    if (event.kind == ws::FrameReader::Kind::kNothing || !OnFrame(event)) break;
  }
  if (ended_ || gone_) return;
  reader_.Trim(kKeptBytes);
  ahead_.assign(bytes.data(), bytes.size());
  Account();
}

bool WsConnection::OnFrame(const ws::FrameReader::Event& event) {
  using Kind = ws::FrameReader::Kind;
  switch (event.kind) {
    case Kind::kMessage:
      return OnText(event.data);
    case Kind::kPing:
      if (!closing_) pong_ = event.data;  // of several the last one is answered
      OnControl();
      SendControls();
      return !ended_;  // also while it closes: what is behind it may be the peer's close frame
    case Kind::kPong:
      OnControl();
      return !ended_;
    case Kind::kClose:
      OnPeerCloses(event.code);
      return false;
    case Kind::kBroken:
      deaf_ = true;
      if (closing_) {
        Fail();
      } else {
        CloseNow(event.code, event.data);
      }
      return false;
    case Kind::kNothing:
      break;
  }
  return false;
}

bool WsConnection::OnText(std::string_view text) {
  heard_ = true;
  last_heard_ = net().now();
  read_deadline_.reset();
  server_.metrics.MessageReceived();
  paused_ = OnMessage(text) == Reading::kPause;
  // What became of a large message counts until there is room for the next.
  if (!paused_) inflight_.Clear();
  return !paused_ && !gone_;
}

void WsConnection::OnControl() {
  last_heard_ = net().now();
  if (gone_ || last_heard_ < next_sign_) return;
  next_sign_ = last_heard_ + kLeastBetweenSigns;
  OnSign();
}

void WsConnection::OnPeerCloses(ws::CloseCode code) {
  peer_closed_ = true;
  if (!closing_) SayClose(code, {});
  if (!std::exchange(gone_, true)) Forget();
  if (!sending()) End();  // else as soon as that is out
}

void WsConnection::Account() {
  if (paused_) return;
  if (!reader_.idle()) {
    if (!read_deadline_) read_deadline_ = net().now() + server_.config.request_timeout;
    if (!inflight_.Grow(admission_.principal->id, reader_.buffered())) {
      CloseNow(ws::CloseCode::kTryAgain, "too many large messages at once");
    }
  } else if (heard_ || !expects_hello()) {
    read_deadline_.reset();
  }
}

void WsConnection::ResumeReading() {
  if (!paused_) return;
  paused_ = false;
  inflight_.Clear();
  Read();
}

void WsConnection::Flush() {
  if (!open_ || gone_) return;
  while (!gone_ && !closing_ && !sending()) {
    std::string& message = net().words();
    message.clear();
    if (!NextMessage(message)) {
      if (close_soon_) SayClose(close_code_, {});
      return;
    }
    if (!unread_.Grow(admission_.principal->id, message.size())) {
      OnRefused();
      return CloseNow(ws::CloseCode::kTryAgain, "too many messages wait to be read");
    }
    message_under_way_ = true;
    if (!Send(ws::Opcode::kText, message)) return;
    if (sending()) return;
    unread_.Clear();
    Sent();
  }
}

bool WsConnection::Send(ws::Opcode opcode, std::string_view body) {
  const ws::FrameHead head(opcode, body.size());
  std::size_t taken = 0;
  if (out_.empty()) {
    const std::optional<std::size_t> n = socket_->Write(head.bytes(), body);
    if (!n) {
      Fail();
      return false;
    }
    taken = *n;
  }
  server_.metrics.BytesOut(taken);
  if (taken < head.bytes().size()) {
    out_.append(head.bytes().substr(taken)).append(body);
  } else {
    out_.append(body.substr(taken - head.bytes().size()));
  }
  if (sending() && !write_deadline_) write_deadline_ = net().now() + server_.config.write_timeout;
  return true;
}

bool WsConnection::SendRest() {
  if (out_begin_ < out_.size()) {
    const std::optional<std::size_t> n = socket_->Write(std::string_view(out_).substr(out_begin_), {});
    if (!n) {
      Fail();
      return false;
    }
    server_.metrics.BytesOut(*n);
    out_begin_ += *n;
    if (out_begin_ < out_.size()) return false;
  }
  out_.clear();
  out_begin_ = 0;
  if (out_.capacity() > kKeptBytes) std::string().swap(out_);
  if (sending()) return false;
  unread_.Clear();
  if (peer_closed_) End();
  if (closing_) return false;  // the deadline is that of the close
  write_deadline_.reset();
  if (message_under_way_) Sent();
  SendControls();
  return !gone_;
}

void WsConnection::Sent() {
  message_under_way_ = false;
  OnSent();
}

void WsConnection::SendControls() {
  if (!open_ || closing_ || sending()) return;
  if (pong_) {
    const std::string body = *std::exchange(pong_, std::nullopt);
    if (!Send(ws::Opcode::kPong, body)) return;
  }
  if (ping_ && !sending()) {
    ping_ = false;
    Send(ws::Opcode::kPing, {});
  }
}

void WsConnection::CloseSoon(ws::CloseCode code) {
  close_soon_ = true;
  close_code_ = code;
  net().MarkDirty(*this);
}

void WsConnection::AllowLargeMessages() { reader_.set_max_message(bounds::kMaxMessageBytes); }

void WsConnection::SayClose(ws::CloseCode code, std::string_view why) {
  closing_ = true;
  reader_.DropMessages();
  write_deadline_ = net().now() + std::min<Duration>(kCloseTimeout, server_.config.write_timeout);
  if (!Send(ws::Opcode::kClose, ws::CloseBody(code, why))) return;
  // The peer's own is read, and what comes before it dropped.
  if (!taking_ && !peer_closed_) OnReadable();
}

void WsConnection::CloseNow(ws::CloseCode code, std::string_view why) {
  if (gone_) return;
  if (!open_ || closing_) return Fail();
  gone_ = true;
  SayClose(code, why);
  Forget();
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
  if (socket_) socket_->Close();
  net().Disown(*this);
}

bool WsConnection::Admitted() { return server_.tokens->Renew(admission_, authorization_, ReadClock()); }

void WsConnection::Sweep(Instant now) {
  if (write_deadline_ && now >= *write_deadline_) return Fail();
  if (gone_) return;
  if (!Admitted()) return CloseNow(ws::CloseCode::kPolicy, "the token is no longer valid");
  if (read_deadline_ && now >= *read_deadline_) return CloseNow(ws::CloseCode::kPolicy, "a message came too slowly");
  OnSweep();
  if (gone_) return;
  // While it is not being read it cannot be heard.
  if (paused_ || !open_) return;
  const Duration silent = now - last_heard_;
  if (silent >= server_.config.heartbeat * kSilentHeartbeats) return Fail();
  if (asks_for_signs() && silent >= server_.config.heartbeat) {
    ping_ = true;
    SendControls();
  }
}

}  // namespace allot
