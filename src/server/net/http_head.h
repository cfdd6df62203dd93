// SPDX-License-Identifier: Apache-2.0
// The head of a request, as fields: what HeadScanner (http_framing.h) has found to be whole. All that is asked of it is
// in one list of names; other fields are only looked over.
//
// Threading: each object is confined to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace allot {

// For bytes that are no request, or may be read in two ways.
Error NotHttp(std::string what);

// A row for each in http_head.cc.
enum class HeadField : std::uint8_t {
  kAccept,
  kAcceptEncoding,
  kAuthorization,
  kConnection,
  kContentLength,
  kContentType,
  kExpect,
  kForwarded,
  kHost,
  kIfNoneMatch,
  kOrigin,
  kRedirect,
  kTransferEncoding,
  kUpgrade,
  kWsKey,
  kWsVersion,
};
inline constexpr std::size_t kHeadFields = 16;

class RequestHead {
 public:
  // Views of `bytes`. kBadRequest for what is no request, and for fields that must not be there twice: a proxy may read
  // them differently. REQUIRES: HeadScanner took `bytes` for a whole head.
  static Result<RequestHead> Parse(std::string_view bytes);

  // As it was sent: names of methods have cases.
  std::string_view method() const { return method_; }
  std::string_view target() const { return target_; }
  // Not HTTP/1.0.
  bool http11() const { return http11_; }
  bool has(HeadField field) const { return of(field).there; }
  // Without the blanks around it; of several the first. Empty if there is none.
  std::string_view operator[](HeadField field) const { return of(field).value; }
  // The connection may go on behind this request.
  bool keep_alive() const { return http11_ ? !says_close_ : says_keep_alive_ && !says_close_; }
  // `Connection` names `Upgrade`.
  bool upgrades() const { return says_upgrade_; }

 private:
  struct Value {
    std::string_view value;
    bool there = false;
  };
  const Value& of(HeadField field) const { return fields_[static_cast<std::size_t>(field)]; }
  Result<void> TakeRequestLine(std::string_view line);
  Result<void> TakeField(std::string_view line);
  Result<void> TakeConnection(std::string_view list);

  std::string_view method_;
  std::string_view target_;
  std::array<Value, kHeadFields> fields_{};
  bool http11_ = false;
  bool says_close_ = false;
  bool says_keep_alive_ = false;
  bool says_upgrade_ = false;
};

}  // namespace allot
