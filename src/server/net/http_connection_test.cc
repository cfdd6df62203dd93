// SPDX-License-Identifier: Apache-2.0
// What others throw does not keep a connection: over a real socket, with a request that stays unanswered.
#include "server/net/http_connection.h"

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include "server/net/context.h"

namespace allot {
namespace {

using tcp = asio::ip::tcp;
using namespace std::chrono_literals;

class NoCatalogue final : public Catalogue {
 public:
  std::string Where() const override { return "nowhere"; }
  Result<void> Prepare() override { return {}; }
  Result<std::vector<std::string>> List() override { return std::vector<std::string>(); }
  Result<bool> FinishDeletion(const std::string&) override { return false; }
  Result<std::unique_ptr<Store>> Open(const std::string&) override {
    return Error{Code::kStoreFailed, "none today", ""};
  }
  Result<void> Delete(const std::string&) override { return {}; }
};

class HttpConnectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "allot-connection-XXXXXX").string();
    Config config;
    config.data = ::mkdtemp(pattern.data());
    context_ = std::make_unique<ServerContext>(config, std::span<const WebAsset>());
    auto tokens = TokenBook::Open(config.tokens_file());
    ASSERT_TRUE(tokens.ok());
    context_->tokens = std::move(*tokens);
    QueueSet::Options options;
    options.catalogue = std::make_unique<NoCatalogue>();
    context_->queues = std::make_unique<QueueSet>(std::move(options));
    // Nothing is answered before the end of the test.
    context_->slow.Post([this] { go_.get_future().wait(); });
    net_ = std::make_unique<NetThread>(context_->exceptions);
    net_->Start();

    tcp::acceptor acceptor(io_, {asio::ip::make_address("127.0.0.1"), 0});
    client_.connect(acceptor.local_endpoint());
    Stream::Socket socket(net_->io().get_executor());
    acceptor.accept(socket);
    auto connection = std::make_shared<HttpConnection>(*net_, Stream(std::move(socket), nullptr), *context_, "peer:1");
    connection_ = connection;
    OnThread([&] { connection->Start(); });
    connection.reset();
    const std::string body = R"({"name":"q"})";
    asio::write(client_,
                asio::buffer("POST /v1/queues HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                             "Content-Length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body));
    ASSERT_TRUE(Soon([this] {
      const auto there = connection_.lock();
      return there != nullptr && there->Awaits(1);
    }));
  }
  void TearDown() override {
    go_.set_value();
    context_->slow.Finish();
    net_->Stop();
    net_.reset();
    std::filesystem::remove_all(context_->config.data);
  }
  template <typename F>
  void OnThread(F f) {
    std::promise<void> done;
    net_->Post(Closure([&] {
      f();
      done.set_value();
    }));
    done.get_future().get();
  }
  // Looked at on the connection's thread.
  bool Soon(const std::function<bool()>& holds) {
    for (int i = 0; i < 500; ++i) {
      bool now = false;
      OnThread([&] { now = holds(); });
      if (now) return true;
      std::this_thread::sleep_for(10ms);
    }
    return false;
  }
  // The network thread has let go of it: only the request, which waits, has it still.
  bool Gone() {
    return Soon([this] {
      const auto there = connection_.lock();
      return there == nullptr || there.use_count() <= 2;
    });
  }

  std::promise<void> go_;
  std::unique_ptr<ServerContext> context_;
  std::unique_ptr<NetThread> net_;
  asio::io_context io_;
  tcp::socket client_{io_};
  std::weak_ptr<HttpConnection> connection_;
};

TEST_F(HttpConnectionTest, AWriterThatThrowsLearnsThatItIsOver) {
  bool drained = false;
  OnThread([&] {
    const std::shared_ptr<OpenResponse> response = connection_.lock()->Hijack(1);
    ASSERT_NE(response, nullptr);
    response->OnDrained([&drained](bool there) {
      if (there) throw std::runtime_error("in a write");
      drained = true;
    });
    response->Write("HTTP/1.1 200 OK\r\n\r\n");
  });
  EXPECT_TRUE(Soon([&] { return drained; }));
  EXPECT_TRUE(Gone());
}

TEST_F(HttpConnectionTest, AnExceptionAtItsEndDoesNotKeepIt) {
  bool drained = false;
  OnThread([&] {
    const auto there = connection_.lock();
    there->OnAbort(1, [] { throw std::runtime_error("at the end"); });
    there->OnDrained([&drained](bool) { drained = true; });
  });
  client_.close();
  EXPECT_TRUE(Soon([&] { return drained; }));
  EXPECT_TRUE(Gone());
}

}  // namespace
}  // namespace allot
