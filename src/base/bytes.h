// SPDX-License-Identifier: Apache-2.0
// Packing into bytes, for journal and records: little-endian varints and length-prefixed text.
//
// ByteReader never reads past its end: after any failure ok() is false and every further read gives zero.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace allot {

// Writes it at `out`, which has room for kMaxVarint bytes; gives the end.
inline constexpr std::size_t kMaxVarint = 10;
inline char* PutVarint(char* out, std::uint64_t v) {
  while (v >= 0x80) {
    *out++ = static_cast<char>(v | 0x80);
    v >>= 7;
  }
  *out++ = static_cast<char>(v);
  return out;
}

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void U8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void Varint(std::uint64_t v) {
    char buffer[kMaxVarint];
    out_.append(buffer, static_cast<std::size_t>(PutVarint(buffer, v) - buffer));
  }
  // Signed, zigzag: small magnitudes stay small.
  void Signed(std::int64_t v) { Varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63)); }
  void Fixed64(std::uint64_t v) {
    char buffer[8];
    std::memcpy(buffer, &v, 8);
    out_.append(buffer, 8);
  }
  void Real(double v) { Fixed64(std::bit_cast<std::uint64_t>(v)); }
  void Text(std::string_view v) {
    Varint(v.size());
    out_.append(v);
  }
  void Raw(std::string_view v) { out_.append(v); }
  std::size_t size() const { return out_.size(); }

 private:
  std::string& out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  bool AtEnd() const { return !ok_ || in_.empty(); }
  std::uint8_t U8() {
    if (!Need(1)) return 0;
    const auto v = static_cast<std::uint8_t>(in_[0]);
    in_.remove_prefix(1);
    return v;
  }
  std::uint64_t Varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t b = U8();
      if (!ok_) return 0;
      v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if ((b & 0x80) == 0) return v;
    }
    ok_ = false;
    return 0;
  }
  std::int64_t Signed() {
    const std::uint64_t v = Varint();
    return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  std::uint64_t Fixed64() {
    if (!Need(8)) return 0;
    std::uint64_t v = 0;
    std::memcpy(&v, in_.data(), 8);
    in_.remove_prefix(8);
    return v;
  }
  double Real() { return std::bit_cast<double>(Fixed64()); }
  std::string_view Text() { return Raw(Varint()); }
  std::string_view Raw(std::uint64_t n) {
    if (!Need(n)) return {};
    const std::string_view v = in_.substr(0, n);
    in_.remove_prefix(n);
    return v;
  }
  std::string_view rest() const { return in_; }

 private:
  bool Need(std::uint64_t n) {
    if (!ok_ || in_.size() < n) {
      ok_ = false;
      return false;
    }
    return true;
  }
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace allot
