// SPDX-License-Identifier: Apache-2.0
// Members of a struct that stand in a list, each with what has to be known of it: whoever reads, stores, counts or
// shows them goes by the list, and none names them one by one.
//
//   inline constexpr std::tuple kBannerDetails{
//       Detail(&Banner::level, "level", "how loud it is", 10, 1), …};
//
// A member is a text, a whole number, a duration or a truth. Empty, 0 or false: it is not there.
//
// Changing it: numbers are persisted. One is never used again for another member, nor a member made another type.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include "base/bytes.h"

namespace allot {

template <typename Owner, typename T>
struct Detail {
  using Value = T;
  constexpr Detail(T Owner::*of, std::string_view called, std::string_view words, std::int64_t at_most,
                   std::uint32_t stored_as)
      : member(of), name(called), about(words), most(at_most), number(stored_as) {}

  T Owner::*member;
  std::string_view name;   // on the wire
  std::string_view about;  // a line of words
  std::int64_t most;       // bytes of a text, or the largest number
  std::uint32_t number;    // in records; 0: it is stored by other means
};

// f(detail) for each.
template <typename... D, typename F>
constexpr void ForEach(const std::tuple<D...>& list, F&& f) {
  std::apply([&](const D&... detail) { (f(detail), ...); }, list);
}

inline bool Given(const std::string& text) { return !text.empty(); }
template <std::integral T>
constexpr bool Given(T value) {
  return value != T{};
}
constexpr bool Given(std::chrono::milliseconds value) { return value.count() != 0; }

template <typename... D, typename Owner>
bool AnyGiven(const std::tuple<D...>& list, const Owner& of) {
  return std::apply([&](const D&... detail) { return (Given(of.*detail.member) || ...); }, list);
}

// Bytes of its texts.
template <typename... D, typename Owner>
std::size_t TextBytes(const std::tuple<D...>& list, const Owner& of) {
  std::size_t bytes = 0;
  ForEach(list, [&](const auto& detail) {
    if constexpr (std::same_as<decltype(detail.member), std::string Owner::*>) bytes += (of.*detail.member).size();
  });
  return bytes;
}

namespace details {

inline void Put(const std::string& text, ByteWriter& out) { out.Raw(text); }
template <std::integral T>
void Put(T value, ByteWriter& out) {
  out.Signed(static_cast<std::int64_t>(value));
}
inline void Put(std::chrono::milliseconds value, ByteWriter& out) { out.Signed(value.count()); }

inline void Get(ByteReader& in, std::string& text) { text = in.rest(); }
template <std::integral T>
void Get(ByteReader& in, T& value) {
  value = static_cast<T>(in.Signed());
}
inline void Get(ByteReader& in, std::chrono::milliseconds& value) { value = std::chrono::milliseconds(in.Signed()); }

}  // namespace details

// Appends those that are given and have a number: number and value, one after the other.
template <typename... D, typename Owner>
void PutNumbered(const std::tuple<D...>& list, const Owner& of, std::string& out) {
  ByteWriter to(out);
  ForEach(list, [&](const auto& detail) {
    if (detail.number == 0 || !Given(of.*detail.member)) return;
    std::string value;
    ByteWriter inner(value);
    details::Put(of.*detail.member, inner);
    to.Varint(detail.number);
    to.Text(value);
  });
}

// Reads what PutNumbered wrote. Numbers that are not in the list are passed over: a newer program wrote them. False
// where it cannot be read.
template <typename... D, typename Owner>
bool GetNumbered(const std::tuple<D...>& list, std::string_view text, Owner& to) {
  ByteReader in(text);
  bool read = true;
  while (in.ok() && !in.AtEnd()) {
    const std::uint64_t number = in.Varint();
    ByteReader value(in.Text());
    ForEach(list, [&](const auto& detail) {
      if (detail.number == 0 || detail.number != number) return;
      details::Get(value, to.*detail.member);
      read = read && value.ok();
    });
  }
  return read && in.ok();
}

// No number is there twice.
template <typename... D>
constexpr bool NumbersDiffer(const std::tuple<D...>& list) {
  bool differ = true;
  ForEach(list, [&](const auto& a) {
    int found = 0;
    ForEach(list, [&](const auto& b) { found += a.number != 0 && a.number == b.number ? 1 : 0; });
    differ = differ && found <= 1;
  });
  return differ;
}

}  // namespace allot
