// SPDX-License-Identifier: Apache-2.0
// Going on with what a Result has, or returning its error: the one way in which errors are passed up.
//
//   Result<Thing> Make(std::string_view text) {
//     TRY(const Query query, ParseQuery(text));  // declares `query`, or returns the error
//     TRY_OK(Check(query));                      // returns the error, if there is one
//     …
//
// In a coroutine the words are CO_TRY and CO_TRY_OK. TRY is two statements: it is no branch of an `if` without braces.
#pragma once

#include <utility>

#include "base/result.h"

#define ALLOT_JOINED_2(a, b) a##b
#define ALLOT_JOINED(a, b) ALLOT_JOINED_2(a, b)
#define ALLOT_TRY(leave, result, declaration, ...) \
  auto result = (__VA_ARGS__);                     \
  if (!result.ok()) [[unlikely]]                   \
    leave result.error();                          \
  declaration = *std::move(result)
#define ALLOT_TRY_OK(leave, ...)                                                              \
  do {                                                                                        \
    if (const auto result_here = (__VA_ARGS__); !result_here.ok()) leave result_here.error(); \
  } while (false)

#define TRY(declaration, ...) ALLOT_TRY(return, ALLOT_JOINED(result_at_, __LINE__), declaration, __VA_ARGS__)
#define TRY_OK(...) ALLOT_TRY_OK(return, __VA_ARGS__)
#define CO_TRY(declaration, ...) ALLOT_TRY(co_return, ALLOT_JOINED(result_at_, __LINE__), declaration, __VA_ARGS__)
#define CO_TRY_OK(...) ALLOT_TRY_OK(co_return, __VA_ARGS__)
