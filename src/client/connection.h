// SPDX-License-Identifier: Apache-2.0
// The connection that all parts of a Client speak over. Inner header.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "allotter/client.h"
#include "client/codec.h"
#include "client/http.h"
#include "client/url.h"

namespace allotter {

class ClientConnection {
 public:
  ClientConnection(ConnectionOptions options, Endpoint endpoint, std::shared_ptr<SSL_CTX> tls)
      : options_(std::move(options)),
        http_(std::move(endpoint), std::move(tls), options_),
        base_("/v1/queues/" + UrlEncode(options_.queue)) {}

  const ConnectionOptions& options() const { return options_; }
  HttpConnection& http() { return http_; }
  std::string Path(std::string_view rest) const { return base_ + std::string(rest); }
  std::string Path(std::string_view kind, std::string_view id, std::string_view rest = {}) const {
    return base_ + std::string(kind) + UrlEncode(id) + std::string(rest);
  }
  static std::string QueuePath(std::string_view name, std::string_view rest = {}) {
    return "/v1/queues/" + UrlEncode(name) + std::string(rest);
  }

  template <typename T>
  Result<T> Get(const std::string& path, milliseconds wait = {}) {
    auto answer = http_.Send({.target = path, .wait = wait});
    if (!answer) return answer.error();
    return Parse<T>(answer->body);
  }
  Result<HttpAnswer> Change(std::string_view method, const std::string& path, std::string_view body,
                            milliseconds wait = {}) {
    return http_.Send({.method = method,
                       .target = path,
                       .type = body.empty() ? std::string_view() : "application/json",
                       .body = body,
                       .wait = wait});
  }
  template <typename T>
  Result<T> Change(std::string_view method, const std::string& path, std::string_view body = {},
                   milliseconds wait = {}) {
    auto answer = Change(method, path, body, wait);
    if (!answer) return answer.error();
    return Parse<T>(answer->body);
  }

 private:
  const ConnectionOptions options_;
  HttpConnection http_;
  const std::string base_;
};

}  // namespace allotter
