// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 over one kept-alive Transport: requests go out in one write, answers are parsed by Beast.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "client/transport.h"

namespace allotter {

struct HttpRequest {
  std::string_view method = "GET";
  std::string_view target = {};
  std::string_view type = {};  // of the body; empty: none
  std::string_view body = {};
  milliseconds wait{0};          // how long the server may take on top of the usual
  std::string_view accept = {};  // a type to ask for; empty: the usual one
};

struct HttpAnswer {
  int status = 0;
  std::string body;  // with SIMDJSON_PADDING bytes of spare capacity
};

class HttpConnection {
 public:
  // Gets pieces of a successful answer's body as they come; false ends the connection.
  using Sink = std::function<bool(std::string_view piece)>;
  // Writes pieces of the request's body; false: that was the last one.
  using Source = std::function<Result<bool>(std::string& piece)>;

  HttpConnection(Endpoint endpoint, std::shared_ptr<SSL_CTX> tls, const ConnectionOptions& options);
  ~HttpConnection();

  // Answers of 400 and above come as their Error.
  Result<HttpAnswer> Send(const HttpRequest& request, const Sink& sink = {});
  // The body comes from `source`, chunked. An error of `source` breaks the connection off, and is returned.
  Result<HttpAnswer> SendStream(const HttpRequest& request, const Source& source);
  void Close() { transport_.reset(); }
  // From now on whatever waits for the server ends with an error once `fd` is readable. -1: none.
  void SetStop(int fd) { stop_fd_ = fd; }

 private:
  Result<void> Open(bool& reused);
  Result<HttpAnswer> ReadAnswer(const Sink& sink, bool& nothing_came);
  void AppendHead(const HttpRequest& request, std::string& out) const;

  const Endpoint endpoint_;
  const std::shared_ptr<SSL_CTX> tls_;
  const milliseconds timeout_;
  std::string fixed_headers_;
  std::unique_ptr<Transport> transport_;
  std::chrono::steady_clock::time_point last_used_{};
  std::string out_;
  std::unique_ptr<char[]> buffer_;
  int stop_fd_ = -1;
};

// The Error of an answer's body; for a body of another form, one that quotes the status.
Error ErrorOfAnswer(int status, std::string_view body);

}  // namespace allotter
