// SPDX-License-Identifier: Apache-2.0
// The frames of WebSockets (RFC 6455), seen from the server: bytes in, whole messages and control frames out; heads for
// what is sent. No extensions, so the reserved bits are zero. No I/O.
//
// A message that is there as a whole is looked at where it is; only one that comes in pieces is gathered. So what is
// between two messages costs no memory.
//
// Threading: confined to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace allot::ws {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// Why a connection ends, as it is said to the peer.
enum class CloseCode : std::uint16_t {
  kNormal = 1000,
  kProtocol = 1002,
  kUnsupported = 1003,
  kNone = 1005,  // never sent: the peer gave no code
  kInvalidText = 1007,
  kPolicy = 1008,
  kTooLarge = 1009,
  kRestart = 1012,  // come again: another server goes on
  kTryAgain = 1013,
};

inline constexpr std::size_t kMaxControlBytes = 125;
inline constexpr std::size_t kMaxHeadBytes = 14;

class FrameReader {
 public:
  enum class Kind {
    kNothing,  // all was taken; more is needed
    kMessage,  // a text
    kPing,
    kPong,
    kClose,   // `code` and `data` are what the peer said
    kBroken,  // `code` and `data` are what to say to the peer; nothing after this can be read
  };
  struct Event {
    Kind kind = Kind::kNothing;
    std::string_view data;  // until the next call, and as long as the bytes that were given
    CloseCode code = CloseCode::kNone;
  };

  // Longer messages are refused when their head comes.
  explicit FrameReader(std::size_t max_message) : max_message_(max_message) {}
  void set_max_message(std::size_t bytes) { max_message_ = bytes; }

  // Takes bytes from the front of `in`, up to the next event, and takes their mask off where they are.
  Event Next(std::span<char>& in);
  // From now on messages are dropped as they come in: only control frames are of interest.
  void DropMessages();

  // Nothing has begun.
  bool idle() const { return head_size_ == 0 && !in_frame_ && !in_message_; }
  // Memory that is kept for the message under way.
  std::size_t buffered() const { return message_.capacity(); }
  // Gives memory back that is more than this, between messages.
  void Trim(std::size_t bytes);

 private:
  // False: more is needed, or `broken` says what is wrong.
  bool TakeHead(std::span<char>& in, Event& broken);
  Event EndOfControl(std::string_view body);

  std::size_t max_message_;
  std::array<char, kMaxHeadBytes> head_{};
  std::size_t head_size_ = 0;  // of a head that is not complete
  std::array<char, 4> mask_{};
  std::uint64_t left_ = 0;  // of the frame's body
  Opcode opcode_ = Opcode::kText;
  bool last_ = false;        // of its message
  bool in_frame_ = false;    // a head was taken, and its body not
  bool in_message_ = false;  // a frame of it was taken, and its last one not
  bool delivered_ = false;   // message_ was, and goes
  bool control_delivered_ = false;
  bool dropping_ = false;
  std::string message_;
  std::string control_;  // of one that comes in pieces
};

// A frame as the server sends it, without its body.
class FrameHead {
 public:
  FrameHead(Opcode opcode, std::uint64_t body_bytes);
  std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, kMaxHeadBytes> bytes_;
  std::size_t size_;
};

// The body of a close frame; `why` is cut to what has room. kNone: empty.
std::string CloseBody(CloseCode code, std::string_view why);

}  // namespace allot::ws
