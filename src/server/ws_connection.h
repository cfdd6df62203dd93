// One WebSocket connection: whole text messages in, one message at a time out. Beast stays behind it.
//
// Threading: confined to its network thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/net_thread.h"
#include "server/tokens.h"

namespace allot {

struct ServerContext;
struct WsUpgrade;

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
  // A silent peer is asked for a sign of life before it is given up.
  virtual bool asks_for_signs() const { return false; }
  // The connection is gone, once.
  virtual void OnGone() = 0;

  // After kPause.
  void ResumeReading();
  // Ends it with a close frame when everything that NextMessage() gives is sent.
  void CloseSoon();
  bool gone() const { return gone_; }
  ServerContext& server() const { return server_; }

 private:
  struct Wire;  // Beast's part
  void Read();
  void Fail();
  // Its token is as good as when it came.
  bool Admitted();
  std::shared_ptr<WsConnection> Self() { return std::static_pointer_cast<WsConnection>(shared_from_this()); }

  ServerContext& server_;
  std::unique_ptr<Wire> wire_;
  std::string authorization_;
  TokenBook::Admission admission_;
  std::string out_;
  bool open_ = false;
  bool reading_ = false;
  bool paused_ = false;
  bool writing_ = false;
  bool close_soon_ = false;
  bool closing_ = false;
  bool pinging_ = false;
  bool gone_ = false;
  Instant last_heard_{};
  std::optional<Instant> write_deadline_;
};

}  // namespace allot
