// SPDX-License-Identifier: Apache-2.0
// The clients of the crash test: submitters, workers over WebSocket and HTTP, and one that cancels. Each runs in a
// thread of its own until it is told to stop, takes a server that is away for granted, and enters everything that it is
// told into the ledger.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crash/ledger.h"

namespace allot::testing {

struct LoadOptions {
  std::uint16_t port = 0;
  std::vector<std::uint16_t> others = {};  // further servers: clients are dealt out among all
  std::uint64_t seed = 0;
  int submitters = 3;
  int workers = 5;       // over WebSocket
  int http_workers = 1;  //
  std::uint32_t slots = 16;
  std::uint64_t max_open_tasks = 2000;  // submitters wait above it
  milliseconds lease{0};                // of all jobs
};

class Load {
 public:
  Load(LoadOptions options, Ledger& ledger);
  ~Load();

  void Start();
  // Every start of the server after the first: leases that are found again were kept over a restart.
  void NoteRestart() { ++restarts_; }
  // No new jobs and cancels; returns once all of them are acknowledged.
  void StopSubmitting();
  // Workers give back what they hold and leave.
  void StopWorking();

 private:
  class WorkerLink;
  class WsLink;
  class HttpLink;
  class Worker;
  std::uint16_t PortOf(int client) const {
    const std::size_t at = static_cast<std::size_t>(client) % (options_.others.size() + 1);
    return at == 0 ? options_.port : options_.others[at - 1];
  }
  void SubmitLoop(int number, std::uint64_t seed);
  void CancelLoop(std::uint64_t seed);
  void SubmitOne(Http& http, const std::string& key, std::mt19937_64& random);
  void SubmitBatch(Http& http, const std::string& key, std::mt19937_64& random);
  void SubmitStream(Http& http, const std::string& key, std::mt19937_64& random);
  // Sends until there is an answer; a refusal is a violation. An empty answer once the load must end for good.
  template <typename Send>
  Answer Insist(Http& http, const Send& send);
  std::string Spec(LedgerJob& job, std::mt19937_64& random, bool with_count);
  void Enter(LedgerJob job, const std::string& id, bool existing, bool first_try);

  const LoadOptions options_;
  Ledger& ledger_;
  std::atomic<bool> submitting_{true};
  std::atomic<bool> working_{true};
  std::atomic<bool> give_up_{false};
  std::atomic<int> restarts_{0};
  std::atomic<int> next_life_{0};
  std::vector<std::thread> submitters_;
  std::vector<std::thread> workers_;
};

}  // namespace allot::testing
