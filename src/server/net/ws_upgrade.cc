// SPDX-License-Identifier: Apache-2.0
#include "server/net/ws_upgrade.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace allot {
namespace {

constexpr std::size_t kKeyText = 24;  // of 16 bytes
constexpr std::size_t kSha1Bytes = 20;
// Says that whoever answers has understood.
constexpr std::string_view kMagic = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

}  // namespace

Result<void> CheckHandshake(const RequestHead& head) {
  const auto no = [](std::string message) { return Error{Code::kBadRequest, std::move(message), "see RFC 6455"}; };
  if (!head.http11()) return no("a WebSocket begins with HTTP/1.1");
  if (head.method() != "GET" || !head.upgrades()) return no("a WebSocket begins with `Connection: Upgrade`");
  if (head[HeadField::kWsKey].size() != kKeyText)
    return no("a WebSocket begins with a `Sec-WebSocket-Key` of 16 bytes in base64");
  if (head[HeadField::kWsVersion] != "13") return no("only version 13 of WebSocket is known");
  return {};
}

std::string AcceptHandshake(std::string_view key) {
  const std::string text = std::string(key).append(kMagic);
  std::array<unsigned char, kSha1Bytes> digest;
  unsigned int size = 0;
  CHECK(EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) == 1 && size == digest.size());
  std::array<unsigned char, (kSha1Bytes + 2) / 3 * 4 + 1> base64;
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), kSha1Bytes);
  std::string out = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n";
  out.append("Sec-WebSocket-Accept: ");
  out.append(reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(length));
  out.append("\r\n\r\n");
  return out;
}

}  // namespace allot
