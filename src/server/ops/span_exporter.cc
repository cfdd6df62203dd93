// SPDX-License-Identifier: Apache-2.0
#include "server/ops/span_exporter.h"

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <functional>
#include <optional>
#include <random>

#include "base/json.h"
#include "base/version.h"
#include "server/ops/log.h"
#include "server/ops/metrics.h"
#include "server/wire/percent.h"

namespace allot {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kMostInOne = 512;         // spans of a request
constexpr std::size_t kMostAnswer = 64 * 1024;  // bytes that a collector may answer with
constexpr std::string_view kCollectorPort = ":4318";
constexpr std::string_view kTracesPath = "/v1/traces";

// Kinds of spans, as OTLP numbers them.
constexpr int kInternal = 1, kServer = 2, kConsumer = 5;
constexpr int kStatusError = 2;

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool AllZero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

struct TraceContext {
  std::string_view trace, parent;
};

// `00-TRACE-PARENT-FLAGS` of W3C, of a later version too; none for another text, and where nobody samples it.
std::optional<TraceContext> ContextOf(std::string_view text) {
  constexpr std::size_t kLength = 55;
  if (text.size() < kLength || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2), flags = text.substr(53, 2);
  const TraceContext context{text.substr(3, 32), text.substr(36, 16)};
  if (version == "ff" || (version == "00" && text.size() != kLength)) return std::nullopt;
  if (text.size() > kLength && text[kLength] != '-') return std::nullopt;
  if (!IsHex(version) || !IsHex(context.trace) || !IsHex(context.parent) || !IsHex(flags)) return std::nullopt;
  if (AllZero(context.trace) || AllZero(context.parent)) return std::nullopt;
  const bool sampled = std::string_view("13579bdf").find(flags[1]) != std::string_view::npos;
  return sampled ? std::optional(context) : std::nullopt;
}

std::string Hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

void Attribute(JsonWriter& json, std::string_view key, std::string_view value) {
  json.BeginObject().Key("key").String(key).Key("value").BeginObject().Key("stringValue").String(value);
  json.EndObject().EndObject();
}

void Attribute(JsonWriter& json, std::string_view key, std::uint64_t value) {
  json.BeginObject().Key("key").String(key).Key("value").BeginObject().Key("intValue").Id(value);
  json.EndObject().EndObject();
}

void AppendSpan(JsonWriter& json, const Span& span, const TraceContext& context, std::uint64_t id) {
  struct Said {
    std::string_view name;
    int kind;
  };
  constexpr Said kSaid[] = {{"submit", kServer}, {"wait", kInternal}, {"run", kConsumer}};
  const Said& said = kSaid[static_cast<std::size_t>(span.kind)];
  const auto nanoseconds = [](WallTime t) { return static_cast<std::uint64_t>(ToMillis(t)) * 1'000'000; };
  json.BeginObject().Key("traceId").String(context.trace).Key("spanId").String(Hex(id));
  json.Key("parentSpanId").String(context.parent).Key("name").String(said.name).Key("kind").Int(said.kind);
  json.Key("startTimeUnixNano").Id(nanoseconds(span.from));
  json.Key("endTimeUnixNano").Id(nanoseconds(std::max(span.from, span.until)));
  json.Key("attributes").BeginArray();
  Attribute(json, "allotter.queue", span.queue);
  Attribute(json, "allotter.job", std::to_string(span.job.value));
  if (span.attempt != 0) {
    Attribute(json, "allotter.task", std::uint64_t{span.index});
    Attribute(json, "allotter.attempt", std::uint64_t{span.attempt});
  }
  if (span.worker.value != 0) Attribute(json, "allotter.worker", std::to_string(span.worker.value));
  if (!span.outcome.empty()) Attribute(json, "allotter.outcome", span.outcome);
  json.EndArray();
  if (span.failed) json.Key("status").BeginObject().Key("code").Int(kStatusError).EndObject();
  json.EndObject();
}

// One request on a connection of its own, over TLS or not. Ends by itself, with an error after `timeout`.
class Exchange {
  // The next step, unless the last one failed.
  template <typename F>
  auto Then(F next) {
    return [this, next = std::move(next)](error_code ec, auto&&...) {
      if (ec) {
        why_ = ec;
      } else {
        next();
      }
    };
  }

 public:
  Exchange(const OtlpEndpoint& endpoint, const http::request<http::string_body>& request, Duration timeout)
      : endpoint_(endpoint), request_(request), timeout_(timeout) {
    answer_.body_limit(kMostAnswer);
  }

  // The status; none: there was no answer, and why() says why.
  std::optional<unsigned> Run() {
    if (endpoint_.tls) {
      asio::ssl::context tls(asio::ssl::context::tls_client);
      tls.set_default_verify_paths();
      beast::ssl_stream<beast::tcp_stream> stream(io_, tls);
      stream.set_verify_mode(asio::ssl::verify_peer);
      stream.set_verify_callback(asio::ssl::host_name_verification(endpoint_.address.host));
      if (SSL_set_tlsext_host_name(stream.native_handle(), endpoint_.address.host.c_str()) != 1) return std::nullopt;
      Connect(beast::get_lowest_layer(stream), [this, &stream] {
        stream.async_handshake(asio::ssl::stream_base::client, Then([this, &stream] { Ask(stream); }));
      });
      io_.run();
    } else {
      beast::tcp_stream stream(io_);
      Connect(stream, [this, &stream] { Ask(stream); });
      io_.run();
    }
    return status_;
  }
  const error_code& why() const { return why_; }

 private:
  void Connect(beast::tcp_stream& stream, std::function<void()> next) {
    stream.expires_after(timeout_);
    resolver_.async_resolve(
        endpoint_.address.host, std::to_string(endpoint_.address.port),
        [this, &stream, next = std::move(next)](error_code ec, const tcp::resolver::results_type& found) {
          why_ = ec;
          if (!ec) stream.async_connect(found, Then(next));
        });
  }
  template <typename S>
  void Ask(S& stream) {
    http::async_write(stream, request_, Then([this, &stream] {
                        http::async_read(stream, buffer_, answer_,
                                         Then([this] { status_ = answer_.get().result_int(); }));
                      }));
  }

  const OtlpEndpoint& endpoint_;
  const http::request<http::string_body>& request_;
  const Duration timeout_;
  asio::io_context io_;
  tcp::resolver resolver_{io_};
  beast::flat_buffer buffer_{kMostAnswer};
  http::response_parser<http::string_body> answer_;
  std::optional<unsigned> status_;
  error_code why_;
};

Error NotAnEndpoint(std::string_view why) {
  return Error{Code::kBadValue, "is not the URL of a collector: " + std::string(why),
               "like http://127.0.0.1:4318, without /v1/traces"};
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<OtlpEndpoint> ParseOtlpEndpoint(std::string_view url) {
  OtlpEndpoint out;
  if (std::any_of(url.begin(), url.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return NotAnEndpoint("it has letters that no URL has");
  constexpr std::string_view kHttp = "http://", kHttps = "https://";
  if (url.starts_with(kHttps)) {
    out.tls = true;
    url.remove_prefix(kHttps.size());
  } else if (url.starts_with(kHttp)) {
    url.remove_prefix(kHttp.size());
  } else {
    return NotAnEndpoint("it begins with neither http:// nor https://");
  }
  const std::size_t slash = std::min(url.find('/'), url.size());
  std::string_view authority = url.substr(0, slash);
  std::string_view path = url.substr(slash);
  if (url.find_first_of("?#") != std::string_view::npos) return NotAnEndpoint("it has a query");
  if (authority.find('@') != std::string_view::npos)
    return Error{Code::kBadValue, "must have no name and password in it", "put them into OTEL_EXPORTER_OTLP_HEADERS"};
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  out.path = std::string(path) + std::string(kTracesPath);
  const std::size_t bracket = authority.find(']');
  const bool port = authority.find(':', bracket == std::string_view::npos ? 0 : bracket) != std::string_view::npos;
  const Result<Endpoint> address = ParseEndpoint(std::string(authority) + (port ? "" : std::string(kCollectorPort)));
  if (!address.ok() || authority.empty() || authority.front() == ':' || address->port == 0)
    return NotAnEndpoint("it has no host, or no port that there is");
  out.address = *address;
  return out;
}

std::vector<std::pair<std::string, std::string>> ParseOtlpHeaders(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto token = [](char c) {
    return c > ' ' && c < 0x7f && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
  };
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = Trimmed(item.substr(0, equals));
    const std::optional<std::string> value = PercentDecode(Trimmed(item.substr(equals + 1)), false);
    const auto control = [](char c) { return (c >= 0 && c < ' ') || c == 0x7f; };
    if (!value || std::any_of(value->begin(), value->end(), control)) continue;
    if (!name.empty() && std::all_of(name.begin(), name.end(), token)) out.emplace_back(name, *value);
  }
  return out;
}

std::string OtlpTraces(const std::vector<Span>& spans, std::string_view instance,
                       const std::vector<std::uint64_t>& ids) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Key("resourceSpans").BeginArray().BeginObject();
  json.Key("resource").BeginObject().Key("attributes").BeginArray();
  Attribute(json, "service.name", "allotter");
  Attribute(json, "service.version", Version());
  if (!instance.empty()) Attribute(json, "service.instance.id", instance);
  json.EndArray().EndObject();
  json.Key("scopeSpans").BeginArray().BeginObject().Key("scope").BeginObject().Key("name").String("allotter");
  json.Key("version").String(Version()).EndObject().Key("spans").BeginArray();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (const std::optional<TraceContext> context = ContextOf(spans[i].trace))
      AppendSpan(json, spans[i], *context, ids[i]);
  }
  json.EndArray().EndObject().EndArray().EndObject().EndArray().EndObject();
  return out;
}

SpanExporter::SpanExporter(Options options) : options_(std::move(options)) {
  thread_ = std::thread([this] { Run(); });
}

SpanExporter::~SpanExporter() { Finish(Duration(0)); }

void SpanExporter::Add(Span span) {
  if (!ContextOf(span.trace)) return;
  std::unique_lock lock(mutex_);
  if (finishing_ || waiting_.size() >= options_.most) {
    lock.unlock();
    if (options_.metrics != nullptr) options_.metrics->SpansDropped(1);
    return;
  }
  waiting_.push_back(std::move(span));
  if (waiting_.size() == kMostInOne) wakeup_.notify_one();
}

void SpanExporter::Finish(Duration most) {
  {
    std::lock_guard lock(mutex_);
    if (!finishing_) give_up_ = std::chrono::steady_clock::now() + most;
    finishing_ = true;
  }
  wakeup_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void SpanExporter::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wakeup_.wait_for(lock, options_.every, [this] { return finishing_ || waiting_.size() >= kMostInOne; });
    const bool last = finishing_;
    std::vector<Span> spans;
    const std::size_t count = std::min(waiting_.size(), kMostInOne);
    spans.assign(std::make_move_iterator(waiting_.begin()),
                 std::make_move_iterator(waiting_.begin() + static_cast<std::ptrdiff_t>(count)));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(count));
    if (spans.empty() && last) return;
    if (spans.empty()) continue;
    lock.unlock();
    try {
      Send(spans);
    } catch (const std::exception& failure) {
      Drop(spans.size(), failure.what());
    }
    lock.lock();
  }
}

void SpanExporter::Send(const std::vector<Span>& spans) {
  static thread_local std::mt19937_64 random{[] {
    std::random_device device;
    return (std::uint64_t{device()} << 32) | device();
  }()};
  std::vector<std::uint64_t> ids(spans.size());
  for (std::uint64_t& id : ids) {
    while (id == 0) id = random();
  }
  const std::string body = OtlpTraces(spans, options_.instance, ids);
  Duration pause = options_.pause;
  for (int tried = 1;; ++tried, pause *= 2) {
    Duration timeout = options_.timeout;
    {
      std::lock_guard lock(mutex_);
      const auto left = std::chrono::duration_cast<Duration>(give_up_ - std::chrono::steady_clock::now());
      if (finishing_) timeout = std::min(timeout, left);
    }
    if (timeout <= Duration(0)) return Drop(spans.size(), "the server ends");
    const Outcome outcome = Post(body, timeout);
    if (outcome == Outcome::kTaken) {
      if (options_.metrics != nullptr) options_.metrics->SpansExported(spans.size());
      if (complained_) LogInfo("spans are sent again", {{"collector", options_.endpoint.address.Text()}});
      complained_ = false;
      return;
    }
    if (outcome == Outcome::kRefused) return Drop(spans.size(), trouble_);
    if (tried == options_.tries || !Pause(pause)) return Drop(spans.size(), trouble_);
  }
}

SpanExporter::Outcome SpanExporter::Post(const std::string& body, Duration timeout) {
  http::request<http::string_body> request{http::verb::post, options_.endpoint.path, 11, body};
  request.set(http::field::host, options_.endpoint.address.Text());
  request.set(http::field::content_type, "application/json");
  request.set(http::field::user_agent, "allotter/" + std::string(Version()));
  request.set(http::field::connection, "close");
  for (const auto& [name, value] : options_.headers) request.set(name, value);
  request.prepare_payload();
  Exchange exchange(options_.endpoint, request, timeout);
  const std::optional<unsigned> status = exchange.Run();
  if (status && *status / 100 == 2) return Outcome::kTaken;
  trouble_ = status ? "it answers with " + std::to_string(*status) : exchange.why().message();
  if (!status) return Outcome::kTryAgain;
  // What the protocol says is worth another try.
  const bool again = *status == 429 || *status == 502 || *status == 503 || *status == 504;
  return again ? Outcome::kTryAgain : Outcome::kRefused;
}

bool SpanExporter::Pause(Duration pause) {
  std::unique_lock lock(mutex_);
  return !wakeup_.wait_for(lock, pause, [this] { return finishing_; });
}

void SpanExporter::Drop(std::size_t spans, std::string_view why) {
  if (options_.metrics != nullptr) options_.metrics->SpansDropped(spans);
  // Said once, until some are taken again.
  if (!complained_) {
    LogWarning("spans are dropped", {{"collector", options_.endpoint.address.Text()}, {"why", why}, {"spans", spans}});
  }
  complained_ = true;
}

}  // namespace allot
