// SPDX-License-Identifier: Apache-2.0
// Where a request's head ends, and what its body is: the part of HTTP/1.1 that decides how bytes become requests. What
// the head says is in http_head.h.
//
// Stricter than RFC 9112 where leniency lets two readers of the same bytes see different requests: no bare CR or LF, no
// folded fields, no second Host or length, no transfer coding but `chunked`. Everything is bounded, and nothing is kept
// of what a body has around its content (chunk sizes, extensions, trailer fields).
//
// Threading: each object is confined to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bounds.h"
#include "base/result.h"
#include "server/net/http_head.h"

namespace allot {

inline constexpr std::size_t kMaxFields = 100;                    // of a head
inline constexpr std::size_t kMaxChunkSizeDigits = 15;            // leading zeros included
inline constexpr std::size_t kMaxChunkExtensionBytes = 4 * 1024;  // of all chunks of a body
inline constexpr std::size_t kMaxTrailerBytes = 8 * 1024;         // of a body

// Finds the end of a head, line by line.
class HeadScanner {
 public:
  // Looks at the bytes that follow those of the last call. True once `used` of them complete the head; false: more are
  // needed, all of these are used. kTooLarge, kBadRequest.
  Result<bool> Scan(std::string_view bytes, std::size_t& used);

 private:
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;
  std::size_t in_line_ = 0;
  bool cr_ = false;
};

// Takes a body apart.
class BodyDecoder {
 public:
  // Without a body.
  BodyDecoder() = default;
  static BodyDecoder OfLength(std::uint64_t bytes);
  static BodyDecoder Chunked();
  // What the head says. kBadRequest for fields that say two things.
  static Result<BodyDecoder> For(const RequestHead& head);

  bool done() const { return state_ == State::kDone; }
  bool chunked() const { return chunked_; }
  // As the head gives it; none for chunks.
  std::uint64_t length() const { return length_; }
  // Appends the content of the bytes that follow those of the last call. Returns how many of them it used: all, unless
  // it is done. kBadRequest, kTooLarge.
  Result<std::size_t> Take(std::string_view bytes, std::string& content);

 private:
  enum class State {
    kLength,        // content, `left_` bytes of it
    kSize,          // digits of a chunk's size
    kSizeBlank,     // blanks behind them: an extension or the end of the line follows
    kExtension,     // what follows them on the line
    kSizeEnd,       // the LF of the line
    kData,          // content of a chunk, `left_` bytes of it
    kDataCr,        // behind it
    kDataLf,        //
    kTrailerStart,  // of a line
    kTrailer,       // in a line
    kTrailerEnd,    // the LF of the line
    kLastLf,        // of the empty line that ends it all
    kDone,
  };
  // One byte outside of content.
  Result<void> Step(char c);

  State state_ = State::kDone;
  bool chunked_ = false;
  std::uint64_t length_ = 0;
  std::uint64_t left_ = 0;
  std::size_t digits_ = 0;
  std::size_t extension_bytes_ = 0;
  std::size_t trailer_bytes_ = 0;
};

}  // namespace allot
