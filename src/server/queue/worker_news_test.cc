// SPDX-License-Identifier: Apache-2.0
#include "server/queue/worker_news.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace allot {
namespace {

class FakeThread final : public Executor {
 public:
  void Post(std::vector<Closure>& closures) override {
    ++posts;
    for (Closure& closure : closures) {
      try {
        closure();
      } catch (const std::exception&) {
        said += " thrown";
      }
    }
    closures.clear();
  }
  std::string said;
  int posts = 0;
};

class FakeLink final : public WorkerLink {
 public:
  FakeLink(FakeThread& thread, std::string name) : WorkerLink(thread), thread_(thread), name_(std::move(name)) {}
  void Deliver(WorkerNews news) override {
    std::string& said = thread_.said;
    said += " " + name_ + ":" + std::to_string(news.answers);
    if (news.ack) said += " ack" + std::to_string(*news.ack);
    if (!news.grants.empty()) said += " grants" + std::to_string(news.grants.size());
    if (!news.stop_requests.empty()) said += " stops" + std::to_string(news.stop_requests.size());
    if (news.drain) said += " drain";
    if (news.error) said += " error";
    if (name_ == "thrower") throw std::runtime_error("in a delivery");
  }

 private:
  FakeThread& thread_;
  const std::string name_;
};

WorkerNews Ack(std::uint64_t seq) {
  WorkerNews news;
  news.answers = 1;
  news.ack = seq;
  return news;
}
WorkerNews Grants(std::size_t count) {
  WorkerNews news;
  news.grants.resize(count);
  return news;
}
WorkerNews Stop() {
  WorkerNews news;
  news.stop_requests.emplace_back();
  return news;
}
WorkerNews Silent() {
  WorkerNews news;
  news.answers = 1;
  return news;
}
WorkerNews Failed() {
  WorkerNews news;
  news.error = Error{Code::kBadValue, "no", ""};
  return news;
}

class NewsBoxTest : public ::testing::Test {
 protected:
  std::string Send() {
    Outbox outbox;
    outbox.push_back({&one_, [this] { one_.said += " answer"; }});
    box_.MoveTo(outbox);
    EXPECT_TRUE(box_.empty());
    Release(outbox);
    std::string said = std::exchange(one_.said, {});
    return said;
  }
  FakeThread one_, two_;
  NewsBox box_;
  WorkerLinkPtr a_ = std::make_shared<FakeLink>(one_, "a");
  WorkerLinkPtr b_ = std::make_shared<FakeLink>(one_, "b");
  WorkerLinkPtr other_ = std::make_shared<FakeLink>(two_, "other");
  WorkerLinkPtr thrower_ = std::make_shared<FakeLink>(one_, "thrower");
};

TEST_F(NewsBoxTest, AWorkersNewsAreOneMessageAndGoBeforeAnswers) {
  box_.Add(a_, Ack(1));
  box_.Add(b_, Ack(7));
  box_.Add(other_, Ack(3));
  box_.Add(a_, Grants(2));
  box_.Add(b_, Stop());
  box_.Add(other_, Grants(1));
  EXPECT_EQ(Send(), " a:1 ack1 grants2 b:1 ack7 stops1 answer");
  EXPECT_EQ(two_.said, " other:1 ack3 grants1");
  EXPECT_EQ(one_.posts + two_.posts, 2);
  // The next round begins anew.
  box_.Add(a_, Stop());
  EXPECT_EQ(Send(), " a:0 stops1 answer");
  EXPECT_EQ(Send(), " answer");
}

TEST_F(NewsBoxTest, EachAcknowledgementHasItsMessageAndNothingOvertakes) {
  box_.Add(a_, Ack(1));
  box_.Add(a_, Ack(2));
  box_.Add(a_, Grants(1));
  box_.Add(a_, Grants(2));
  box_.Add(a_, Stop());
  EXPECT_EQ(Send(), " a:1 ack1 a:1 ack2 grants1 a:0 grants2 a:0 stops1 answer");
  box_.Add(a_, Failed());
  box_.Add(a_, Grants(1));
  EXPECT_EQ(Send(), " a:0 error a:0 grants1 answer");
}

TEST_F(NewsBoxTest, MessagesWithoutAWordAreCounted) {
  box_.Add(a_, Silent());
  box_.Add(a_, Silent());
  box_.Add(a_, Grants(1));
  EXPECT_EQ(Send(), " a:2 grants1 answer");
}

TEST_F(NewsBoxTest, WhoThrowsThrowsForItself) {
  box_.Add(thrower_, Ack(1));
  box_.Add(a_, Ack(2));
  EXPECT_EQ(Send(), " thrower:1 ack1 a:1 ack2 thrown answer");
}

}  // namespace
}  // namespace allot
