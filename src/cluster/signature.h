// SPDX-License-Identifier: Apache-2.0
// What nodes say to each other beside a client's own request: who the client is, and over how many nodes the request
// has come. It is signed with the cluster's secret together with the request's first line and its token, so that it is
// good for that request alone, and of no use to who reads it on the way.
//
// Threading: const.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace allot::cluster {

inline constexpr std::string_view kForwardedHeader = "Allot-Forwarded";
inline constexpr std::size_t kMinSecretBytes = 16;

struct Forwarded {
  std::string peer;  // the client's ADDRESS:PORT
  int hops = 0;      // nodes that it came over
};
struct SignedRequest {
  std::string_view method, target, authorization;
};

class Signer {
 public:
  // `secret` has at least kMinSecretBytes.
  explicit Signer(std::string secret) : secret_(std::move(secret)) {}
  // The header's value.
  std::string Sign(const Forwarded& forwarded, const SignedRequest& request) const;
  // None for a header that nobody with this secret has made for this request.
  std::optional<Forwarded> Verify(std::string_view header, const SignedRequest& request) const;
  // By which nodes see that they have the same secret, without its telling.
  std::string Check() const;

 private:
  std::string Mac(std::string_view text) const;
  std::string secret_;
};

// The secret is the file's first line. kBadValue without one, or for one that is short.
Result<std::string> ReadSecret(const std::string& file);
Result<void> CheckSecret(std::string_view secret);

}  // namespace allot::cluster
