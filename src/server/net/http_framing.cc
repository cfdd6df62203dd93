// SPDX-License-Identifier: Apache-2.0
#include "server/net/http_framing.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace allot {
namespace {

constexpr std::size_t kMaxLengthDigits = 18;

Error TooLong(const std::string& what, std::size_t most) {
  return {Code::kTooLarge, what + " of the request are longer than " + std::to_string(most) + " bytes", ""};
}

Error TooLongHead() {
  return {Code::kTooLarge,
          "the head of the request is longer than " + std::to_string(bounds::kMaxHeaderBytes) + " bytes", ""};
}

// What may stand in a line: neither CR nor LF, nor another control character but the tab.
bool InLine(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 && byte != 0x7f) || c == '\t';
}

}  // namespace

Result<bool> HeadScanner::Scan(std::string_view bytes, std::size_t& used) {
  used = 0;
  while (used < bytes.size()) {
    // Most of it is in the middle of a line.
    if (!cr_ && in_line_ > 0) {
      const std::string_view rest = bytes.substr(used);
      const auto n = static_cast<std::size_t>(std::find_if_not(rest.begin(), rest.end(), InLine) - rest.begin());
      used += n;
      bytes_ += n;
      if (bytes_ > bounds::kMaxHeaderBytes) return TooLongHead();
      if (used == bytes.size()) break;
    }
    const char c = bytes[used++];
    if (++bytes_ > bounds::kMaxHeaderBytes) return TooLongHead();
    if (cr_) {
      if (c != '\n') return NotHttp("a carriage return inside a line");
      cr_ = false;
      if (in_line_ == 0 && lines_ > 0) return true;
      if (in_line_ == 0) return NotHttp("an empty line before the request");
      if (++lines_ > kMaxFields + 1) {
        return Error{Code::kTooLarge, "the head of the request has more than " + std::to_string(kMaxFields) + " fields",
                     ""};
      }
      in_line_ = 0;
    } else if (c == '\r') {
      cr_ = true;
    } else if (!InLine(c)) {
      return NotHttp(c == '\n' ? "a line that ends without a carriage return" : "a control character in the head");
    } else {
      if (in_line_ == 0 && (c == ' ' || c == '\t')) return NotHttp("a line that begins with a blank");
      ++in_line_;
    }
  }
  return false;
}

BodyDecoder BodyDecoder::OfLength(std::uint64_t bytes) {
  BodyDecoder decoder;
  decoder.length_ = decoder.left_ = bytes;
  if (bytes > 0) decoder.state_ = State::kLength;
  return decoder;
}

BodyDecoder BodyDecoder::Chunked() {
  BodyDecoder decoder;
  decoder.chunked_ = true;
  decoder.state_ = State::kSize;
  return decoder;
}

Result<BodyDecoder> BodyDecoder::For(const RequestHead& head) {
  if (head.has(HeadField::kTransferEncoding)) {
    if (!head.http11()) return NotHttp("Transfer-Encoding in a request of HTTP/1.0");
    if (head.has(HeadField::kContentLength)) return NotHttp("both Content-Length and Transfer-Encoding");
    if (!EqualNoCase(head[HeadField::kTransferEncoding], "chunked")) {
      return NotHttp("the only transfer coding is `chunked`");
    }
    return Chunked();
  }
  if (!head.has(HeadField::kContentLength)) return BodyDecoder();
  const std::string_view text = head[HeadField::kContentLength];
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  if (text.empty() || text.size() > kMaxLengthDigits || error != std::errc() || end != text.data() + text.size()) {
    return NotHttp("Content-Length is not a number");
  }
  return OfLength(bytes);
}

Result<std::size_t> BodyDecoder::Take(std::string_view bytes, std::string& content) {
  std::size_t used = 0;
  while (used < bytes.size() && !done()) {
    if (state_ != State::kLength && state_ != State::kData) {
      const Result<void> step = Step(bytes[used]);
      if (!step.ok()) return step.error();
      ++used;
      continue;
    }
    const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - used));
    content.append(bytes.substr(used, n));
    used += n;
    left_ -= n;
    if (left_ == 0) state_ = state_ == State::kLength ? State::kDone : State::kDataCr;
  }
  return used;
}

Result<void> BodyDecoder::Step(char c) {
  switch (state_) {
    case State::kSize: {
      const int digit = HexDigit(c);
      if (digit >= 0) {
        if (++digits_ > kMaxChunkSizeDigits) return NotHttp("the size of a chunk has too many digits");
        left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
        return {};
      }
      if (digits_ == 0) return NotHttp("a chunk without a size");
      state_ = State::kSizeBlank;
      [[fallthrough]];
    }
    case State::kSizeBlank:
      if (c == '\r') {
        state_ = State::kSizeEnd;
        return {};
      }
      if (c != ';' && c != ' ' && c != '\t') return NotHttp("the size of a chunk is not a number");
      if (c == ';') state_ = State::kExtension;
      if (++extension_bytes_ > kMaxChunkExtensionBytes) return TooLong("the chunk extensions", kMaxChunkExtensionBytes);
      return {};
    case State::kExtension:
      if (c == '\r') {
        state_ = State::kSizeEnd;
        return {};
      }
      if (!InLine(c)) return NotHttp("a control character behind the size of a chunk");
      if (++extension_bytes_ > kMaxChunkExtensionBytes) return TooLong("the chunk extensions", kMaxChunkExtensionBytes);
      return {};
    case State::kSizeEnd:
      if (c != '\n') return NotHttp("a carriage return inside a line");
      state_ = left_ > 0 ? State::kData : State::kTrailerStart;
      digits_ = 0;
      return {};
    case State::kDataCr:
      if (c != '\r') return NotHttp("a chunk is longer than its size");
      state_ = State::kDataLf;
      return {};
    case State::kDataLf:
      if (c != '\n') return NotHttp("a chunk is longer than its size");
      state_ = State::kSize;
      return {};
    case State::kTrailerStart:
      if (c == '\r') {
        state_ = State::kLastLf;
        return {};
      }
      if (c == ' ' || c == '\t') return NotHttp("a line that begins with a blank");
      state_ = State::kTrailer;
      [[fallthrough]];
    case State::kTrailer:
      if (c == '\r') {
        state_ = State::kTrailerEnd;
        return {};
      }
      if (!InLine(c)) return NotHttp("a control character in a trailer field");
      if (++trailer_bytes_ > kMaxTrailerBytes) return TooLong("the trailer fields", kMaxTrailerBytes);
      return {};
    case State::kTrailerEnd:
      if (c != '\n') return NotHttp("a carriage return inside a line");
      state_ = State::kTrailerStart;
      return {};
    case State::kLastLf:
      if (c != '\n') return NotHttp("a carriage return inside a line");
      state_ = State::kDone;
      return {};
    case State::kLength:
    case State::kData:
    case State::kDone:
      break;
  }
  return NotHttp("bytes behind the body");  // Take() does not come here
}

}  // namespace allot
