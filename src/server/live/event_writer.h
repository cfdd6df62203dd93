// SPDX-License-Identifier: Apache-2.0
// Server-sent events on one connection: the head, texts, pings and the end. All streams of events go through here.
//
// A text is shared with other readers until it is sent: a connection has only a piece of it at a time. A reader that is
// slow misses texts, and gets the last one once it has caught up.
//
// Threading: confined to the connection's network thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/time.h"
#include "server/net/request.h"
#include "server/queue/closure.h"

namespace allot {

// After so long without an event there is a comment, so that what is between client and server keeps the connection.
inline constexpr Duration kPingEvery = std::chrono::seconds(15);

// `event: NAME` with its data. What clients gave may have line breaks: each line has its own prefix.
std::string EventText(std::string_view event, std::string_view data);

class EventWriter : public std::enable_shared_from_this<EventWriter> {
 public:
  using SharedText = std::shared_ptr<const std::string>;

  // Begins a stream. `gone` is called when the client goes, unless the stream was ended from here.
  static std::shared_ptr<EventWriter> Open(std::shared_ptr<OpenResponse> connection, Closure gone);

  // The newest text, instead of one that waits.
  void Send(SharedText text);
  // A comment, where nothing is on its way.
  void Ping(std::string_view text = ": ping\n\n");
  // After the text that is being sent, this one is the last.
  void End(SharedText last);
  void Break();
  // What is begun and not at its end; null: nothing.
  const SharedText& sending() const { return sending_; }

 private:
  EventWriter(std::shared_ptr<OpenResponse> connection, Closure gone);
  void GoOn();
  // The connection is not ours any more.
  std::shared_ptr<OpenResponse> Leave();

  std::shared_ptr<OpenResponse> connection_;  // null once it is over
  Closure gone_;
  SharedText sending_;
  std::size_t sent_ = 0;  // of it
  SharedText next_;       // for when that is through
  bool ending_ = false;   // with next_
};

}  // namespace allot
