// SPDX-License-Identifier: Apache-2.0
// The half of Load that works.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "crash/load.h"

namespace allot::testing {
namespace {

constexpr milliseconds kHeartbeat(100);

std::string RefText(TaskKey task, const std::string& lease) {
  return R"({"job":")" + std::to_string(task.job) + R"(","index":)" + std::to_string(task.index) + R"(,"lease":")" +
         lease + "\"";
}

TaskKey KeyOf(const Json& entry) {
  return {std::strtoull(entry.Text("/job").c_str(), nullptr, 10), static_cast<std::uint32_t>(entry.Int("/index"))};
}

}  // namespace

// The two ways to be a worker, as messages of the WebSocket.
class Load::WorkerLink {
 public:
  virtual ~WorkerLink() = default;
  // The answer to the hello, or none if the server is away.
  virtual std::optional<std::string> Connect(const std::string& hello) = 0;
  virtual bool Send(std::uint64_t seq, const std::string& fields) = 0;
  virtual std::optional<std::string> Receive(SteadyTime deadline) = 0;
  virtual bool open() const = 0;
  virtual void Drop() = 0;
};

class Load::WsLink : public WorkerLink {
 public:
  explicit WsLink(std::uint16_t port) : port_(port) {}
  std::optional<std::string> Connect(const std::string& hello) override {
    socket_ = WebSocket(port_, "/v1/queues/default/work");
    if (!socket_.open() || !socket_.Send(R"({"hello":)" + hello + "}")) return std::nullopt;
    return socket_.Receive(milliseconds(5000));
  }
  bool Send(std::uint64_t seq, const std::string& fields) override {
    return socket_.Send(R"({"seq":)" + std::to_string(seq) + fields + "}");
  }
  std::optional<std::string> Receive(SteadyTime deadline) override { return socket_.Receive(deadline); }
  bool open() const override { return socket_.open(); }
  void Drop() override { socket_.Reset(); }

 private:
  std::uint16_t port_;
  WebSocket socket_;
};

class Load::HttpLink : public WorkerLink {
 public:
  explicit HttpLink(std::uint16_t port) : http_(port) {}
  std::optional<std::string> Connect(const std::string& hello) override {
    const Answer answer = http_.Post("/v1/queues/default/workers", hello);
    if (answer.status == 0) return std::nullopt;
    if (answer.status != 201) return answer.body;
    const Document welcome(answer.body);
    worker_ = welcome.Text("/worker");
    key_ = welcome.Text("/key");
    open_ = true;
    return R"({"welcome":)" + answer.body + "}";
  }
  bool Send(std::uint64_t seq, const std::string& fields) override {
    const Answer answer = http_.Post("/v1/queues/default/workers/" + worker_ + "/pull",
                                     R"({"key":")" + key_ + R"(","wait_ms":20)" + fields + "}");
    if (answer.status == 0) {
      open_ = false;
      return false;
    }
    // As over the WebSocket: an acknowledgement, or an error that names the message.
    received_ = (answer.ok() ? R"({"ack":)" : R"({"seq":)") + std::to_string(seq) + "," + answer.body.substr(1);
    return true;
  }
  std::optional<std::string> Receive(SteadyTime deadline) override {
    if (!received_) std::this_thread::sleep_until(deadline);
    return std::exchange(received_, std::nullopt);
  }
  bool open() const override { return open_; }
  void Drop() override {
    open_ = false;
    http_.Close();
  }

 private:
  Http http_;
  std::string worker_, key_;
  bool open_ = false;
  std::optional<std::string> received_;
};

class Load::Worker {
 public:
  Worker(Load& load, std::unique_ptr<WorkerLink> link, std::uint64_t seed)
      : load_(load), ledger_(load.ledger_), link_(std::move(link)), random_(seed) {
    NewLife();
  }

  void Run() {
    while (load_.working_ && !load_.give_up_) {
      if (!link_->open()) {
        Reconnect();
        continue;
      }
      const SteadyTime now = SteadyNow();
      if (next_due_ <= now || now - life_->last_send.load() >= kHeartbeat || ask_) SendReports();
      if (now >= next_drop_) {
        link_->Drop();  // without a reason
        next_drop_ = now + milliseconds(random_() % 3000);
      }
      const SteadyTime deadline = std::min(next_due_, SteadyNow() + kHeartbeat / 4);
      if (link_->open()) {
        if (const std::optional<std::string> message = link_->Receive(deadline)) Handle(*message);
      }
    }
    Leave();
  }

 private:
  struct Running {
    TaskKey task;
    SteadyTime since{};
    SteadyTime due{};
    ReportKind kind = ReportKind::kDone;
    std::string result;
    bool pending = false;  // in a message that is not acknowledged
    bool maybe = false;    // was in a message whose acknowledgement got lost
  };
  struct Message {
    SteadyTime sent_at;
    std::vector<std::string> leases;
  };

  void NewLife() {
    life_ = std::make_shared<Life>();
    life_->number = ++load_.next_life_;
    running_.clear();
  }

  void NoteSend() {
    const SteadyTime now = SteadyNow();
    if (now - life_->last_send.load() >= ledger_.hold()) life_->last_gap = now;
    life_->last_send = now;
  }

  void Reconnect() {
    for (auto& [lease, running] : running_) {
      if (running.pending) running.maybe = true;
      running.pending = false;
    }
    messages_.clear();
    const std::uint64_t choice = random_() % 100;
    if (choice < 8) {
      NewLife();  // died: its leases run out
    } else if (choice < 20) {
      // Comes back without some of what it had.
      for (auto at = running_.begin(); at != running_.end();) {
        if (random_() % 2 == 0) {
          ledger_.Dropped(at->second.task, at->first);
          at = running_.erase(at);
        } else {
          ++at;
        }
      }
    }
    const SteadyTime silent_since = life_->last_send.load();
    std::string hello = R"({"name":"crash-)" + std::to_string(life_->number) + R"(","tags":["crash"],"slots":)" +
                        std::to_string(load_.options_.slots);
    if (!life_->worker.empty()) {
      hello += R"(,"worker":")" + life_->worker + R"(","key":")" + life_->key + R"(","resume":[)";
      for (const auto& [lease, running] : running_) {
        if (hello.back() == '}') hello += ",";
        hello += RefText(running.task, lease) + "}";
      }
      hello += "]";
    }
    hello += "}";
    NoteSend();
    const int restarts = load_.restarts_;
    const std::optional<std::string> answer = link_->Connect(hello);
    if (!answer) {
      link_->Drop();
      std::this_thread::sleep_for(milliseconds(5 + random_() % 20));
      return;
    }
    const Document reply(*answer);
    const Json welcome = reply.At("/welcome");
    if (!welcome) {
      const std::string code = reply.Text("/error/code");
      if (code != "stopping" && code != "unavailable") ledger_.Violation("a hello was answered " + *answer);
      link_->Drop();
      std::this_thread::sleep_for(milliseconds(20));
      return;
    }
    if (!life_->worker.empty() && welcome.Text("/worker") != life_->worker) {
      ledger_.Violation("worker " + life_->worker + " came back and is called " + welcome.Text("/worker"));
    }
    const std::size_t resumed = welcome.Size("/resumed");
    if (resumed + welcome.Size("/lost") != running_.size()) ledger_.Violation("a resume was answered " + *answer);
    life_->worker = welcome.Text("/worker");
    life_->key = welcome.Text("/key");
    connected_at_ = SteadyNow();
    welcome.ForEach("/resumed", [&](const Json& entry) {
      if (running_.count(entry.Text("/lease")) == 0) ledger_.Violation("a resume was answered " + *answer);
      ledger_.Resumed(KeyOf(entry), entry.Text("/lease"), restarts != connected_in_);
    });
    welcome.ForEach("/lost", [&](const Json& entry) {
      const std::string lease = entry.Text("/lease");
      const auto at = running_.find(lease);
      if (at == running_.end()) return ledger_.Violation("a resume was answered " + *answer);
      Running& running = at->second;
      ledger_.Lost(life_, KeyOf(entry), lease, running.maybe, silent_since);
      // Half of the time it reports all the same: the server must know better.
      if (random_() % 2 == 0) running_.erase(at);
    });
    connected_in_ = restarts;
    ask_ = true;
    FindDue();
  }

  void FindDue() {
    next_due_ = SteadyTime::max();
    for (const auto& [lease, running] : running_) {
      if (!running.pending) next_due_ = std::min(next_due_, running.due);
    }
  }

  void SendReports() {
    const SteadyTime now = SteadyNow();
    std::map<ReportKind, std::string> lists;
    Message message{now, {}};
    for (auto& [lease, running] : running_) {
      if (running.pending || running.due > now) continue;
      running.pending = true;
      message.leases.push_back(lease);
      ledger_.ReportSent(running.task, lease, running.kind, running.result);
      // Final failures travel in the list of failures.
      std::string& list = lists[running.kind == ReportKind::kFinal ? ReportKind::kFailed : running.kind];
      if (!list.empty()) list += ",";
      list += RefText(running.task, lease);
      if (running.kind == ReportKind::kDone) list += R"(,"result":")" + running.result + "\"";
      if (running.kind == ReportKind::kFailed) list += R"(,"error":"not today")";
      if (running.kind == ReportKind::kFinal) list += R"(,"error":"never","final":true)";
      list += "}";
    }
    std::string fields;
    if (!lists[ReportKind::kDone].empty()) fields += R"(,"done":[)" + lists[ReportKind::kDone] + "]";
    if (!lists[ReportKind::kFailed].empty()) fields += R"(,"failed":[)" + lists[ReportKind::kFailed] + "]";
    if (!lists[ReportKind::kReleased].empty()) fields += R"(,"released":[)" + lists[ReportKind::kReleased] + "]";
    const std::size_t in_hand = running_.size() - message.leases.size();
    const std::size_t slots = load_.options_.slots;
    fields += R"(,"pull":)" + std::to_string(slots > in_hand ? slots - in_hand : 0);
    ask_ = false;
    const std::uint64_t seq = ++seq_;
    messages_[seq] = std::move(message);
    NoteSend();
    if (!link_->Send(seq, fields)) link_->Drop();
    FindDue();
  }

  void Handle(const std::string& text) {
    const Document message(text);
    if (!message) return ledger_.Violation("a message that is no JSON: " + text);
    if (message.At("/error")) return HandleError(message, text);
    if (message.At("/ack")) HandleAck(message, text);
    message.ForEach("/tasks", [&](const Json& task) { Take(task); });
    message.ForEach("/cancel", [&](const Json& order) {
      const auto at = running_.find(order.Text("/lease"));
      if (at == running_.end()) return;
      if (order.Text("/reason") == "expired") {
        ledger_.SaidExpired(life_, at->second.task, at->first, at->second.since);
      }
      at->second.due = SteadyNow();
      if (!at->second.maybe && random_() % 2 == 0) at->second.kind = ReportKind::kReleased;
    });
    FindDue();
  }

  void HandleError(const Json& message, const std::string& text) {
    const std::string code = message.Text("/error/code");
    if (code != "stopping" && code != "unavailable" && code != "unknown_worker") {
      ledger_.Violation("a worker was told " + text);
    }
    // "That message changed nothing."
    const auto at = messages_.find(static_cast<std::uint64_t>(message.Int("/seq", 0)));
    if (at != messages_.end()) {
      for (const std::string& lease : at->second.leases) {
        const auto running = running_.find(lease);
        if (running != running_.end()) running->second.pending = false;
      }
      messages_.erase(at);
    }
    link_->Drop();
  }

  void HandleAck(const Json& message, const std::string& text) {
    const auto at = messages_.find(static_cast<std::uint64_t>(message.Int("/ack")));
    if (at == messages_.end()) return ledger_.Violation("an acknowledgement of nothing: " + text);
    std::map<std::string, std::string> stale;
    message.ForEach("/stale", [&](const Json& entry) { stale[entry.Text("/lease")] = entry.Text("/code"); });
    for (const std::string& lease : at->second.leases) {
      const auto running = running_.find(lease);
      if (running == running_.end()) continue;
      const auto refused = stale.find(lease);
      if (refused == stale.end()) {
        ledger_.ReportTaken(running->second.task, lease, running->second.kind, at->second.sent_at);
      } else {
        ledger_.ReportRefused(running->second.task, lease, refused->second, running->second.maybe);
        stale.erase(refused);
      }
      running_.erase(running);
    }
    if (!stale.empty()) ledger_.Violation("a report was refused that was not sent: " + text);
    messages_.erase(at);
  }

  void Take(const Json& task) {
    const std::string lease = task.Text("/lease");
    const TaskKey key = KeyOf(task);
    ledger_.Granted(life_, key, lease, static_cast<std::uint32_t>(task.Int("/attempt")), connected_at_);
    Running running;
    running.task = key;
    running.since = SteadyNow();
    const std::uint64_t choice = random_() % 100;
    if (choice < 6) running.kind = ReportKind::kFailed;
    if (choice >= 6 && choice < 8) running.kind = ReportKind::kFinal;
    if (choice >= 8 && choice < 12) running.kind = ReportKind::kReleased;
    // Some take long enough that a crash comes in between.
    const bool slow = random_() % 30 == 0;
    running.due = running.since + milliseconds(slow ? random_() % 600 : random_() % 10);
    running.result = "life " + std::to_string(life_->number) + " lease " + lease;
    running_[lease] = std::move(running);
  }

  void Leave() {
    if (!link_->open()) return;
    std::string list;
    for (const auto& [lease, running] : running_) {
      if (running.pending) continue;
      ledger_.Dropped(running.task, lease);
      list += (list.empty() ? "" : ",") + RefText(running.task, lease) + "}";
    }
    link_->Send(++seq_, R"(,"pull":0,"released":[)" + list + R"(],"bye":true)");
    link_->Receive(SteadyNow() + milliseconds(500));
    link_->Drop();
  }

  Load& load_;
  Ledger& ledger_;
  const std::unique_ptr<WorkerLink> link_;
  std::mt19937_64 random_;
  LifePtr life_;
  std::map<std::string, Running> running_;  // by lease
  std::map<std::uint64_t, Message> messages_;
  std::uint64_t seq_ = 0;
  SteadyTime connected_at_{};
  SteadyTime next_due_ = SteadyTime::max();
  int connected_in_ = 0;  // which start of the server it was last connected to
  bool ask_ = true;       // wants to send a pull
  SteadyTime next_drop_ = SteadyNow() + milliseconds(500);
};

Load::Load(LoadOptions options, Ledger& ledger) : options_(options), ledger_(ledger) {}

Load::~Load() {
  give_up_ = true;
  submitting_ = false;
  working_ = false;
  for (std::thread& thread : submitters_) thread.join();
  for (std::thread& thread : workers_) thread.join();
}

void Load::Start() {
  std::mt19937_64 seeds(options_.seed);
  for (int i = 0; i < options_.submitters; ++i) {
    submitters_.emplace_back([this, i, seed = seeds()] { SubmitLoop(i, seed); });
  }
  submitters_.emplace_back([this, seed = seeds()] { CancelLoop(seed); });
  for (int i = 0; i < options_.workers + options_.http_workers; ++i) {
    workers_.emplace_back([this, i, seed = seeds()] {
      std::unique_ptr<WorkerLink> link;
      if (i < options_.workers) {
        link = std::make_unique<WsLink>(PortOf(i));
      } else {
        link = std::make_unique<HttpLink>(PortOf(i));
      }
      Worker(*this, std::move(link), seed).Run();
    });
  }
}

void Load::StopSubmitting() {
  submitting_ = false;
  for (std::thread& thread : submitters_) thread.join();
  submitters_.clear();
}

void Load::StopWorking() {
  working_ = false;
  for (std::thread& thread : workers_) thread.join();
  workers_.clear();
}

}  // namespace allot::testing
