// SPDX-License-Identifier: Apache-2.0
// One WebSocket connection: whole text messages in, one message at a time out.
//
// A message that is there whole is parsed where the thread has read it, and one that the kernel takes at once leaves
// from where it was put into words: between messages a connection has no memory for them.
//
// Threading: confined to its network thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/net/inflight.h"
#include "server/net/net_thread.h"
#include "server/net/socket.h"
#include "server/net/ws_frames.h"
#include "server/ops/tokens.h"

namespace allot {

struct ServerContext;
struct WsUpgrade;

// Before more is known of a peer its messages are small: a `hello` that resumes as many leases as there may be has
// about half of this.
inline constexpr std::size_t kMaxFirstMessageBytes = 2 * 1024 * 1024;

// Who takes a connection over that is to become a WebSocket.
//
// Threading: confined to the connection's network thread.
class UpgradeTarget {
 public:
  virtual ~UpgradeTarget() = default;
  virtual void Accept(WsUpgrade upgrade) = 0;
};

class WsConnection : public Connection, public UpgradeTarget, private Socket::User {
 public:
  WsConnection(NetThread& net, ServerContext& server);
  ~WsConnection() override;

  // Answers the handshake, then reads.
  void Accept(WsUpgrade upgrade) override;

  void Sweep(Instant now) final;
  void Flush() final;
  void Abort() final { Fail(); }

 protected:
  enum class Reading { kGoOn, kPause };
  // A text message.
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
  void CloseSoon(ws::CloseCode code = ws::CloseCode::kNormal);
  bool gone() const { return gone_; }
  bool closes_soon() const { return close_soon_; }
  ServerContext& server() const { return server_; }

 private:
  void OnReadable() final;
  void OnWritable() final;
  std::shared_ptr<void> Keep() final { return shared_from_this(); }
  void Begin(std::string_view key);
  // Reads and looks at what there is, unless it is paused.
  void Read();
  // Looks at them. What is behind a message that makes it pause is kept.
  void Take(std::span<char> bytes);
  // False: what is behind it waits.
  bool OnFrame(const ws::FrameReader::Event& event);
  bool OnText(std::string_view text);
  void OnControl();
  void OnPeerCloses(ws::CloseCode code);
  // What is not complete has a deadline and a part of the budget.
  void Account();
  // The rest of it is written when there is room. REQUIRES: nothing is left of what came before, or it is a control
  // frame. False: the connection is over.
  bool Send(ws::Opcode opcode, std::string_view body);
  bool SendRest();
  void SendControls();
  bool sending() const { return !out_.empty() || !socket_->sent(); }
  // The message under way was taken by the kernel.
  void Sent();
  void SayClose(ws::CloseCode code, std::string_view why);
  // Ends it for whoever uses it at once, and for the peer with a close frame.
  void CloseNow(ws::CloseCode code, std::string_view why);
  void Fail();
  void Forget();
  void End();
  // Its token is as good as when it came.
  bool Admitted();
  std::shared_ptr<WsConnection> Self() { return std::static_pointer_cast<WsConnection>(shared_from_this()); }

  ServerContext& server_;
  std::unique_ptr<Socket> socket_;
  ws::FrameReader reader_{kMaxFirstMessageBytes};
  std::string authorization_;
  TokenBook::Admission admission_;
  std::string ahead_;          // read, and not yet looked at
  std::string out_;            // of what is being sent: what the kernel did not take yet
  std::size_t out_begin_ = 0;  // of it, what it took since
  std::optional<std::string> pong_;
  InflightBudget::Share inflight_;  // of what it reads, until that is worked off
  InflightBudget::Share unread_;    // of what it writes
  bool open_ = false;
  bool heard_ = false;  // a message
  bool taking_ = false;
  bool paused_ = false;
  bool message_under_way_ = false;
  bool close_soon_ = false;
  ws::CloseCode close_code_ = ws::CloseCode::kNormal;
  bool closing_ = false;      // a close frame was sent, or is about to be
  bool peer_closed_ = false;  // one was read
  bool deaf_ = false;         // what comes now has no meaning
  bool ping_ = false;         // is to be sent
  bool gone_ = false;         // for whoever uses it
  bool ended_ = false;        // for the network thread
  Instant last_heard_{};
  Instant next_sign_{};
  std::optional<Instant> read_deadline_;  // of hello, or of a message that has begun
  std::optional<Instant> write_deadline_;
};

}  // namespace allot
