// SPDX-License-Identifier: Apache-2.0
// Result<T> and Error: how every call of this library fails. A value, or an Error whose code is stable on the wire.
//
// A call that could not reach the server, or lost it before the answer came, fails with Code::kUnavailable; everything
// else is the server's own answer. Its codes are in docs/reference/errors.md, with what to do about each.
//
// Codes that this version does not know become kInternal; message and hint are always those of the server.
//
// Changing it: codes are part of the protocol. Add new ones at the end; never rename or reuse one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

// What the library and the server have in common; programs use the names of `allotter` below.
namespace allot {

[[noreturn]] void ResultMisused();
inline void RequireThat(bool condition) {
  if (!condition) [[unlikely]]
    ResultMisused();
}

enum class Code {
  kBadRequest,           // the request is not of the protocol's form
  kBadJson,              // the body is not JSON
  kUnknownField,         // a field that this request does not have
  kBadValue,             // a field with a wrong type or out of its bounds
  kTooLarge,             // a body, batch, payload or result over its bound
  kUnsupportedMedia,     // a body without application/json or application/x-ndjson
  kUnauthorized,         // no token, or an unknown one
  kForbidden,            // the token lacks the scope, user or queue
  kForeignOrigin,        // Origin or Host of another site
  kNotFound,             // no such path
  kMethodNotAllowed,     //
  kUnknownQueue,         //
  kUnknownJob,           //
  kUnknownTask,          //
  kUnknownWorker,        // gone, or never registered: register again
  kUnknownLimit,         // deleted, expired, or never there
  kUnknownReceipt,       // not started, or not among the last starts
  kStale,                // this lease is not the task's own
  kIdempotencyConflict,  // the key was used with other content
  kJobEnded,             // the job has ended, so it cannot be changed
  kJobActive,            // the job has not ended, so it cannot be retried
  kQueueExists,          //
  kQueueNotEmpty,        //
  kTooManyQueues,        //
  kTooManyJobs,          //
  kTooManyWorkers,       //
  kTooManyClasses,       //
  kTooManyWaits,         //
  kTooManyStrategies,    //
  kTooManyLimits,        //
  kMemoryFull,           // the queue's memory budget is used up
  kTimedOut,             // the client was too slow
  kDiskFull,             // nothing new is taken until there is space
  kStopping,             // the server is going down: try again soon
  kUnavailable,          // not ready yet
  kStoreLocked,          // another server has the file
  kStoreForeign,         // not a database of this program
  kStoreNewer,           // written by a newer program
  kStoreCorrupt,         //
  kStoreFailed,          // any other error of the store
  kInternal,             //
  kFenced,               // another server has taken the queue over
};

// The code's text on the wire: `bad_request` for kBadRequest.
std::string_view CodeText(Code code);
// The code of such a text, kInternal if there is none.
Code CodeFromText(std::string_view text);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // what is wrong
  std::string hint;     // what to do about it; may be empty
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok().
  T& value() & {
    RequireThat(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    RequireThat(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    RequireThat(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  // REQUIRES: !ok().
  const Error& error() const {
    RequireThat(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    RequireThat(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace allot

namespace allotter {

using Code = allot::Code;
using Error = allot::Error;
template <typename T>
using Result = allot::Result<T>;
using allot::CodeText;

}  // namespace allotter
