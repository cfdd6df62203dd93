// SPDX-License-Identifier: Apache-2.0
// A worker that squares numbers, and a client that has some squared.
//
//   squares work               goes on until SIGTERM or Ctrl-C, and finishes what it has
//   squares submit 3 4 5       prints each result as it completes
//
// The server is that of ALLOT_SERVER, or http://127.0.0.1:7420.
#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <allotter/client.h>
#include <allotter/result_stream.h>
#include <allotter/worker.h>

namespace {

allotter::ConnectionOptions Connection() {
  allotter::ConnectionOptions options;
  if (const char* server = std::getenv("ALLOT_SERVER")) options.server = server;
  if (const char* token = std::getenv("ALLOT_TOKEN")) options.token = token;
  return options;
}

int Fail(const allotter::Error& error) {
  std::fprintf(stderr, "squares: %s %s\n", error.message.c_str(), error.hint.c_str());
  return 1;
}

allotter::Outcome Square(const allotter::TaskContext& task) {
  char* end = nullptr;
  const std::string& payload = task.assignment().payload;
  const double number = std::strtod(payload.c_str(), &end);
  if (end == payload.c_str()) return allotter::Outcome::Rejected(payload + " is no number");
  task.Progress(1, 1);
  char result[64];
  std::snprintf(result, sizeof result, "%.17g", number * number);
  return allotter::Outcome::Done(result);
}

int Work() {
  // One thread waits for the signal, so that no other has to be careful.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  allotter::Worker worker({.connection = Connection(), .tags = {"square"}, .slots = 4}, Square);
  std::thread waiter([&worker, stop] {
    int signal = 0;
    sigwait(&stop, &signal);
    worker.Drain();
  });
  const allotter::Result<void> why = worker.Run();
  pthread_kill(waiter.native_handle(), SIGTERM);  // where it ended by itself
  waiter.join();
  return why.ok() ? 0 : Fail(why.error());
}

int Submit(const std::vector<std::string>& numbers) {
  auto client = allotter::Client::Open(Connection());
  if (!client.ok()) return Fail(client.error());
  allotter::JobSpec spec;
  spec.tags = {"square"};
  spec.payloads = numbers;
  const auto submitted = client->jobs().Submit(spec);
  if (!submitted.ok()) return Fail(submitted.error());
  auto stream = allotter::ResultStream::Open(Connection(), submitted->job.id);
  if (!stream.ok()) return Fail(stream.error());
  bool all = true;
  for (;;) {
    const auto results = stream->Next();
    if (!results.ok()) return Fail(results.error());
    if (results->empty()) return all ? 0 : 1;
    for (const allotter::TaskResult& result : *results) {
      std::printf("%s: %s\n", numbers[result.index].c_str(),
                  result.state == "done" ? result.result.c_str() : result.error.c_str());
      all = all && result.state == "done";
    }
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "work") == 0) return Work();
  if (argc > 2 && std::strcmp(argv[1], "submit") == 0) return Submit({argv + 2, argv + argc});
  std::fprintf(stderr, "squares work | squares submit NUMBER...\n");
  return 2;
}
