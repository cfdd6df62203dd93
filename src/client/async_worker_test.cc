// SPDX-License-Identifier: Apache-2.0
// The worker against a scripted server: what it says, in which order, and what it does when the connection breaks.
#include "allotter/async_worker.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>

namespace allotter {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using namespace std::chrono_literals;

// Accepts one connection after another, on the same io_context as the worker, and keeps what it is told.
class ScriptedServer {
 public:
  explicit ScriptedServer(asio::io_context& context)
      : acceptor_(context, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0)) {
    Accept();
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

  void Say(const std::string& text) {
    out_ = text;
    boost::system::error_code ec;
    stream_->text(true);
    stream_->write(asio::buffer(out_), ec);
  }
  void Break() {
    boost::system::error_code ec;
    stream_->next_layer().close(ec);
  }

  std::deque<std::string> heard;
  int connections = 0;

 private:
  using Stream = beast::websocket::stream<tcp::socket>;
  void Accept() {
    acceptor_.async_accept([this](const boost::system::error_code& ec, tcp::socket socket) {
      if (ec) return;
      ++connections;
      stream_ = std::make_shared<Stream>(std::move(socket));
      stream_->async_accept([this, stream = stream_](const boost::system::error_code& e) {
        if (!e) Read(stream);
      });
      Accept();
    });
  }
  void Read(const std::shared_ptr<Stream>& stream) {
    auto buffer = std::make_shared<beast::flat_buffer>();
    stream->async_read(*buffer, [this, stream, buffer](const boost::system::error_code& ec, std::size_t) {
      if (ec) return;
      heard.push_back(beast::buffers_to_string(buffer->data()));
      Read(stream);
    });
  }

  tcp::acceptor acceptor_;
  std::shared_ptr<Stream> stream_;
  std::string out_;
};

class AsyncWorkerTest : public ::testing::Test {
 protected:
  void Start(std::uint32_t slots = 1, bool job_headers = false) {
    WorkerOptions options;
    options.connection.server = server_.url();
    options.name = "w";
    options.tags = {"t"};
    options.slots = slots;
    options.job_headers = job_headers;
    options.reconnect_first = 5ms;
    options.reconnect_max = 20ms;
    WorkerEvents events;
    events.on_tasks = [this](std::vector<Assignment>&& tasks) {
      for (Assignment& task : tasks) {
        tasks_.push_back(task);
        if (answer_) worker_->Finish(task.task, answer_(task));
      }
    };
    events.on_jobs = [this](std::vector<JobHeader>&& jobs) {
      for (JobHeader& job : jobs) jobs_.push_back(std::move(job));
    };
    events.on_cancel = [this](const CancelOrder& order) { cancels_.push_back(order); };
    events.on_acknowledged = [this](std::size_t n) { acknowledged_ += n; };
    events.on_refused = [this](const TaskRef& task, const Error& error) { refused_.emplace_back(task, error); };
    events.on_changed = [this](const WorkerChange& change) { changes_.push_back(change); };
    events.on_change_refused = [this](const Error& error) { change_errors_.push_back(error); };
    events.on_stopped = [this](const Result<void>& why) { stopped_.push_back(why); };
    worker_.emplace(context_, options, events);
    ASSERT_TRUE(worker_->Start());
  }

  // Runs until `done`, or fails.
  void Until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (!done() && std::chrono::steady_clock::now() < end) context_.run_one_for(50ms);
    ASSERT_TRUE(done());
  }
  std::string Hear() {
    Until([this] { return !server_.heard.empty(); });
    if (server_.heard.empty()) return "";
    std::string text = server_.heard.front();
    server_.heard.pop_front();
    return text;
  }
  static std::string Task(int index, const std::string& lease) {
    return R"({"job":"1","index":)" + std::to_string(index) + R"(,"lease":")" + lease +
           R"(","attempt":1,"count":9,"lease_ms":60000,"timeout_ms":0,"payload":"p"})";
  }
  void Welcome(const std::string& resumed = "", const std::string& lost = "", const std::string& features = "") {
    server_.Say(R"({"welcome":{"worker":"77","key":"k","heartbeat_ms":15000,"resumed":[)" + resumed + R"(],"lost":[)" +
                lost + "]" + (features.empty() ? "" : R"(,"features":[)" + features + "]") + "}}");
  }

  asio::io_context context_{1};
  ScriptedServer server_{context_};
  std::optional<AsyncWorker> worker_;
  std::function<Outcome(const Assignment&)> answer_;
  std::vector<Assignment> tasks_;
  std::vector<JobHeader> jobs_;
  std::vector<CancelOrder> cancels_;
  std::vector<std::pair<TaskRef, Error>> refused_;
  std::vector<WorkerChange> changes_;
  std::vector<Error> change_errors_;
  std::vector<Result<void>> stopped_;
  std::size_t acknowledged_ = 0;
};

TEST_F(AsyncWorkerTest, DoneAndTheNextPullTravelTogether) {
  answer_ = [](const Assignment&) { return Outcome::Done("\"r\""); };
  Start();
  EXPECT_EQ(Hear(), R"({"hello":{"name":"w","tags":["t"],"slots":1}})");
  Welcome();
  EXPECT_EQ(Hear(), R"({"pull":1})");
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "]}");
  EXPECT_EQ(Hear(), R"({"seq":1,"done":[{"job":"1","index":0,"lease":"l0","result":"r"}],"pull":1})");
  server_.Say(R"({"ack":1,"tasks":[)" + Task(1, "l1") + "]}");
  EXPECT_EQ(Hear(), R"({"seq":2,"done":[{"job":"1","index":1,"lease":"l1","result":"r"}],"pull":1})");
  EXPECT_EQ(acknowledged_, 1u);
}

TEST_F(AsyncWorkerTest, ABatchIsAnsweredInOneMessage) {
  answer_ = [](const Assignment& task) { return task.task.index == 1 ? Outcome::Failed("no") : Outcome::Done(); };
  Start(3);
  Hear();
  Welcome();
  EXPECT_EQ(Hear(), R"({"pull":3})");
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "," + Task(1, "l1") + "," + Task(2, "l2") + "]}");
  EXPECT_EQ(Hear(), R"({"seq":1,"done":[{"job":"1","index":0,"lease":"l0"},{"job":"1","index":2,"lease":"l2"}],)"
                    R"("failed":[{"job":"1","index":1,"lease":"l1","error":"no"}],"pull":3})");
}

TEST_F(AsyncWorkerTest, SaysWhatTheServerNames) {
  answer_ = [](const Assignment&) { return Outcome::Failed("later", 1500ms); };
  Start(1, true);
  Hear();
  Welcome("", "", R"("job_headers","retry_in_ms","something new")");
  EXPECT_EQ(Hear(), R"({"pull":1,"job_headers":true})");
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + R"(],"jobs":[{"id":"1","tags":["t"],"meta":{"6":7},"user":"ann"}]})");
  EXPECT_EQ(Hear(), R"({"seq":1,"failed":[{"job":"1","index":0,"lease":"l0","error":"later","retry_in_ms":1500}],)"
                    R"("pull":1})");
  ASSERT_EQ(jobs_.size(), 1u);
  EXPECT_EQ(jobs_[0].tags, std::vector<std::string>{"t"});
  EXPECT_EQ(jobs_[0].meta, (Meta{{"6", std::int64_t{7}}}));
  EXPECT_EQ(jobs_[0].user, "ann");
}

TEST_F(AsyncWorkerTest, SaysNothingThatAnOlderServerDoesNotKnow) {
  answer_ = [](const Assignment&) { return Outcome::Failed("later", 1500ms); };
  Start(1, true);
  Hear();
  Welcome();
  EXPECT_EQ(Hear(), R"({"pull":1})");
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "]}");
  EXPECT_EQ(Hear(), R"({"seq":1,"failed":[{"job":"1","index":0,"lease":"l0","error":"later"}],"pull":1})");
}

TEST_F(AsyncWorkerTest, ProgressIsToldNowAndThen) {
  Start();
  Hear();
  Welcome("", "", R"("progress")");
  EXPECT_EQ(Hear(), R"({"pull":1})");
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "]}");
  Until([this] { return tasks_.size() == 1; });
  for (int done = 1; done <= 3; ++done) worker_->Progress(tasks_[0].task, {static_cast<double>(done), 4, "frames\n"});
  EXPECT_EQ(Hear(), R"({"extend":[{"job":"1","index":0,"lease":"l0",)"
                    R"("progress":{"done":3.0,"of":4.0,"note":"frames "}}]})");
  worker_->Progress(tasks_[0].task, {4, 4, ""});
  worker_->Finish(tasks_[0].task, Outcome::Done());
  EXPECT_EQ(Hear(), R"({"seq":1,"done":[{"job":"1","index":0,"lease":"l0"}],"pull":1})");
}

TEST_F(AsyncWorkerTest, ComesBackWithWhatItHoldsAndSendsAgainWhatWasNotAcknowledged) {
  Start(2);
  Hear();
  Welcome();
  Hear();
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "," + Task(1, "l1") + "]}");
  Until([this] { return tasks_.size() == 2; });
  worker_->Finish(tasks_[0].task, Outcome::Done("1"));
  EXPECT_EQ(Hear(), R"({"seq":1,"done":[{"job":"1","index":0,"lease":"l0","result":1}],"pull":1})");
  server_.Break();
  Until([this] { return server_.connections == 2; });
  EXPECT_EQ(Hear(), R"({"hello":{"name":"w","tags":["t"],"slots":2,"worker":"77","key":"k","resume":[)"
                    R"({"job":"1","index":1,"lease":"l1"},{"job":"1","index":0,"lease":"l0"}]}})");
  Welcome(R"({"job":"1","index":1,"lease":"l1"})", R"({"job":"1","index":0,"lease":"l0"})");
  EXPECT_EQ(Hear(), R"({"seq":2,"done":[{"job":"1","index":0,"lease":"l0","result":1}],"pull":1})");
  EXPECT_TRUE(cancels_.empty());
  EXPECT_EQ(worker_->in_hand(), 1u);
}

TEST_F(AsyncWorkerTest, StopsWhatItLost) {
  Start();
  Hear();
  Welcome();
  Hear();
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "]}");
  Until([this] { return tasks_.size() == 1; });
  server_.Break();
  Hear();
  Welcome("", R"({"job":"1","index":0,"lease":"l0"})");
  Until([this] { return cancels_.size() == 1; });
  EXPECT_EQ(cancels_[0].reason, "lost");
  worker_->Finish(tasks_[0].task, Outcome::Done());  // too late: not reported
  EXPECT_EQ(Hear(), R"({"pull":1})");
  EXPECT_EQ(worker_->in_hand(), 0u);
}

TEST_F(AsyncWorkerTest, WhatComesInExcessIsGivenBack) {
  Start(1);
  Hear();
  Welcome();
  Hear();
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "," + Task(1, "l1") + "]}");
  EXPECT_EQ(Hear(), R"({"seq":1,"released":[{"job":"1","index":1,"lease":"l1"}]})");
  EXPECT_EQ(tasks_.size(), 1u);
}

TEST_F(AsyncWorkerTest, AResultThatIsRefusedFailsItsTaskAndNoOther) {
  answer_ = [](const Assignment& task) { return Outcome::Done(task.task.index == 0 ? "\"big\"" : "\"ok\""); };
  Start(2);
  Hear();
  Welcome();
  Hear();
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "," + Task(1, "l1") + "]}");
  Hear();
  server_.Say(R"({"error":{"code":"too_large","message":"too big"},"seq":1})");
  EXPECT_EQ(Hear(), R"({"seq":2,"done":[{"job":"1","index":0,"lease":"l0","result":"big"}]})");
  server_.Say(R"({"error":{"code":"too_large","message":"too big"},"seq":2})");
  const std::string next = Hear();
  server_.Say(R"({"ack":3})");
  const std::string last = Hear();
  server_.Say(R"({"ack":4})");
  EXPECT_NE(
      (next + last)
          .find(
              R"("failed":[{"job":"1","index":0,"lease":"l0","error":"the result was refused: too big","final":true}])"),
      std::string::npos)
      << next << last;
  EXPECT_NE((next + last).find(R"("done":[{"job":"1","index":1,"lease":"l1","result":"ok"}])"), std::string::npos)
      << next << last;
  Until([this] { return acknowledged_ == 2; });
}

TEST_F(AsyncWorkerTest, DrainFinishesThenSaysGoodBye) {
  Start();
  Hear();
  Welcome();
  Hear();
  server_.Say(R"({"tasks":[)" + Task(0, "l0") + "]}");
  Until([this] { return tasks_.size() == 1; });
  worker_->Drain();
  worker_->Finish(tasks_[0].task, Outcome::Done());
  EXPECT_EQ(Hear(), R"({"seq":1,"done":[{"job":"1","index":0,"lease":"l0"}]})");
  server_.Say(R"({"ack":1})");
  EXPECT_EQ(Hear(), R"({"bye":true})");
  Until([this] { return !stopped_.empty(); });
  EXPECT_TRUE(stopped_[0].ok());
}

TEST_F(AsyncWorkerTest, AnIdleOneTakesItsCreditBackBeforeItGoes) {
  Start();
  Hear();
  Welcome();
  EXPECT_EQ(Hear(), R"({"pull":1})");
  worker_->Drain();
  EXPECT_EQ(Hear(), R"({"pull":0})");
  EXPECT_EQ(Hear(), R"({"bye":true})");
}

TEST_F(AsyncWorkerTest, AChangeIsSaidAtOnceAndInEveryHelloFromThenOn) {
  Start();
  Hear();
  Welcome();
  EXPECT_EQ(Hear(), R"({"pull":1})");
  WorkerChange change;
  change.properties = Properties{{"gpu", "a\"100"}};
  change.attributes = Meta{{"memory", std::int64_t{4096}}, {"load", 0.5}, {"spot", true}};
  change.requirements = "TARGET.size < 5";
  worker_->Change(change);
  EXPECT_EQ(Hear(), R"({"seq":1,"set":{"properties":{"gpu":"a\"100"},)"
                    R"("attributes":{"memory":4096,"load":0.5,"spot":true},"requirements":"TARGET.size < 5"}})");
  // A second one waits for the first.
  WorkerChange more;
  more.requirements = "";
  more.tags = std::vector<std::string>{};
  worker_->Change(more);
  server_.Say(R"({"ack":1})");
  EXPECT_EQ(Hear(), R"({"seq":2,"set":{"tags":[],"requirements":null}})");
  server_.Say(R"({"ack":2})");
  // Others may change it, too.
  server_.Say(R"({"set":{"rank":"5","attributes":null}})");
  Until([this] { return changes_.size() == 1; });
  EXPECT_EQ(changes_[0].rank, "5");
  EXPECT_TRUE(changes_[0].attributes && changes_[0].attributes->empty() && !changes_[0].properties);
  server_.Break();
  EXPECT_EQ(Hear(), R"({"hello":{"name":"w","tags":[],"slots":1,"properties":{"gpu":"a\"100"},"rank":"5",)"
                    R"("worker":"77","key":"k","resume":[]}})");
}

TEST_F(AsyncWorkerTest, AChangeThatWasNotAcknowledgedIsSaidAgain) {
  Start();
  Hear();
  Welcome();
  Hear();
  WorkerChange first, second;
  first.tags = std::vector<std::string>{"a"};
  first.rank = "1";
  second.rank = "2";
  worker_->Change(first);
  EXPECT_EQ(Hear(), R"({"seq":1,"set":{"tags":["a"],"rank":"1"}})");
  worker_->Change(second);
  server_.Break();
  // As the server knows it until it says otherwise; then all that was wanted.
  EXPECT_EQ(Hear(), R"({"hello":{"name":"w","tags":["t"],"slots":1,"worker":"77","key":"k","resume":[]}})");
  Welcome();
  EXPECT_EQ(Hear(), R"({"seq":2,"set":{"tags":["a"],"rank":"2"}})");
}

TEST_F(AsyncWorkerTest, ARefusedChangeIsToldAndForgotten) {
  Start();
  Hear();
  Welcome();
  Hear();
  WorkerChange change;
  change.properties = Properties{{"gup", "a"}};
  worker_->Change(change);
  Hear();
  server_.Say(R"({"error":{"code":"bad_value","message":"did you mean gpu?"},"seq":1})");
  Until([this] { return change_errors_.size() == 1; });
  EXPECT_EQ(change_errors_[0].message, "did you mean gpu?");
  server_.Break();
  EXPECT_EQ(Hear(), R"({"hello":{"name":"w","tags":["t"],"slots":1,"worker":"77","key":"k","resume":[]}})");
  EXPECT_TRUE(stopped_.empty());
}

TEST_F(AsyncWorkerTest, ARefusalThatCannotBeMendedEndsIt) {
  Start();
  Hear();
  server_.Say(R"({"error":{"code":"bad_value","message":"no such tag"}})");
  Until([this] { return !stopped_.empty(); });
  ASSERT_FALSE(stopped_[0].ok());
  EXPECT_EQ(stopped_[0].error().message, "no such tag");
}

TEST_F(AsyncWorkerTest, TriesAgainForAsLongAsItTakes) {
  Start();
  for (int i = 1; i <= 4; ++i) {
    Until([&] { return server_.connections >= i && !server_.heard.empty(); });
    server_.heard.clear();
    server_.Break();
  }
  Hear();
  Welcome();
  EXPECT_EQ(Hear(), R"({"pull":1})");
  EXPECT_TRUE(stopped_.empty());
}

}  // namespace
}  // namespace allotter
