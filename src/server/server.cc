// SPDX-License-Identifier: Apache-2.0
#include "server/server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/bounds.h"
#include "base/close_on_exec.h"
#include "base/try.h"
#include "server/live/live_views.h"
#include "server/net/context.h"
#include "server/net/http_connection.h"
#include "server/net/net_thread.h"
#include "server/net/stream.h"
#include "server/ops/clock.h"
#include "server/ops/log.h"
#include "server/ops/memory_keeper.h"
#include "server/ops/supervisor.h"
#include "server/peers/node_host.h"
#include "server/peers/peers.h"
#include "server/queue/queue_set.h"
#include "store/postgres/postgres_catalogue.h"
#include "store/sqlite/sqlite_catalogue.h"

namespace allot {
namespace {

using tcp = asio::ip::tcp;
using namespace std::chrono_literals;

constexpr int kBacklog = 4096;
constexpr auto kStopQuiet = 200ms;    // for reports in flight
constexpr auto kAcceptPause = 100ms;  // after an error such as too many open files
constexpr auto kSpansLast = 2s;       // for spans that still wait
constexpr int kFatalExit = 70;

// For files of queues, tokens and logs, backups and the like, however many connections there are: a crowd must not keep
// a revoked token from being noticed.
constexpr rlim_t kOtherFiles = 64 + 16 * bounds::kMaxQueues;

// Tests: a queue's journal is written as on a file system that takes nothing else.
journal::Writing JournalWriting() {
  const char* const forced = std::getenv("ALLOT_TEST_JOURNAL_WRITING");
  if (forced == nullptr) return journal::Writing::kAuto;
  return std::string_view(forced) == "synced" ? journal::Writing::kSynced : journal::Writing::kDirect;
}

// How many files this process may have open. Ten thousand connections need more than most shells give.
rlim_t RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return RLIM_INFINITY;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0) return RLIM_INFINITY;
  }
  return limit.rlim_cur;
}

// As many connections as are configured, or as there are files for.
std::uint32_t MostConnections(const Config& config, rlim_t files) {
  const rlim_t left = files > 2 * kOtherFiles ? files - kOtherFiles : files / 2;
  if (left >= config.max_connections) return config.max_connections;
  LogWarning("fewer connections than configured, for lack of open files",
             {{"max_connections", config.max_connections},
              {"connections", left},
              {"files", files},
              {"hint", "raise the limit of open files (ulimit -Hn, LimitNOFILE=)"}});
  return static_cast<std::uint32_t>(left);
}

[[noreturn]] void Die(const std::string& queue, const Error& error) {
  LogError("the store failed: the server ends, so that it promises nothing more",
           {{"queue", queue}, {"code", CodeText(error.code)}, {"error", error.message}});
  FlushLog();
  std::_Exit(kFatalExit);
}

Result<asio::ssl::context> MakeTls(const Config& config) {
  asio::ssl::context tls(asio::ssl::context::tls_server);
  tls.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                  asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_sslv2 | asio::ssl::context::no_sslv3 |
                  SSL_OP_NO_RENEGOTIATION);
  error_code ec;
  tls.use_certificate_chain_file(config.tls_cert, ec);
  if (ec)
    return Error{Code::kBadValue, "cannot use the certificate " + config.tls_cert + ": " + ec.message(),
                 "tls_cert wants a PEM file"};
  tls.use_private_key_file(config.tls_key, asio::ssl::context::pem, ec);
  if (ec)
    return Error{Code::kBadValue, "cannot use the key " + config.tls_key + ": " + ec.message(),
                 "tls_key wants a PEM file"};
  return tls;
}

std::string HostName() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0) return "";
  return name;
}

std::string NodeName(const Config& config) { return config.node.empty() ? HostName() : config.node; }

PostgresOptions OptionsOfDatabase(const Config& config) {
  PostgresOptions postgres;
  postgres.url = config.store;
  postgres.node = NodeName(config);
  postgres.allow_no_standby = config.allow_no_standby;
  postgres.warn = [](const std::string& what) { LogWarning("the database", {{"warning", what}}); };
  return postgres;
}

// Where the queues are: in a database if one is configured, or else in the data directory.
std::unique_ptr<Catalogue> MakeCatalogue(const Config& config, const StartOptions& start) {
  if (config.store.empty()) {
    SqliteOptions sqlite;
    sqlite.accept_loss = start.accept_loss;
    sqlite.on_loss = [](const std::string& what) { LogWarning("goes on with a loss", {{"lost", what}}); };
    sqlite.on_migrated = [](const std::string& file, std::int64_t from, std::int64_t to) {
      LogInfo("a queue's file was brought to the format of this version; older programs do not open it any more",
              {{"file", file}, {"from", from}, {"to", to}});
    };
    sqlite.writing = JournalWriting();
    return std::make_unique<SqliteCatalogue>(config.data, std::move(sqlite));
  }
  return std::make_unique<PostgresCatalogue>(OptionsOfDatabase(config));
}

std::size_t ThreadCount(const Config& config) {
  if (config.network_threads != 0) return config.network_threads;
  // Most of a server's time goes into the kernel's send and receive: a second network thread pays even on two cores,
  // where engine and store leave gaps (a quarter more tasks a second with 64 workers).
  return std::clamp(std::thread::hardware_concurrency() / 2, 2u, 4u);
}

}  // namespace

class Server::Impl {
 public:
  Impl(const Config& config, std::span<const WebAsset> web) : context_(config, web) {}
  ~Impl() {
    BeginStop();
    Wait();
    // What is dropped answers to its connection or live view, on the thread of that: all of them are still there.
    for (bool dropped = true; dropped;) {
      dropped = false;
      for (const auto& net : nets_) dropped |= net->DropPosted();
    }
  }

  void MakeMemoryReady(std::uint64_t wanted) {
    const std::uint64_t most = MachineMemory() / 2;
    if (wanted > most) {
      LogWarning("memory_ready is more than half of the memory, and cut to that", {{"bytes", std::to_string(most)}});
    }
    keeper_.Prepare(std::min(wanted, most));
  }

  void StartSpans() {
    const Config& config = context_.config;
    if (config.otlp_endpoint.empty()) return;
    SpanExporter::Options options;
    options.endpoint = *ParseOtlpEndpoint(config.otlp_endpoint);  // the configuration has seen that it is one
    if (const char* headers = std::getenv("OTEL_EXPORTER_OTLP_HEADERS")) options.headers = ParseOtlpHeaders(headers);
    options.instance = config.node.empty() ? HostName() : config.node;
    options.metrics = &context_.metrics;
    context_.spans = std::make_unique<SpanExporter>(std::move(options));
  }

  Result<void> Start(const StartOptions& start) {
    most_connections_ = MostConnections(context_.config, RaiseFileLimit());
    std::signal(SIGPIPE, SIG_IGN);
    const Config& config = context_.config;
    std::error_code made;
    std::filesystem::create_directories(config.data, made);
    if (made)
      return Error{Code::kStoreFailed, "cannot make the directory " + config.data + ": " + made.message(),
                   "choose another one with --data"};
    Result<std::unique_ptr<TokenBook>> tokens = TokenBook::Open(config.tokens_file());
    if (!tokens.ok()) return tokens.error();
    context_.tokens = std::move(*tokens);
    TRY_OK(CheckExposure(config, context_.tokens->required()));
    if (!config.tls() && !IsLoopback(config.listen.host)) {
      LogWarning("without TLS everyone on the way can read tokens and jobs, and use them",
                 {{"address", config.listen.Text()},
                  {"hint", "set tls_cert and tls_key, or listen on loopback behind a proxy"}});
    }
    if (config.tls()) {
      Result<asio::ssl::context> tls = MakeTls(config);
      if (!tls.ok()) return tls.error();
      tls_.emplace(std::move(*tls));
    }
    context_.started_at = ReadClock().wall;
    for (std::size_t i = 0; i < ThreadCount(config); ++i) {
      nets_.push_back(std::make_unique<NetThread>(context_.exceptions));
      // What goes on to other nodes runs handlers of the library.
      if (!config.tls() && config.advertise.empty()) nets_.back()->AllowVisits();
    }
    // One more, without sockets: what is watched is put into words there.
    nets_.push_back(std::make_unique<NetThread>(context_.exceptions));
    views_ = std::make_unique<LiveViews>(context_, *nets_.back());
    context_.views = views_.get();
    // The port first: a second server must not wait for a large file before it learns that it is one too many.
    TRY_OK(Bind());
    if (config.memory_ready > 0) MakeMemoryReady(config.memory_ready);
    StartSpans();
    QueueSet::Options options;
    if (config.advertise.empty()) {
      options.catalogue = MakeCatalogue(config, start);
    } else {
      TRY_OK(PrepareNode(options));
    }
    options.defaults = config.queue_defaults;
    options.strategies = &context_.config.strategies;
    options.restart_grace = config.restart_grace;
    options.ids = &context_.ids;
    options.metrics = &context_.metrics;
    options.spans = context_.spans.get();
    options.memory_budget = config.memory_budget != 0 ? config.memory_budget : MachineMemory() / 2;
    options.on_fatal = Die;
    const std::string where = options.catalogue->Where();
    context_.queues = std::make_unique<QueueSet>(std::move(options));
    supervisor_.emplace(Supervisor::Options{
        .ask = [this](const Supervisor::Answer& answer) { AskAll(answer); },
        .status = [this] { return Status(); },
    });
    supervisor_->Loading("loading the queues of " + where);
    TRY_OK(context_.queues->Open());
    if (start.stop_on_signals) signals_ = std::make_unique<asio::signal_set>(nets_[0]->io(), SIGTERM, SIGINT);
    error_code ec;
    acceptor_->listen(kBacklog, ec);
    if (ec) return Error{Code::kUnavailable, "cannot listen on " + config.listen.Text() + ": " + ec.message(), ""};
    for (const auto& net : nets_) net->Start();
    started_ = true;
    asio::post(nets_[0]->io(), [this] { Accept(); });
    TRY_OK(BeginNode());
    LogInfo("listening", {{"address", Endpoint{config.listen.host, port_}.Text()},
                          {"tls", config.tls()},
                          {"queues", context_.queues->size()},
                          {"data", where}});
    supervisor_->Ready();
    // One that came meanwhile was kept.
    if (signals_) asio::post(nets_[0]->io(), [this] { StopOnSignal(); });
    return {};
  }

  // As a node of a cluster: queues come once it has entered.
  Result<void> PrepareNode(QueueSet::Options& options) {
    const Config& config = context_.config;
    Result<NodeAddress> address = NodeAddress::Parse(config.advertise);
    if (!address.ok()) {
      return Error{Code::kBadValue, "`advertise`: " + config.advertise + " " + address.error().message,
                   address.error().hint};
    }
    Result<std::shared_ptr<PostgresDatabase>> database = PostgresDatabase::Open(OptionsOfDatabase(config));
    if (!database.ok()) return database.error();
    const std::string name = NodeName(config);
    options.catalogue = std::make_unique<PostgresCatalogue>(*database);
    host_.emplace(config, name, *database);
    host_->Prepare(options);
    peers_.emplace(context_, host_->node(), nets_);
    context_.peers = &*peers_;
    context_.signer.emplace(config.cluster_secret);
    context_.node_line = "Allot-Node: " + name + "\r\n";
    return {};
  }

  Result<void> BeginNode() {
    if (!host_) return {};
    // Others will do the same.
    TRY_OK(peers_->CheckAddress(*nets_[0], context_.config.advertise, context_.node_line));
    return host_->Start(*context_.queues);
  }

  std::uint16_t port() const { return port_; }
  const LiveViews& views() const { return *views_; }

  void StopOnSignal() {
    signals_->async_wait([this](error_code ec, int) {
      if (!ec) BeginStop();
    });
  }

  void BeginStop() {
    if (!started_ || context_.stopping.exchange(true)) return;
    stopper_ = std::thread([this] { StopAll(); });
    std::lock_guard lock(mutex_);
    stop_begun_ = true;
    stopped_.notify_all();
  }

  int Wait() {
    if (!started_) return 0;
    {
      std::unique_lock lock(mutex_);
      stopped_.wait(lock, [this] { return stop_begun_; });
    }
    std::lock_guard joining(join_mutex_);
    if (stopper_.joinable()) stopper_.join();
    return 0;
  }

 private:
  Result<void> Bind() {
    const Config& config = context_.config;
    error_code ec;
    tcp::resolver resolver(nets_[0]->io());
    const std::string host = config.listen.host;
    const auto found = resolver.resolve(host, std::to_string(config.listen.port), tcp::resolver::passive, ec);
    if (ec || found.empty()) return Error{Code::kBadValue, "cannot find the address " + host + ": " + ec.message(), ""};
    const tcp::endpoint endpoint = found.begin()->endpoint();
    acceptor_.emplace(nets_[0]->io());
    accept_pause_.emplace(nets_[0]->io());
    acceptor_->open(endpoint.protocol(), ec);
    if (!ec) CloseOnExec(acceptor_->native_handle());
    if (!ec) acceptor_->set_option(tcp::acceptor::reuse_address(true), ec);
    if (!ec) acceptor_->bind(endpoint, ec);
    if (ec) {
      return Error{
          Code::kUnavailable, "cannot listen on " + config.listen.Text() + ": " + ec.message(),
          ec == asio::error::address_in_use ? "another server has the port: choose another one with --listen" : ""};
    }
    port_ = acceptor_->local_endpoint(ec).port();
    return {};
  }

  // Whatever is thrown on the way, the next one is accepted, now or after a pause.
  void Accept() {
    if (!context_.exceptions.Survives("accepting", [this] { AcceptNext(); })) AcceptLater();
  }

  void AcceptNext() {
    NetThread& net = *nets_[next_++ % (nets_.size() - 1)];
    auto socket = std::make_shared<Stream::Socket>(net.io().get_executor());
    acceptor_->async_accept(*socket, [this, &net, socket](error_code ec) {
      if (ec == asio::error::operation_aborted || !acceptor_->is_open()) return;
      if (ec) {
        context_.exceptions.Survives("accepting", [&ec] {
          LogWarning("cannot accept a connection", {{"error", ec.message()}});
        });
        return AcceptLater();
      }
      if (context_.connections.load(std::memory_order_relaxed) < most_connections_) {
        context_.exceptions.Survives("accepting a connection", [&] { Adopt(net, *socket); });
      }
      Accept();
    });
  }

  void AcceptLater() {
    // Without memory even for a timer there is nothing else to do for this thread.
    while (!context_.exceptions.Survives("a pause in accepting", [this] {
      accept_pause_->expires_after(kAcceptPause);
      accept_pause_->async_wait([this](error_code ec) {
        if (!ec && acceptor_->is_open()) Accept();
      });
    })) {
      std::this_thread::sleep_for(kAcceptPause);
    }
  }

  void Adopt(NetThread& net, Stream::Socket& socket) {
    error_code ec;
    CloseOnExec(socket.native_handle());
    socket.set_option(tcp::no_delay(true), ec);
    const tcp::endpoint peer = socket.remote_endpoint(ec);
    if (ec) return;
    const std::string address = Endpoint{peer.address().to_string(), peer.port()}.Text();
    const auto connection =
        std::make_shared<HttpConnection>(net, Stream(std::move(socket), tls_ ? &*tls_ : nullptr), context_, address);
    net.Post(Closure([connection] { connection->Guard("beginning", [&connection] { connection->Start(); }); }));
  }

  // Whoever does not let go of `answer` soon is stuck.
  void AskAll(const Supervisor::Answer& answer) {
    for (const auto& queue : context_.queues->All()) queue->Post(Command::Look([answer](Round&) {}));
    for (const auto& net : nets_) net->Post(Closure([answer] {}));
  }

  std::string Status() const {
    const std::vector<QueuePtr> queues = context_.queues->All();
    for (const QueuePtr& queue : queues) {
      if (queue->stall() == Stall::kNone) continue;
      return (queue->stall() == Stall::kDiskFull ? "no space for the queue " : "no database for the queue ") +
             queue->name() + ": reads go on, the rest waits";
    }
    return "listening on " + Endpoint{context_.config.listen.host, port_}.Text() + ", " +
           std::to_string(queues.size()) + (queues.size() == 1 ? " queue" : " queues");
  }

  void StopAll() {
    LogInfo("stopping");
    supervisor_->Stopping();
    asio::post(nets_[0]->io(), [this] {
      error_code ec;
      acceptor_->close(ec);
      accept_pause_->cancel();
      if (signals_) signals_->cancel(ec);
    });
    views_->Stop();
    if (host_) host_->BeginStop();
    context_.queues->BeginStop();
    const auto deadline = std::chrono::steady_clock::now() + context_.config.stop_timeout;
    // Reports in flight are taken; requests under way get their answers, and then their connections go.
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(kStopQuiet, context_.config.stop_timeout));
    for (const auto& net : nets_) net->Post(Closure([n = net.get()] { n->CloseIdle(); }));
    while (context_.http_connections.load() > 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(10ms);
    // What is left of the time, but for some to commit. A process that ends leaves its memory to the system.
    const Duration left = std::max(std::chrono::duration_cast<Duration>(deadline - std::chrono::steady_clock::now()),
                                   context_.config.stop_timeout / 4);
    context_.queues->Finish(ReadMonotonic() + left * 3 / 4, signals_ != nullptr);
    if (peers_) peers_->Stop();
    if (host_) host_->Leave();
    for (const auto& net : nets_) net->Stop();
    if (context_.spans) context_.spans->Finish(kSpansLast);
    context_.slow.Finish();
    context_.backups.Finish();
    context_.rendering.Finish();
    context_.parsing.Finish();
    context_.trying.Finish();
    context_.looking.Finish();
    LogInfo("stopped");
    FlushLog();
  }

  MemoryKeeper keeper_;  // before all that takes memory, and longer
  ServerContext context_;
  std::vector<std::unique_ptr<NetThread>> nets_;
  std::unique_ptr<LiveViews> views_;  // has a timer of a network thread: goes before them
  std::optional<NodeHost> host_;      // of a node of a cluster
  std::optional<Peers> peers_;        // likewise
  std::uint32_t most_connections_ = 0;
  std::optional<tcp::acceptor> acceptor_;
  std::optional<asio::steady_timer> accept_pause_;
  std::optional<asio::ssl::context> tls_;
  std::unique_ptr<asio::signal_set> signals_;
  std::optional<Supervisor> supervisor_;
  std::uint16_t port_ = 0;
  std::size_t next_ = 0;
  bool started_ = false;
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_begun_ = false;  // guarded by mutex_
  std::mutex join_mutex_;
  std::thread stopper_;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(const Config& config, std::span<const WebAsset> web,
                                              const StartOptions& options) {
  auto impl = std::make_unique<Impl>(config, web);
  TRY_OK(impl->Start(options));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

std::uint16_t Server::port() const { return impl_->port(); }
const LiveViews& Server::views() const { return impl_->views(); }
void Server::Stop() { impl_->BeginStop(); }
int Server::Wait() { return impl_->Wait(); }

}  // namespace allot
