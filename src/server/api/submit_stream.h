// SPDX-License-Identifier: Apache-2.0
// A submit whose tasks are streamed in: lines are checked, packed and stored as they come, in bounded memory, which
// counts in that of all requests (net/inflight.h): where there is none left, it is not read until its own is stored.
// The job exists once its last line is stored; a stream that breaks leaves nothing.
//
// Threading: confined to the connection's network thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/net/context.h"
#include "server/net/net_thread.h"
#include "server/net/request.h"

namespace allot {

class SubmitStream final : public BodySink {
 public:
  static std::unique_ptr<SubmitStream> Open(ServerContext& server, QueuePtr queue, PrincipalPtr principal,
                                            std::string peer, std::shared_ptr<BodySource> connection);
  ~SubmitStream() override;

  Result<bool> OnBody(std::string_view bytes) override;
  void OnEnd(Reply reply) override;
  void OnBroken() override;
  std::uint64_t complete() const override;

 private:
  class State;
  explicit SubmitStream(std::shared_ptr<State> state);
  const std::shared_ptr<State> state_;
};

}  // namespace allot
