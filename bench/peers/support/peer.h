// SPDX-License-Identifier: Apache-2.0
// The load that `allot bench` puts on our own server, for a peer: same loop, same payloads, same shape.
//
// A peer says what its messages look like; all else is here, so that each is measured alike: putting for a time, taking
// and finishing what was put (the next take travels with the finish, in one write), and how long a put takes to start
// on a worker that waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace allot::bench {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string_view name() const = 0;
  // The words for how it keeps what it was given; the first one is the default.
  virtual std::vector<std::string_view> durabilities() const = 0;
  // How its server is started.
  virtual std::vector<std::string> Command(std::string_view durability, std::uint16_t port,
                                           const std::string& folder) const = 0;

  virtual std::string Put(std::string_view payload) const = 0;
  // Waits until there is one.
  virtual std::string Take() const = 0;
  enum class Kind { kOk, kTaken, kOther };  // kOk: it was stored, or finished
  struct Reply {
    std::size_t size = 0;  // 0: it is not all there yet
    Kind kind = Kind::kOther;
    std::string_view what;  // of one that was taken: what finishing it names; of others: what it says
  };
  // The first reply in `data`.
  virtual Reply Next(std::string_view data) const = 0;
  virtual void FinishAndTake(std::string_view what, std::string& message) const = 0;
};

//   peer_NAME DURABILITY [--seconds S] [--jobs N] [--samples N] [put] [drain] [latency]
//
// Starts a server of its own on a free port of 127.0.0.1, with its files in a temporary folder, and prints figures as
// JSON.
int PeerMain(const Peer& peer, int argc, char** argv);

}  // namespace allot::bench
