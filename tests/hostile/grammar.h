// SPDX-License-Identifier: Apache-2.0
// The grammar of HTTP/1.1 and of WebSockets as this server speaks them, and everything that can be done to its parts:
// left out, doubled, repeated, cut, made huge, swapped for others, filled with noise.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace allot::testing {

class Grammar {
 public:
  struct Words {
    std::string host;                 // of a Host field
    std::vector<std::string> tokens;  // good ones
  };
  Grammar(std::uint64_t seed, Words words) : random_(seed), words_(std::move(words)) {}

  // One to four requests behind one another, most of them with something wrong.
  struct Requests {
    std::string bytes;
    int count = 0;
  };
  Requests SomeRequests();
  // The head of an upgrade that is right more often than not.
  std::string Handshake();
  // Frames for an open WebSocket, most of them with something wrong.
  std::string SomeFrames();

  // True once in `n` times.
  bool OneIn(std::uint64_t n) { return Below(n) == 0; }
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }

 private:
  using Parts = std::vector<std::string>;
  template <typename T, std::size_t N>
  const T& Any(const T (&choices)[N]) {
    return choices[Below(N)];
  }
  std::size_t Size();  // small, or at a bound, or huge
  std::string Noise(std::size_t size);
  std::string Json();
  void AddField(Parts& parts, const std::string& name, const std::string& value);
  void AddChunks(Parts& parts, const std::string& body);
  Parts Request();
  void Spoil(Parts& parts);
  void SpoilPart(Parts& parts, std::size_t at);
  std::string Frame();

  std::mt19937_64 random_;
  const Words words_;
};

}  // namespace allot::testing
