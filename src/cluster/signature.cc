// SPDX-License-Identifier: Apache-2.0
#include "cluster/signature.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>
#include <fstream>
#include <utility>

#include "base/check.h"

namespace allot::cluster {
namespace {

constexpr int kMostHops = 99;

std::string Hex(const unsigned char* bytes, std::size_t size) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < size; ++i) {
    out += kHex[bytes[i] >> 4];
    out += kHex[bytes[i] & 15];
  }
  return out;
}

// Each part with its length, so that no two lists of parts read the same.
std::string Joined(std::string_view kind, const Forwarded& forwarded, const SignedRequest& request) {
  std::string text;
  for (const std::string_view part :
       {kind, std::string_view(forwarded.peer), request.method, request.target, request.authorization}) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
  }
  return text + std::to_string(forwarded.hops);
}

}  // namespace

std::string Signer::Mac(std::string_view text) const {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  CHECK(HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
             reinterpret_cast<const unsigned char*>(text.data()), text.size(), mac, &size) != nullptr);
  return Hex(mac, size);
}

std::string Signer::Sign(const Forwarded& forwarded, const SignedRequest& request) const {
  return "v1 " + forwarded.peer + " " + std::to_string(forwarded.hops) + " " +
         Mac(Joined("forwarded", forwarded, request));
}

std::optional<Forwarded> Signer::Verify(std::string_view header, const SignedRequest& request) const {
  std::string_view parts[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t end = i == 3 ? header.size() : header.find(' ');
    if (end == std::string_view::npos) return std::nullopt;
    parts[i] = header.substr(0, end);
    header.remove_prefix(i == 3 ? end : end + 1);
  }
  Forwarded forwarded;
  forwarded.peer = parts[1];
  const char* const end = parts[2].data() + parts[2].size();
  const auto [rest, error] = std::from_chars(parts[2].data(), end, forwarded.hops);
  if (parts[0] != "v1" || error != std::errc() || rest != end || forwarded.hops < 1 || forwarded.hops > kMostHops)
    return std::nullopt;
  const std::string mac = Mac(Joined("forwarded", forwarded, request));
  if (parts[3].size() != mac.size() || CRYPTO_memcmp(parts[3].data(), mac.data(), mac.size()) != 0) return std::nullopt;
  return forwarded;
}

std::string Signer::Check() const { return Mac("check").substr(0, 16); }

Result<void> CheckSecret(std::string_view secret) {
  if (secret.size() >= kMinSecretBytes) return {};
  return Error{Code::kBadValue, "the cluster's secret has less than " + std::to_string(kMinSecretBytes) + " letters",
               "`openssl rand -hex 32` makes one; all nodes have the same"};
}

Result<std::string> ReadSecret(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  if (!std::getline(in, line)) return Error{Code::kBadValue, "cannot read the cluster's secret from " + file, ""};
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) line.pop_back();
  if (Result<void> good = CheckSecret(line); !good) return good.error();
  return line;
}

}  // namespace allot::cluster
