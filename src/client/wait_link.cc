// SPDX-License-Identifier: Apache-2.0
#include "client/wait_link.h"

#include <simdjson.h>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <string>
#include <utility>

#include "base/bounds.h"
#include "client/http.h"
#include "client/transport.h"

namespace allotter {
namespace {

namespace beast = boost::beast;
namespace asio = boost::asio;

// A Transport in the form that Beast's WebSocket wants to write to and read from.
class SyncStream {
 public:
  using executor_type = asio::io_context::executor_type;
  explicit SyncStream(Transport& transport) : transport_(&transport) {}
  executor_type get_executor() { return context_->get_executor(); }

  template <class Buffers>
  std::size_t read_some(const Buffers& buffers, boost::system::error_code& ec) {
    const asio::mutable_buffer buffer = First(asio::buffer_sequence_begin(buffers), asio::buffer_sequence_end(buffers));
    if (buffer.size() == 0) return 0;
    auto got = transport_->Read(static_cast<char*>(buffer.data()), buffer.size());
    ec = {};
    if (!got) ec = asio::error::connection_reset;
    if (got && *got == 0) ec = asio::error::eof;
    return got ? *got : 0;
  }
  template <class Buffers>
  std::size_t read_some(const Buffers& buffers) {
    boost::system::error_code ec;
    const std::size_t n = read_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers, boost::system::error_code& ec) {
    std::string all = beast::buffers_to_string(buffers);
    ec = {};
    if (auto written = transport_->Write(all); !written) ec = asio::error::connection_reset;
    return ec ? 0 : all.size();
  }
  template <class Buffers>
  std::size_t write_some(const Buffers& buffers) {
    boost::system::error_code ec;
    const std::size_t n = write_some(buffers, ec);
    if (ec) throw boost::system::system_error(ec);
    return n;
  }

 private:
  template <class It>
  static asio::mutable_buffer First(It begin, It end) {
    for (; begin != end; ++begin) {
      const asio::mutable_buffer buffer = *begin;
      if (buffer.size() > 0) return buffer;
    }
    return {};
  }
  Transport* transport_;
  std::shared_ptr<asio::io_context> context_ = std::make_shared<asio::io_context>(1);
};

void teardown(beast::role_type, SyncStream&, boost::system::error_code& ec) { ec = {}; }

Error Lost(const boost::system::error_code& ec) {
  return {Code::kUnavailable, "lost the connection to the server: " + ec.message(), "is it still running?"};
}

class SyncWaitLink final : public WaitLink {
 public:
  explicit SyncWaitLink(std::unique_ptr<Transport> connected)
      : transport_(std::move(connected)), stream_(*transport_) {}

  Result<void> Handshake(const ConnectionOptions& options, const std::string& authority) {
    stream_.read_message_max(allot::bounds::kMaxMessageBytes);
    stream_.set_option(beast::websocket::stream_base::decorator([&](beast::websocket::request_type& request) {
      if (!options.token.empty()) request.set(beast::http::field::authorization, "Bearer " + options.token);
    }));
    beast::websocket::response_type response;
    boost::system::error_code ec;
    stream_.handshake(response, authority, "/v1/queues/" + UrlEncode(options.queue) + "/wait", ec);
    if (ec == beast::websocket::error::upgrade_declined)
      return ErrorOfAnswer(static_cast<int>(response.result_int()), response.body());
    if (ec) return Lost(ec);
    transport_->SetTimeout(milliseconds(0));  // a wait takes as long as its jobs do
    return {};
  }

  Result<void> Say(std::string_view message) override {
    boost::system::error_code ec;
    stream_.text(true);
    stream_.write(asio::buffer(message), ec);
    if (ec) return Lost(ec);
    return {};
  }

  Result<ServerMessage*> Next() override {
    boost::system::error_code ec;
    buffer_.clear();
    const std::size_t size = stream_.read(buffer_, ec);
    if (ec) return Lost(ec);
    buffer_.prepare(simdjson::SIMDJSON_PADDING);
    const std::string_view text(static_cast<const char*>(buffer_.data().data()), size);
    if (auto parsed = ParseMessage(text, message_); !parsed) return parsed.error();
    if (message_.error) return *message_.error;
    return &message_;
  }

 private:
  std::unique_ptr<Transport> transport_;
  beast::websocket::stream<SyncStream, false> stream_;
  beast::flat_buffer buffer_;
  ServerMessage message_;
};

}  // namespace

Result<std::unique_ptr<WaitLink>> WaitLink::Open(const ConnectionOptions& options) {
  auto target = TargetOf(options);
  if (!target) return target.error();
  auto transport = Transport::Connect(target->endpoint, target->tls, options.timeout);
  if (!transport) return transport.error();
  auto link = std::make_unique<SyncWaitLink>(std::move(*transport));
  if (auto shaken = link->Handshake(options, target->endpoint.authority); !shaken) return shaken.error();
  return std::unique_ptr<WaitLink>(std::move(link));
}

}  // namespace allotter
