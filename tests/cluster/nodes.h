// SPDX-License-Identifier: Apache-2.0
// Several real servers on one real PostgreSQL, in temporary folders.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "store/postgres/testing_cluster.h"
#include "support/live_server.h"
#include "support/process.h"
#include "support/wire.h"

namespace allot::testing {

class Nodes {
 public:
  explicit Nodes(int count, const std::vector<std::string>& flags = {}) : flags_(flags) {
    WriteFile(dir_ / "secret", "a secret of many letters\n");
    for (int i = 0; i < count; ++i) Add("n" + std::to_string(i));
  }

  // One more, which is not started.
  LiveServer& Add(const std::string& name, const std::string& secret_file = "") {
    std::vector<std::string> flags = {"--store",
                                      url(),
                                      "--allow-no-standby",
                                      "true",
                                      "--node",
                                      name,
                                      "--advertise",
                                      "http://127.0.0.1:{port}",
                                      "--cluster-secret-file",
                                      secret_file.empty() ? dir_ / "secret" : secret_file};
    flags.insert(flags.end(), flags_.begin(), flags_.end());
    names_.push_back(name);
    nodes_.push_back(std::make_unique<LiveServer>(LiveServer::Options{.flags = std::move(flags)}));
    return *nodes_.back();
  }
  bool StartAll() {
    for (const auto& node : nodes_) node->Launch();
    bool ready = true;
    for (const auto& node : nodes_) ready = node->WaitReady() && ready;
    return ready;
  }

  LiveServer& operator[](std::size_t i) { return *nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }
  const std::string& name(std::size_t i) const { return names_[i]; }
  postgres::TestCluster& database() { return database_; }
  std::string url() const {
    const std::string settings = database_.Url();  // host=… port=…
    const std::size_t begin = settings.find('=') + 1;
    return "postgres://allot@/postgres?host=" + settings.substr(begin, settings.find(' ') - begin);
  }
  const TempDir& dir() const { return dir_; }

  // Who has the queue, as the database has it; empty: nobody.
  std::string Owner(const std::string& queue) const {
    return database_.Sql(
        "SELECT h.owner FROM allotter.heads h JOIN allotter.queues q ON q.number = h.queue WHERE "
        "q.deleted IS NULL AND q.name = '" +
        queue + "'");
  }
  std::size_t IndexOfOwner(const std::string& queue) const {
    const std::string owner = Owner(queue);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == owner) return i;
    }
    return names_.size();
  }
  std::string Logs() const {
    std::string logs;
    for (std::size_t i = 0; i < nodes_.size(); ++i) logs += "--- " + names_[i] + "\n" + nodes_[i]->Log();
    return logs;
  }

 private:
  TempDir dir_;
  const std::vector<std::string> flags_;
  postgres::TestCluster database_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<LiveServer>> nodes_;
};

// Until it is so.
inline bool Eventually(const std::function<bool()>& is, milliseconds timeout = milliseconds(15'000)) {
  const SteadyTime deadline = SteadyNow() + timeout;
  while (SteadyNow() < deadline) {
    if (is()) return true;
    std::this_thread::sleep_for(milliseconds(20));
  }
  return is();
}

}  // namespace allot::testing
