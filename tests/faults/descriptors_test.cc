// SPDX-License-Identifier: Apache-2.0
// Descriptors stay with the program that opened them: a socket that a child inherits outlives its owner, and carries
// the owner's rights with it.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

namespace fs = std::filesystem;

// What a child of this test inherits by mistake is not the program's.
void KeepOwnDescriptors() { ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); }

// Descriptors above standard error that a child of `pid` would inherit, and what they are.
std::string Inheritable(pid_t pid, std::size_t& seen) {
  const std::string base = "/proc/" + std::to_string(pid);
  std::string found;
  seen = 0;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(base + "/fd", ec)) {
    const std::string number = entry.path().filename();
    if (std::stoi(number) <= 2) continue;
    std::ifstream info(base + "/fdinfo/" + number);
    std::string word;
    while (info >> word && word != "flags:") {
    }
    if (!(info >> word)) continue;  // gone meanwhile
    ++seen;
    if ((std::stoul(word, nullptr, 8) & O_CLOEXEC) == 0) {
      found += number + " -> " + fs::read_symlink(entry.path(), ec).string() + "\n";
    }
  }
  return found;
}

class Descriptors : public LiveSuite {
 protected:
  static void SetUpTestSuite() {
    KeepOwnDescriptors();
    StartServer();
  }
};

TEST_F(Descriptors, OfTheServerAreAllClosedOnExec) {
  // A worker on a WebSocket, a kept-alive connection, a stream of events, and a backup under way or just over.
  WebSocket worker(server().port(), "/v1/queues/default/work");
  ASSERT_TRUE(worker.open());
  ASSERT_TRUE(worker.Send(R"({"hello":{"name":"w","tags":["fds"],"slots":1}})"));
  ASSERT_TRUE(worker.Receive());
  const std::string job = SubmitJob(http_, R"({"tag":"other","count":2})");
  Socket events(server().port());
  ASSERT_TRUE(events.Send("GET " + std::string(kJobs) + "/" + job + "/events HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string head;
  ASSERT_EQ(events.ReadSome(head, SteadyNow() + milliseconds(10'000)), Socket::Read::kBytes);
  std::size_t seen = 0;
  EXPECT_EQ(Inheritable(server().pid(), seen), "");
  EXPECT_GE(seen, 10u);  // loops, listener, three connections, the queue's file, its log and locks
}

// A worker that is killed leaves its running task behind: an orphan. The connection must not live on in it.
TEST_F(Descriptors, AKilledWorkerIsGoneThoughItsTaskGoesOn) {
  const TempDir dir;
  const std::string pid_file = dir / "orphan";
  const std::string fds_file = dir / "fds";
  const std::string job = SubmitJob(http_, R"({"tag":"orphan","count":1})");
  Process worker({.argv = {AllotBin(), "work", "--tag", "orphan", "--server", server().url(), "--", "sh", "-c",
                           "exec >" + fds_file + "; ls /proc/$$/fd; echo $$ >" + pid_file + ".part; mv " + pid_file +
                               ".part " + pid_file + "; exec sleep 60"}});
  const auto deadline = SteadyNow() + milliseconds(20'000);
  while (ReadFile(pid_file).empty() && SteadyNow() < deadline) std::this_thread::sleep_for(milliseconds(20));
  const int orphan = std::atoi(ReadFile(pid_file).c_str());
  ASSERT_GT(orphan, 1);
  EXPECT_EQ(ReadFile(fds_file), "0\n1\n2\n");
  std::size_t seen = 0;
  EXPECT_EQ(Inheritable(worker.pid(), seen), "");
  EXPECT_GE(seen, 3u);
  const auto connected = [&] {
    const Document workers(http_.Get("/v1/queues/default/workers").body);
    bool any = false;
    workers.ForEach("/workers", [&](const Json& one) {
      any = any || (one.Dump("/connected") == "true" && one.Dump("/tags") == R"(["orphan"])");
    });
    return any;
  };
  EXPECT_TRUE(connected());
  worker.Signal(SIGKILL);
  ASSERT_TRUE(worker.Wait(milliseconds(10'000)));
  while (connected() && SteadyNow() < deadline) std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(connected());
  EXPECT_EQ(::kill(orphan, 0), 0) << "the task ended, so this showed nothing";
  ::kill(orphan, SIGKILL);
  EXPECT_EQ(http_.Call("POST", std::string(kJobs) + "/" + job + "/cancel", "{}").status, 200);
}

}  // namespace
}  // namespace allot::testing
