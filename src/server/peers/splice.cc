// SPDX-License-Identifier: Apache-2.0
// A WebSocket, byte by byte in both directions.
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <optional>
#include <span>
#include <utility>

#include "server/net/serve.h"
#include "server/net/ws_upgrade.h"
#include "server/peers/peers_inner.h"
#include "server/wire/reply_json.h"

namespace allot {
namespace {

constexpr std::size_t kSplicePiece = 8 * 1024;
constexpr auto kSpliced = asio::as_tuple(asio::use_awaitable);

}  // namespace

// Threading: confined to its network thread.
class Peers::Splice final : public Connection, public UpgradeTarget, private Socket::User {
 public:
  Splice(Peers& peers, NetThread& net, Request request, std::string queue)
      : Connection(net),
        peers_(peers),
        request_(std::move(request)),
        queue_(std::move(queue)),
        readable_(net.io(), asio::steady_timer::time_point::max()),
        writable_(net.io(), asio::steady_timer::time_point::max()) {
    peers_.server_.connections.fetch_add(1);
    peers_.server_.metrics.ConnectionOpened();
  }
  ~Splice() override {
    peers_.server_.connections.fetch_sub(1);
    peers_.server_.metrics.ConnectionClosed();
  }

  void Accept(WsUpgrade upgrade) override {
    upgrade_.emplace(std::move(upgrade));
    upgrade_->socket->PassTo(*this);
    net().Adopt(shared_from_this());
    asio::co_spawn(net().io(), Run(Self()), asio::detached);
  }
  void Sweep(Instant) override {
    if (peers_.stopping_) Abort();
  }
  void Flush() override {}
  void Abort() override {
    closed_ = true;
    readable_.cancel();
    writable_.cancel();
    if (upgrade_) upgrade_->socket->Close();
    if (upstream_ != nullptr) upstream_->Close();
  }

 private:
  std::shared_ptr<Splice> Self() { return std::static_pointer_cast<Splice>(shared_from_this()); }

  void OnReadable() override { readable_.cancel(); }
  void OnWritable() override { writable_.cancel(); }
  std::shared_ptr<void> Keep() override { return shared_from_this(); }

  // 0: the client is gone. What it sent behind its request comes first.
  asio::awaitable<std::size_t> ReadClient(std::span<char> into) {
    if (!upgrade_->ahead.empty()) {
      const std::size_t n = upgrade_->ahead.copy(into.data(), into.size());
      upgrade_->ahead.erase(0, n);
      co_return n;
    }
    while (!closed_) {
      const std::optional<std::size_t> n = upgrade_->socket->Read(into);
      if (!n) break;
      if (*n > 0) co_return *n;
      co_await readable_.async_wait(kSpliced);
    }
    co_return 0;
  }

  asio::awaitable<bool> WriteClient(std::string_view bytes) {
    while (!closed_) {
      const std::optional<std::size_t> n = upgrade_->socket->Write(bytes, {});
      if (!n) break;
      bytes.remove_prefix(*n);
      if (bytes.empty()) co_return true;
      co_await writable_.async_wait(kSpliced);
    }
    co_return false;
  }

  // Static, with the owner as an argument: it lives as long as they run.
  static asio::awaitable<void> Run(std::shared_ptr<Splice> self) {
    const Running running(self->peers_);
    Waiting waiting = self->peers_.BeginWaiting();
    const bool handed_on = co_await self->Connect(waiting);
    self->peers_.EndWaiting(waiting);
    if (!handed_on) self->Abort();
    self->net().Disown(*self);
  }

  // True if somebody else has the connection.
  asio::awaitable<bool> Connect(Waiting& waiting) {
    Thread& thread = peers_.ThreadOf(net());
    for (;;) {
      Result<Place> place = co_await peers_.Find(queue_, request_, waiting);
      if (!place.ok()) {
        co_await Refuse(place.error());
        co_return false;
      }
      if (place->kind == Place::Kind::kHere) {
        Result<std::shared_ptr<UpgradeTarget>> here = allot::OpenWebSocket(peers_.server_, net(), request_);
        if (!here.ok()) {
          co_await Refuse(here.error());
          co_return false;
        }
        WsUpgrade upgrade = std::move(*upgrade_);
        upgrade_.reset();
        (*here)->Accept(std::move(upgrade));
        co_return true;
      }
      upstream_ = co_await peers_.Connect(thread, place->node, true);
      if (upstream_ != nullptr) {
        const Watched watched(peers_, thread, {upstream_, queue_, place->node.incarnation, std::nullopt});
        const bool over = co_await Begin();
        if (over) co_return false;
      }
      co_await peers_.PauseBetween(waiting);
    }
  }

  asio::awaitable<void> Refuse(const Error& error) {
    std::string body;
    AppendError(error, body);
    ResponseHead head;
    head.status = HttpStatus(error.code);
    head.length = body.size();
    head.close = true;
    std::string text;
    AppendHead(head, text);
    text += body;
    const bool written = co_await WriteClient(text);
    if (written) upgrade_->socket->ShutdownSend();
  }

  // False: that node says that the queue is elsewhere.
  asio::awaitable<bool> Begin() {
    const std::string more =
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
        upgrade_->key + "\r\n";
    const std::string head = peers_.HeadFor(request_, upstream_->address(), more);
    const bool written = co_await upstream_->Write(head);
    std::optional<UpstreamHead> answer;
    if (written) answer = co_await ReadHead(*upstream_);
    if (!answer) co_return false;
    std::string body;
    if (answer->status != 101) {
      if (!answer->length) co_return true;
      const bool complete = co_await ReadBody(*upstream_, *answer->length, body);
      if (!complete || SaysStopping(answer->status, body)) co_return false;
    }
    peers_.forwarded_.fetch_add(1);
    std::string text;
    if (answer->status == 101) {
      text = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n" + answer->extra + "\r\n";
    } else {
      ResponseHead refusal;
      refusal.status = answer->status;
      refusal.type = answer->type;
      refusal.length = body.size();
      refusal.close = true;
      refusal.extra = answer->extra;
      AppendHead(refusal, text);
      text += body;
    }
    const bool sent = co_await WriteClient(text);
    if (!sent || answer->status != 101) {
      upgrade_->socket->ShutdownSend();
      co_return true;
    }
    asio::co_spawn(net().io(), ToNode(Self()), asio::detached);
    co_await ToClient();
    Abort();
    while (sending_) co_await Pause(std::chrono::milliseconds(1));
    co_return true;
  }

  static asio::awaitable<void> ToNode(std::shared_ptr<Splice> self) {
    self->sending_ = true;
    std::string piece(kSplicePiece, '\0');
    for (;;) {
      const std::size_t n = co_await self->ReadClient(piece);
      if (n == 0) break;
      self->peers_.server_.metrics.BytesIn(n);
      const bool written = co_await self->upstream_->Write({piece.data(), n});
      if (!written) break;
    }
    self->Abort();
    self->sending_ = false;
  }

  asio::awaitable<void> ToClient() {
    for (;;) {
      if (upstream_->in.size() == 0) {
        const bool more = co_await upstream_->Read();
        if (!more) break;
      }
      const std::string_view bytes(static_cast<const char*>(upstream_->in.data().data()), upstream_->in.size());
      const bool written = co_await WriteClient(bytes);
      if (!written) break;
      peers_.server_.metrics.BytesOut(bytes.size());
      upstream_->in.consume(bytes.size());
    }
  }

  Peers& peers_;
  const Request request_;
  const std::string queue_;
  std::optional<WsUpgrade> upgrade_;
  UpstreamPtr upstream_;
  asio::steady_timer readable_, writable_;  // cancelled when the client's socket is
  bool closed_ = false;
  bool sending_ = false;
};

std::shared_ptr<UpgradeTarget> Peers::OpenWebSocket(NetThread& net, const Request& request, const std::string& queue) {
  return std::make_shared<Splice>(*this, net, request, queue);
}

}  // namespace allot
