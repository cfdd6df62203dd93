// One WebSocket connection: whole text messages in, one message at a time out. Beast stays behind it.
//
// Threading: confined to its network thread.
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/net/inflight.h"
#include "server/net/net_thread.h"
#include "server/ops/tokens.h"

namespace allot {

struct ServerContext;
struct WsUpgrade;

// Before more is known of a peer its messages are small: a `hello` that resumes as many leases as there may be has
// about half of this.
inline constexpr std::size_t kMaxFirstMessageBytes = 2 * 1024 * 1024;

class WsConnection : public Connection {
 public:
  WsConnection(NetThread& net, ServerContext& server);
  ~WsConnection() override;

  // Answers the handshake, then reads.
  void Accept(WsUpgrade upgrade);

  void Sweep(Instant now) final;
  void Flush() final;
  void Abort() final { Fail(); }

 protected:
  enum class Reading { kGoOn, kPause };
  // A text message. Padding behind it may be read.
  virtual Reading OnMessage(std::string_view text) = 0;
  // A ping, or a pong: a sign of life.
  virtual void OnSign() {}
  // Puts the next message into `out` (empty). False if there is none.
  virtual bool NextMessage(std::string& out) = 0;
  // The message was taken by the kernel.
  virtual void OnSent() {}
  // The message that NextMessage() gave was not sent at all, for lack of memory. OnGone() follows.
  virtual void OnRefused() {}
  // About twice a second.
  virtual void OnSweep() {}
  // A silent peer is asked for a sign of life before it is given up.
  virtual bool asks_for_signs() const { return false; }
  // The first message has to come soon.
  virtual bool expects_hello() const { return false; }
  // The connection is gone, or about to be closed, once. Nothing more is read or sent.
  virtual void OnGone() = 0;

  // Before it messages are bounded by kMaxFirstMessageBytes, then by kMaxMessageBytes.
  void AllowLargeMessages();

  // After kPause.
  void ResumeReading();
  // Ends it with a close frame when everything that NextMessage() gives is sent.
  void CloseSoon();
  bool gone() const { return gone_; }
  bool closes_soon() const { return close_soon_; }
  ServerContext& server() const { return server_; }

 private:
  struct Wire;  // Beast's part
  void Read();
  void OnRead(boost::system::error_code ec, std::size_t n);
  void OnWritten(boost::system::error_code ec, std::size_t n);
  // Codes of RFC 6455.
  enum class CloseReason : std::uint16_t { kUnsupported = 1003, kPolicy = 1008, kTryAgain = 1013 };
  // Ends it for whoever uses it at once, and for the peer with a close frame.
  void CloseNow(CloseReason reason, std::string_view why);
  void Fail();
  void Forget();
  Instant CloseDeadline() const;
  void End();
  // Its token is as good as when it came.
  bool Admitted();
  std::shared_ptr<WsConnection> Self() { return std::static_pointer_cast<WsConnection>(shared_from_this()); }

  ServerContext& server_;
  std::unique_ptr<Wire> wire_;
  std::string authorization_;
  TokenBook::Admission admission_;
  std::string out_;
  InflightBudget::Share inflight_;  // of what it reads, until that is worked off
  InflightBudget::Share unread_;    // of what it writes
  bool open_ = false;
  bool reading_ = false;
  bool paused_ = false;
  bool writing_ = false;
  bool close_soon_ = false;
  bool closing_ = false;
  bool pinging_ = false;
  bool gone_ = false;   // for whoever uses it
  bool ended_ = false;  // for the network thread
  Instant last_heard_{};
  Instant next_sign_{};
  std::optional<Instant> read_deadline_;  // of hello, or of a message that has begun
  std::optional<Instant> write_deadline_;
};

}  // namespace allot
