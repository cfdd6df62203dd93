// SPDX-License-Identifier: Apache-2.0
#include "server/net/ws_frames.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace allot::ws {
namespace {

constexpr std::uint8_t kLastBit = 0x80, kReservedBits = 0x70, kOpcodeBits = 0x0F, kMaskBit = 0x80, kLengthBits = 0x7F;
constexpr std::uint8_t kTwoByteLength = 126, kEightByteLength = 127;
constexpr std::size_t kMaskBytes = 4;

FrameReader::Event Broken(CloseCode code, std::string_view why) { return {FrameReader::Kind::kBroken, why, code}; }

bool IsControl(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= static_cast<std::uint8_t>(Opcode::kClose); }

bool IsUtf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

// Those that may be sent: of the standard, registered since, and of libraries and applications.
bool MayBeSaid(unsigned code) {
  if (code >= 3000) return code < 5000;
  return code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006;
}

// `mask` goes on where it ended.
void Unmask(std::span<char> bytes, std::array<char, kMaskBytes>& mask) {
  std::uint32_t four = 0;
  std::memcpy(&four, mask.data(), sizeof four);
  if (four == 0) return;
  const std::uint64_t eight = static_cast<std::uint64_t>(four) << 32 | four;
  std::size_t i = 0;
  for (; i + sizeof eight <= bytes.size(); i += sizeof eight) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    word ^= eight;
    std::memcpy(bytes.data() + i, &word, sizeof word);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<char>(bytes[i] ^ mask[i % kMaskBytes]);
  std::rotate(mask.begin(), mask.begin() + static_cast<std::ptrdiff_t>(bytes.size() % kMaskBytes), mask.end());
}

}  // namespace

void FrameReader::DropMessages() {
  dropping_ = true;
  std::string().swap(message_);
}

void FrameReader::Trim(std::size_t bytes) {
  if (in_frame_ || in_message_ || message_.capacity() <= bytes) return;
  delivered_ = false;
  std::string().swap(message_);
}

bool FrameReader::TakeHead(std::span<char>& in, Event& broken) {
  const std::size_t had = head_size_;
  const std::size_t more = std::min(in.size(), kMaxHeadBytes - had);
  std::copy_n(in.begin(), more, head_.begin() + static_cast<std::ptrdiff_t>(had));
  head_size_ += more;
  const auto need = [&](std::size_t bytes) {
    if (head_size_ >= bytes) return true;
    in = in.subspan(more);
    return false;
  };
  const auto byte = [this](std::size_t i) { return static_cast<std::uint8_t>(head_[i]); };
  const auto refuse = [&broken](CloseCode code, std::string_view why) {
    broken = Broken(code, why);
    return false;
  };
  if (!need(2)) return false;
  const auto opcode = static_cast<Opcode>(byte(0) & kOpcodeBits);
  const bool last = (byte(0) & kLastBit) != 0;
  if ((byte(0) & kReservedBits) != 0) return refuse(CloseCode::kProtocol, "a reserved bit is set");
  if ((byte(1) & kMaskBit) == 0) return refuse(CloseCode::kProtocol, "a client's frames are masked");
  const std::uint8_t length = byte(1) & kLengthBits;
  switch (opcode) {
    case Opcode::kContinuation:
      if (!in_message_) return refuse(CloseCode::kProtocol, "there is no message to go on with");
      break;
    case Opcode::kText:
    case Opcode::kBinary:
      if (in_message_) return refuse(CloseCode::kProtocol, "a message begins within another");
      if (opcode == Opcode::kBinary) return refuse(CloseCode::kUnsupported, "messages are text");
      break;
    case Opcode::kClose:
    case Opcode::kPing:
    case Opcode::kPong:
      if (!last) return refuse(CloseCode::kProtocol, "a control frame comes whole");
      if (length > kMaxControlBytes) return refuse(CloseCode::kProtocol, "a control frame is short");
      break;
    default:
      return refuse(CloseCode::kProtocol, "there is no such kind of frame");
  }
  const std::size_t length_bytes = length == kTwoByteLength ? 2 : length == kEightByteLength ? 8 : 0;
  const std::size_t size = 2 + length_bytes + kMaskBytes;
  if (!need(2 + length_bytes)) return false;
  std::uint64_t body = length;
  if (length_bytes > 0) {
    body = 0;
    for (std::size_t i = 2; i < 2 + length_bytes; ++i) body = body << 8 | byte(i);
    const std::uint64_t least = length_bytes == 2 ? kTwoByteLength : 0x10000;
    if (body < least || body >> 63 != 0) return refuse(CloseCode::kProtocol, "a length is said in the shortest way");
  }
  if (!IsControl(opcode) && body > max_message_ - std::min(message_.size(), max_message_)) {
    if (!dropping_) return refuse(CloseCode::kTooLarge, "the message is too long");
  }
  if (!need(size)) return false;
  std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(size - kMaskBytes), kMaskBytes, mask_.begin());
  in = in.subspan(size - had);
  head_size_ = 0;
  opcode_ = opcode;
  last_ = last;
  left_ = body;
  in_frame_ = true;
  return true;
}

FrameReader::Event FrameReader::EndOfControl(std::string_view body) {
  if (opcode_ == Opcode::kPing) return {Kind::kPing, body};
  if (opcode_ == Opcode::kPong) return {Kind::kPong, body};
  if (body.empty()) return {Kind::kClose, {}};
  if (body.size() < 2) return Broken(CloseCode::kProtocol, "a close code has two bytes");
  const unsigned code = static_cast<std::uint8_t>(body[0]) << 8 | static_cast<std::uint8_t>(body[1]);
  if (!MayBeSaid(code)) return Broken(CloseCode::kProtocol, "there is no such close code");
  if (!IsUtf8(body.substr(2))) return Broken(CloseCode::kInvalidText, "the text is not UTF-8");
  return {Kind::kClose, body.substr(2), static_cast<CloseCode>(code)};
}

FrameReader::Event FrameReader::Next(std::span<char>& in) {
  if (std::exchange(delivered_, false)) message_.clear();
  if (std::exchange(control_delivered_, false)) control_.clear();
  for (;;) {
    bool whole = false;  // the body, and it is here
    if (!in_frame_) {
      if (in.empty()) return {};
      Event broken;
      if (!TakeHead(in, broken)) return broken;
      whole = left_ <= in.size();
    }
    const std::span<char> here = in.first(static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size())));
    in = in.subspan(here.size());
    left_ -= here.size();
    if (IsControl(opcode_)) {
      Unmask(here, mask_);
      std::string_view body(here.data(), here.size());
      if (!whole) {
        control_.append(body);
        if (left_ > 0) return {};
        body = control_;
      }
      in_frame_ = false;
      control_delivered_ = true;
      return EndOfControl(body);
    }
    const bool alone = whole && last_ && !in_message_;
    in_message_ = true;
    if (!dropping_) {
      Unmask(here, mask_);
      if (!alone) message_.append(here.data(), here.size());
    }
    if (left_ > 0) return {};
    in_frame_ = false;
    if (!last_) continue;
    in_message_ = false;
    if (dropping_) continue;
    delivered_ = !alone;
    const std::string_view text = alone ? std::string_view(here.data(), here.size()) : message_;
    if (!IsUtf8(text)) return Broken(CloseCode::kInvalidText, "the text is not UTF-8");
    return {Kind::kMessage, text};
  }
}

FrameHead::FrameHead(Opcode opcode, std::uint64_t body_bytes) {
  bytes_[0] = static_cast<char>(kLastBit | static_cast<std::uint8_t>(opcode));
  std::size_t length_bytes = 0;
  if (body_bytes < kTwoByteLength) {
    bytes_[1] = static_cast<char>(body_bytes);
  } else {
    length_bytes = body_bytes < 0x10000 ? 2 : 8;
    bytes_[1] = static_cast<char>(length_bytes == 2 ? kTwoByteLength : kEightByteLength);
  }
  for (std::size_t i = 0; i < length_bytes; ++i) {
    bytes_[2 + i] = static_cast<char>(body_bytes >> (8 * (length_bytes - 1 - i)));
  }
  size_ = 2 + length_bytes;
}

std::string CloseBody(CloseCode code, std::string_view why) {
  if (code == CloseCode::kNone) return {};
  const auto number = static_cast<std::uint16_t>(code);
  std::string body;
  body.push_back(static_cast<char>(number >> 8));
  body.push_back(static_cast<char>(number));
  body.append(why.substr(0, kMaxControlBytes - body.size()));
  return body;
}

}  // namespace allot::ws
