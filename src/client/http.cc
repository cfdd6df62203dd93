// SPDX-License-Identifier: Apache-2.0
#include "client/http.h"

#include <simdjson.h>
#include <algorithm>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>

#include "base/bounds.h"

namespace allotter {
namespace {

namespace http = boost::beast::http;

constexpr std::size_t kReadBytes = 64 * 1024;
// A server never answers with more at once: a page of results, each at its bound, is cut by bytes long before.
constexpr std::uint64_t kMaxAnswerBytes = 1ull << 30;
constexpr std::chrono::seconds kTrustedIdle{1};

// Hands the body on as it comes, instead of keeping it.
struct SinkBody {
  struct value_type {
    std::string* keep = nullptr;
    const HttpConnection::Sink* sink = nullptr;
    bool refused = false;
  };
  class reader {
   public:
    template <bool isRequest, class Fields>
    reader(http::header<isRequest, Fields>&, value_type& value) : value_(value) {}
    void init(const boost::optional<std::uint64_t>& length, boost::system::error_code& ec) {
      ec = {};
      if (value_.sink == nullptr && length && *length < (64u << 20)) {
        value_.keep->reserve(static_cast<std::size_t>(*length) + simdjson::SIMDJSON_PADDING);
      }
    }
    template <class Buffers>
    std::size_t put(const Buffers& buffers, boost::system::error_code& ec) {
      ec = {};
      std::size_t total = 0;
      for (auto it = boost::asio::buffer_sequence_begin(buffers); it != boost::asio::buffer_sequence_end(buffers);
           ++it) {
        const boost::asio::const_buffer piece = *it;
        const std::string_view text(static_cast<const char*>(piece.data()), piece.size());
        total += text.size();
        if (value_.sink == nullptr) {
          value_.keep->append(text);
        } else if (!value_.refused && !(*value_.sink)(text)) {
          value_.refused = true;
          ec = http::make_error_code(http::error::body_limit);
        }
      }
      return total;
    }
    void finish(boost::system::error_code& ec) { ec = {}; }

   private:
    value_type& value_;
  };
};

Error Garbled(const std::string& why) {
  return {Code::kUnavailable, "the answer is not HTTP as the server speaks it: " + why, "is that address Allotter's?"};
}

}  // namespace

Error ErrorOfAnswer(int status, std::string_view body) {
  Error error{Code::kInternal, "", ""};
  try {
    simdjson::dom::parser parser;
    const simdjson::dom::element root = parser.parse(body.data(), body.size());
    const auto text = [&](const char* field) -> std::string {
      std::string_view value;
      return root["error"][field].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
    };
    error.code = allot::CodeFromText(text("code"));
    error.message = text("message");
    error.hint = text("hint");
  } catch (const simdjson::simdjson_error&) {
  }
  if (error.message.empty()) {
    error.message = "the server answered with status " + std::to_string(status);
    if (status == 401) error.code = Code::kUnauthorized;
    if (status == 403) error.code = Code::kForbidden;
    if (status == 404) error.code = Code::kNotFound;
    if (status == 502 || status == 503 || status == 504) error.code = Code::kUnavailable;
  }
  return error;
}

HttpConnection::HttpConnection(Endpoint endpoint, std::shared_ptr<SSL_CTX> tls, const ConnectionOptions& options)
    : endpoint_(std::move(endpoint)), tls_(std::move(tls)), timeout_(options.timeout) {
  fixed_headers_ = "Host: " + endpoint_.authority + "\r\n";
  if (!options.token.empty()) fixed_headers_ += "Authorization: Bearer " + options.token + "\r\n";
  buffer_ = std::make_unique<char[]>(kReadBytes);
}

HttpConnection::~HttpConnection() = default;

Result<void> HttpConnection::Open(bool& reused) {
  const auto now = std::chrono::steady_clock::now();
  // A connection that was left alone for a while may have been closed by the server: what is readable now is its end.
  if (transport_ && now - last_used_ > kTrustedIdle && transport_->Readable()) transport_.reset();
  last_used_ = now;
  reused = transport_ != nullptr;
  if (reused) return {};
  auto connected = Transport::Connect(endpoint_, tls_, timeout_, stop_fd_);
  if (!connected) return connected.error();
  transport_ = std::move(*connected);
  return {};
}

void HttpConnection::AppendHead(const HttpRequest& request, std::string& out) const {
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n").append(fixed_headers_);
  if (!request.accept.empty()) out.append("Accept: ").append(request.accept).append("\r\n");
  if (!request.type.empty()) out.append("Content-Type: ").append(request.type).append("\r\n");
}

Result<HttpAnswer> HttpConnection::Send(const HttpRequest& request, const Sink& sink) {
  for (int attempt = 0;; ++attempt) {
    bool reused = false;
    if (auto opened = Open(reused); !opened) return opened.error();
    transport_->SetTimeout(timeout_ + request.wait);
    out_.clear();
    AppendHead(request, out_);
    if (!request.type.empty() || request.method != "GET") {
      out_.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
    }
    out_.append("\r\n").append(request.body);
    bool nothing_came = true;
    auto answer = [&]() -> Result<HttpAnswer> {
      if (auto written = transport_->Write(out_); !written) {
        transport_.reset();
        return written.error();
      }
      return ReadAnswer(sink, nothing_came);
    }();
    // Only reads are repeated: a change may have been worked off before the connection was lost.
    const bool again = !answer && answer.error().code == Code::kUnavailable && !transport_ && nothing_came && reused &&
                       request.method == "GET" && attempt == 0;
    if (!again) return answer;
  }
}

Result<HttpAnswer> HttpConnection::SendStream(const HttpRequest& request, const Source& source) {
  bool reused = false;
  if (auto opened = Open(reused); !opened) return opened.error();
  transport_->SetTimeout(timeout_ + request.wait);
  out_.clear();
  AppendHead(request, out_);
  out_.append("Transfer-Encoding: chunked\r\n\r\n");
  std::string piece;
  bool more = true;
  bool nothing_came = true;
  while (more) {
    piece.clear();
    auto got = source(piece);
    if (!got) {
      transport_.reset();
      return got.error();
    }
    more = *got;
    if (!piece.empty()) {
      char size[20];
      const int n = std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
      out_.append(size, static_cast<std::size_t>(n)).append(piece).append("\r\n");
    }
    if (!more) out_.append("0\r\n\r\n");
    auto written = transport_->Write(out_);
    out_.clear();
    // An answer before the end is a refusal: read it rather than push on.
    if (more && (!written || transport_->Readable())) {
      auto answer = ReadAnswer({}, nothing_came);
      transport_.reset();
      return !written && !answer && nothing_came ? Result<HttpAnswer>(written.error()) : std::move(answer);
    }
    if (!written) {
      transport_.reset();
      return written.error();
    }
  }
  return ReadAnswer({}, nothing_came);
}

Result<HttpAnswer> HttpConnection::ReadAnswer(const Sink& sink, bool& nothing_came) {
  nothing_came = true;
  HttpAnswer answer;
  http::response_parser<SinkBody> parser;
  parser.body_limit(sink ? std::numeric_limits<std::uint64_t>::max() : kMaxAnswerBytes);
  parser.header_limit(static_cast<std::uint32_t>(allot::bounds::kMaxHeaderBytes));
  parser.eager(false);  // stop after the header, to choose where the body goes
  parser.get().body().keep = &answer.body;
  std::size_t buffered = 0;  // bytes in the buffer that the parser wants to see again, with more
  while (!parser.is_done()) {
    if (buffered == kReadBytes) {
      transport_.reset();
      return Garbled("a line without an end");
    }
    auto got = transport_->Read(buffer_.get() + buffered, kReadBytes - buffered);
    boost::system::error_code ec;
    if (!got) {
      transport_.reset();
      return got.error();
    }
    if (*got == 0) {
      if (!nothing_came) parser.put_eof(ec);
      if (nothing_came || ec || !parser.is_done()) {
        transport_.reset();
        return Error{Code::kUnavailable, "the server closed the connection before it had answered", "is it stopping?"};
      }
      break;
    }
    nothing_came = false;
    buffered += *got;
    std::size_t used = 0;
    while (used < buffered && !parser.is_done()) {
      const bool had_header = parser.is_header_done();
      const std::size_t n = parser.put(boost::asio::const_buffer(buffer_.get() + used, buffered - used), ec);
      used += n;
      // Only the body of a success goes to the sink: an error is read as a whole.
      if (!had_header && parser.is_header_done()) {
        parser.eager(true);
        if (sink && parser.get().result_int() < 400) parser.get().body().sink = &sink;
      }
      if (ec == http::error::need_more) {
        ec = {};
        break;
      }
      if (ec) break;
      if (n == 0) break;
    }
    if (ec) {
      const bool refused = parser.get().body().refused;
      transport_.reset();
      if (refused) return Error{Code::kUnavailable, "the transfer was broken off", ""};
      return Garbled(ec.message());
    }
    std::copy(buffer_.get() + used, buffer_.get() + buffered, buffer_.get());
    buffered -= used;
  }
  if (transport_ && (buffered > 0 || !parser.get().keep_alive())) transport_.reset();
  answer.status = static_cast<int>(parser.get().result_int());
  if (answer.status >= 400) return ErrorOfAnswer(answer.status, answer.body);
  answer.body.reserve(answer.body.size() + simdjson::SIMDJSON_PADDING);
  return answer;
}

}  // namespace allotter
