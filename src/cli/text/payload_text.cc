// SPDX-License-Identifier: Apache-2.0
#include "cli/text/payload_text.h"

#include <openssl/evp.h>
#include <simdjson.h>

#include "base/json.h"

namespace allot::cli {
namespace {

simdjson::dom::parser& Parser() {
  thread_local simdjson::dom::parser parser;
  return parser;
}

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int n = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(n));
  return out;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3 + 1, '\0');
  const int n = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (n < 0) return std::nullopt;
  std::size_t size = static_cast<std::size_t>(n);
  // The decoder counts the padding as bytes.
  for (int i = 0; i < 2 && text.ends_with('='); ++i) {
    text.remove_suffix(1);
    if (size > 0) --size;
  }
  out.resize(size);
  return out;
}

std::string BytesToJson(std::string_view bytes) {
  if (IsUtf8(bytes)) return JsonString(bytes);
  return "{\"$base64\":\"" + EncodeBase64(bytes) + "\"}";
}

std::string JsonToBytes(std::string_view json) {
  if (json.empty()) return {};
  simdjson::dom::element root;
  if (Parser().parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return std::string(json);
  std::string_view text;
  if (root.get(text) == simdjson::SUCCESS) return std::string(text);
  simdjson::dom::object object;
  if (root.get(object) == simdjson::SUCCESS && object.size() == 1 && object["$base64"].get(text) == simdjson::SUCCESS) {
    if (auto bytes = DecodeBase64(text)) return std::move(*bytes);
  }
  // The text as it was sent, without blanks: going through the parsed form could change numbers.
  std::string compact(json.size() + simdjson::SIMDJSON_PADDING, '\0');
  std::size_t size = 0;
  if (simdjson::minify(json.data(), json.size(), compact.data(), size) != simdjson::SUCCESS) return std::string(json);
  compact.resize(size);
  return compact;
}

bool IsJson(std::string_view text) {
  simdjson::dom::element root;
  return Parser().parse(text.data(), text.size()).get(root) == simdjson::SUCCESS;
}

}  // namespace allot::cli
