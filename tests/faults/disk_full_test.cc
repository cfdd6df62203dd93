// SPDX-License-Identifier: Apache-2.0
// A disk that is full: what is under way waits, new jobs are refused, reads go on, and all is well once there is space.
#include <sys/mount.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "faults/fixture.h"

namespace allot::testing {
namespace {

// A small disk of its own. Only root may mount one.
class SmallDisk {
 public:
  SmallDisk() { mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=6m") == 0; }
  ~SmallDisk() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::string operator/(const std::string& name) const { return dir_ / name; }
  void Fill() {
    std::ofstream ballast(dir_ / "ballast", std::ios::app | std::ios::binary);
    const std::string piece(4096, 'x');
    while (ballast.write(piece.data(), 4096) && ballast.flush()) {
    }
  }
  void MakeSpace() { std::filesystem::remove(dir_ / "ballast"); }

 private:
  TempDir dir_;
  bool mounted_ = false;
};

TEST(DiskFull, StopsNothingButWhatNeedsSpaceAndEndsByItself) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  LiveServer server({.data = disk / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  const std::string job = SubmitJob(http, R"({"tag":"kept","payloads":[1,2,3]})");
  const HttpWorker worker(http, "kept");
  const Document tasks(worker.Pull(http, R"(,"pull":1)").body);
  ASSERT_EQ(tasks.Size("/tasks"), 1u);
  disk.Fill();

  // Pushes against the wall until a batch is stuck: those answers wait.
  const std::string large = R"({"tag":"large","payload":")" + std::string(200'000, 'x') + "\"}";
  std::vector<std::future<Answer>> waiting;
  bool refused = false;
  const SteadyTime deadline = SteadyNow() + milliseconds(20'000);
  while (!refused && SteadyNow() < deadline) {
    waiting.push_back(std::async(std::launch::async, [port = server.port(), large] {
      return Http(port).Call("POST", kJobs, large, {}, milliseconds(60'000));
    }));
    std::this_thread::sleep_for(milliseconds(100));
    disk.Fill();
    const Answer ready = http.Get("/readyz");
    refused = ready.status == 503;
    if (refused) {
      EXPECT_EQ(ready.ErrorCode(), "disk_full") << ready.body;
    }
  }
  ASSERT_TRUE(refused) << "the disk never got full";
  // New jobs are refused, in every form.
  for (int i = 0; i < 3; ++i) {
    const Answer single = http.Post(kJobs, R"({"tag":"new"})");
    EXPECT_EQ(single.status, 507) << single.body;
    EXPECT_EQ(single.ErrorCode(), "disk_full") << single.body;
  }
  EXPECT_EQ(http.Post(std::string(kJobs) + "/batch", R"({"jobs":[{"tag":"new"}]})").ErrorCode(), "disk_full");
  EXPECT_EQ(http.PostStream(kJobs, {R"({"tag":"new"})"
                                    "\n1\n2\n"})
                .ErrorCode(),
            "disk_full");
  http.Close();
  // Reads go on.
  EXPECT_EQ(http.Get("/livez").status, 200);
  const Answer view = http.Get(std::string(kJobs) + "/" + job);
  EXPECT_EQ(view.status, 200) << view.body;
  EXPECT_EQ(Document(view.body).Int("/running"), 1) << view.body;
  EXPECT_EQ(http.Get(std::string(kJobs) + "/" + job + "/tasks/0").status, 200);
  EXPECT_EQ(http.Get("/metrics").status, 200);
  // A report waits for space like the rest: nothing is acknowledged that is not durable.
  std::future<Answer> report = std::async(std::launch::async, [&server, &worker, ref = RefOf(tasks.At("/tasks/0"))] {
    Http own = server.http();
    return own.Call("POST", worker.path(),
                    R"({"key":")" + worker.key + R"(","done":[)" + ref + R"(,"result":"kept"}]})", {},
                    milliseconds(60'000));
  });
  EXPECT_EQ(report.wait_for(milliseconds(700)), std::future_status::timeout);

  disk.MakeSpace();
  const Answer reported = report.get();
  EXPECT_EQ(reported.status, 200) << reported.body;
  EXPECT_EQ(Document(reported.body).Size("/stale"), 0u) << reported.body;
  std::size_t taken = 0;
  for (std::future<Answer>& answer : waiting) {
    const Answer got = answer.get();
    if (got.status == 201) {
      ++taken;
    } else {
      EXPECT_EQ(got.ErrorCode(), "disk_full") << got.status << got.body;
    }
  }
  EXPECT_GT(taken, 0u);
  EXPECT_EQ(http.Get("/readyz").status, 200);
  SubmitJob(http, R"({"tag":"after"})");
  // What was refused is not there, what was taken is; also after a crash.
  server.Kill();
  ASSERT_TRUE(server.Start()) << server.Log();
  EXPECT_EQ(Document(http.Get(std::string(kJobs) + "?tag=new").body).Size("/jobs"), 0u);
  EXPECT_EQ(Document(http.Get(std::string(kJobs) + "?tag=large").body).Size("/jobs"), taken);
  EXPECT_EQ(Document(http.Get(std::string(kJobs) + "?tag=after").body).Size("/jobs"), 1u);
  EXPECT_EQ(Document(http.Get(std::string(kJobs) + "/" + job + "/tasks/0").body).Text("/result"), "kept");
  EXPECT_EQ(server.Stop().value_or(-1), 0) << server.Log();
}

TEST(DiskFull, WhatAnOperatorChangesIsAuditedOnceItIsDurable) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  LiveServer server({.data = disk / "data"});
  ASSERT_TRUE(server.Start()) << server.Log();
  Http http = server.http();
  const std::string large = R"({"tag":"large","payload":")" + std::string(200'000, 'x') + "\"}";
  std::vector<std::future<Answer>> waiting;
  const SteadyTime deadline = SteadyNow() + milliseconds(20'000);
  bool full = false;
  while (!full && SteadyNow() < deadline) {
    waiting.push_back(std::async(std::launch::async, [port = server.port(), large] {
      return Http(port).Call("POST", kJobs, large, {}, milliseconds(60'000));
    }));
    std::this_thread::sleep_for(milliseconds(100));
    disk.Fill();
    full = http.Get("/readyz").status == 503;
  }
  ASSERT_TRUE(full) << "the disk never got full";
  const auto call = [&server](const char* method, const char* path, const char* body) {
    return std::async(std::launch::async, [port = server.port(), method, path, body] {
      return Http(port).Call(method, path, body, {}, milliseconds(60'000));
    });
  };
  std::future<Answer> pause = call("POST", "/v1/queues/default/pause", "");
  std::future<Answer> set = call("PATCH", "/v1/queues/default", R"({"settings":{"max_finished_jobs":7}})");
  EXPECT_EQ(pause.wait_for(milliseconds(700)), std::future_status::timeout);
  EXPECT_EQ(server.Log().find("queue.pause"), std::string::npos) << server.Log();
  EXPECT_EQ(server.Log().find("queue.set"), std::string::npos) << server.Log();
  disk.MakeSpace();
  EXPECT_EQ(pause.get().status, 200);
  EXPECT_NE(server.Log().find("queue.pause"), std::string::npos) << server.Log();
  // Refused for lack of space, or done by now; and audited only then.
  const Answer changed = set.get();
  EXPECT_TRUE(changed.status == 200 || changed.ErrorCode() == "disk_full") << changed.status << changed.body;
  EXPECT_EQ(server.Log().find("queue.set") != std::string::npos, changed.status == 200) << server.Log();
  for (std::future<Answer>& answer : waiting) answer.get();
  EXPECT_EQ(server.Stop().value_or(-1), 0) << server.Log();
}

TEST(DiskFull, AServerThatCannotEvenBeginSaysSo) {
  SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "needs root, to mount a small disk";
  std::filesystem::create_directories(disk / "data/queues");
  disk.Fill();
  const Finished refused =
      RunProgram({AllotBin(), "serve", "--listen", "127.0.0.1:" + std::to_string(FreePort()), "--data", disk / "data"},
                 milliseconds(10'000));
  EXPECT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err, "");
}

}  // namespace
}  // namespace allot::testing
