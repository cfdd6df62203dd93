// SPDX-License-Identifier: Apache-2.0
// Bytes of programs ↔ JSON values of tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace allot::cli {

std::string EncodeBase64(std::string_view bytes);
std::optional<std::string> DecodeBase64(std::string_view text);

// A line or an output as a JSON value: a string, or {"$base64": …} if it is not UTF-8.
std::string BytesToJson(std::string_view bytes);
// What a program gets to see of a JSON value: a string's text, the bytes of {"$base64": …}, compact JSON otherwise.
// Nothing for nothing.
std::string JsonToBytes(std::string_view json);
bool IsJson(std::string_view text);

}  // namespace allot::cli
